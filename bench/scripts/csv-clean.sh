#!/bin/sh
# Cleans a table: blanks, empty lines, double lines, the order of its columns.
set -e
src=orders.csv
dst=out/clean.csv
sed -e 's/[[:space:]]*$//' -e 's/ *, */,/g' -e '/^$/d' "$src" |
    awk -F, -v OFS=, 'NR == 1 || $6 > 0 {print $1, $3, $2, $5, $6, $7}' |
    awk '!seen[$0]++' > "$dst.tmp"
mv "$dst.tmp" "$dst"
before=$(wc -l < "$src")
after=$(wc -l < "$dst")
echo "$before lines before, $after after"
head -n 1 "$dst"
tail -n 1 "$dst"
