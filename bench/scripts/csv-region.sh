#!/bin/sh
# Sums by region and by product, with a heading.
set -e
in=orders.csv
for column in 4 5; do
    name=$(head -n 1 "$in" | cut -d, -f"$column")
    echo "By $name"
    tail -n +2 "$in" | awk -F, -v c="$column" '{n[$c]++; q[$c] += $6} END {for (k in n) print k "," n[k] "," q[k]}' | sort -t, -k3,3nr
done > out/sums.csv
cat out/sums.csv
rows=$(tail -n +2 "$in" | wc -l)
echo "rows: $rows"
if [ "$rows" -lt 1 ]; then
    exit 3
fi
