#!/bin/sh
# Customers who came back: in the first half of the year and in the second.
set -e
d=out/customers
mkdir -p $d
grep -E '^[0-9]+,[0-9]{4}-0[1-6]' orders.csv | cut -d, -f3 | sort -u > $d/first
grep -E '^[0-9]+,[0-9]{4}-(0[7-9]|1[0-2])' orders.csv | cut -d, -f3 | sort -u > $d/second
comm -12 $d/first $d/second > $d/both
comm -23 $d/first $d/second > $d/lost
comm -13 $d/first $d/second > $d/new
for f in both lost new; do
    printf '%-5s %6d\n' $f "$(wc -l < $d/$f)"
done
cut -d, -f3 orders.csv | sort | uniq -c | sort -rn | head -n 5
rm -r $d
