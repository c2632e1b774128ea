#!/bin/sh
# Changes settings in place and keeps what was there before, as postinst scripts do.
set -e
mkdir -p out/etc
cp -r etc/conf.d out/etc/
set_value() {
    file=$1 key=$2 value=$3
    if grep -q "^$key *=" "$file"; then
        sed "s|^$key *=.*|$key = $value|" "$file" > "$file.new"
        mv "$file.new" "$file"
    else
        echo "$key = $value" >> "$file"
    fi
}
for f in out/etc/conf.d/*.conf; do
    set_value "$f" kernel.panic 30
    set_value "$f" added.key yes
done
cat out/etc/conf.d/*.conf | grep -c 'kernel.panic = 30'
cat out/etc/conf.d/*.conf | sort | uniq -c | sort -rn | head -n 3
