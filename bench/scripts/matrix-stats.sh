#!/bin/sh
# Smallest, largest, mean and median of a column.
set -e
in=orders.csv
col=7
values=out/values
tail -n +2 $in | cut -d, -f$col | sort -g > $values
n=$(wc -l < $values)
min=$(head -n 1 $values)
max=$(tail -n 1 $values)
median=$(sed -n "$(((n + 1) / 2))p" $values)
mean=$(awk '{s += $1} END {printf "%.2f", s / NR}' $values)
printf 'n %d\nmin %s\nmax %s\nmedian %s\nmean %s\n' "$n" "$min" "$max" "$median" "$mean"
cut -d. -f1 $values | uniq -c | sort -rn | head -n 3
