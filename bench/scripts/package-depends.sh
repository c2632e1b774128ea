#!/bin/sh
# In which order things have to be built.
set -e
deps=out/deps
cut -d, -f4,5 orders.csv | tail -n +2 | sort -u | tr , ' ' > $deps
tsort $deps > out/order
wc -l < out/order
for region in $(cut -d' ' -f1 $deps | sort -u); do
    products=$(grep "^$region " $deps | cut -d' ' -f2 | sort | paste -sd' ' -)
    echo "$region: $products"
done
tail -n +2 orders.csv | cut -d, -f4,5 | sort | uniq -c | sort -rn | head -n 3
sed 's/ .*//' $deps | uniq -c | awk '{s += $1} END {print s}'
