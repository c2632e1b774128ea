#!/bin/sh
# Reads settings from a folder of files: the last one wins.
set -e
dir=etc/conf.d
cat "$dir"/*.conf | sed -e 's/#.*//' -e 's/[[:space:]]*=[[:space:]]*/=/' -e '/^[[:space:]]*$/d' |
    awk -F= '{v[$1] = $2} END {for (k in v) print k "=" v[k]}' | sort > out/settings
wc -l < out/settings
for key in net.core.backlog kernel.panic vm.swappiness; do
    if value=$(grep "^$key=" out/settings | cut -d= -f2) && [ -n "$value" ]; then
        echo "$key is $value"
    else
        echo "$key is not set"
    fi
done
awk -F. '{print $1}' out/settings | sort | uniq -c
