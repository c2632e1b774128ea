#!/bin/sh
# Looks for what a program needs before it is installed.
missing=
for tool in sort awk sed grep no-such-tool-here; do
    if ! command -v $tool > /dev/null 2>&1; then
        missing="$missing $tool"
    fi
done
echo "missing:$missing"
version=$(sed -n 's/^version *= *//p' etc/template | head -n 1)
major=${version%%.*}
[ "${major:-0}" -ge 1 ] && echo "version $version is new enough"
words=$(tr -cs a-z '\n' < words.txt | sort -u | wc -l)
users=$(cut -d: -f1 passwd | sort -u | wc -l)
echo "words $words, users $users"
[ -z "$missing" ] || exit 1
