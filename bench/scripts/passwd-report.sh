#!/bin/sh
# Who may log in, which shells there are, and which ids stand twice.
set -e
file=passwd
echo "Shells:"
cut -d: -f7 "$file" | sort | uniq -c | sort -rn
echo "System users:"
awk -F: '$3 < 1000 {print $1}' "$file" | sort | head -n 10
echo "Ids that stand twice:"
cut -d: -f3 "$file" | sort -n | uniq -d | wc -l
if grep -q '^root:' "$file"; then
    echo "root is there"
fi
nologin=$(grep -c '/nologin$' "$file")
echo "no login: $nologin"
