#!/bin/bash
# One file for each month, with its sum.
set -euo pipefail
in=orders.csv
dir=out/months
mkdir -p "$dir"
header=$(head -n1 "$in")
mapfile -t months < <(tail -n +2 "$in" | cut -d, -f2 | cut -c1-7 | sort -u)
for month in "${months[@]}"; do
    file="$dir/$month.csv"
    echo "$header" > "$file"
    grep ",$month-" "$in" | sort -t, -k1,1n >> "$file"
    sum=$(tail -n +2 "$file" | awk -F, '{s += $6} END {print s}')
    echo "$month $(($(wc -l < "$file") - 1)) $sum"
done
rm -r "$dir"
