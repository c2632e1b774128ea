#!/bin/bash
# The best products of each region.
set -euo pipefail
best() {
    local region=$1 count=${2:-3}
    awk -F, -v r="$region" '$4 == r {s[$5] += $6} END {for (p in s) printf "%d %s\n", s[p], p}' orders.csv |
        sort -rn | head -n "$count"
}
for region in north south east west; do
    echo "$region:"
    best "$region" | while read -r sum product; do
        printf '    %-12s %8d\n' "$product" "$sum"
    done
done
echo "seen: $(cut -d, -f4 orders.csv | sort -u | tr '\n' ' ')"
