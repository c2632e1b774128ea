#!/bin/sh
# The share of each product, in percent with one digit.
set -eu
in=orders.csv
total=$(tail -n +2 "$in" | wc -l)
tail -n +2 "$in" | cut -d, -f5 | sort | uniq -c | sort -k1,1nr -k2 > out/counts
while read -r count product; do
    share=$((count * 1000 / total))
    printf '%-12s %3d.%d%%\n' "$product" $((share / 10)) $((share % 10))
done < out/counts
most=$(head -n 1 out/counts | awk '{print $2}')
case $most in
    [a-z]*) echo "most: $most" ;;
    *) echo "no product" ;;
esac
