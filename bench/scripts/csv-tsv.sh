#!/bin/sh
# Turns a table into tabs, upper case in the heading, and back again.
in=orders.csv
out=out/orders.tsv
{
    head -n 1 "$in" | tr a-z A-Z
    tail -n +2 "$in"
} | tr , '\t' > "$out"
head -n 2 "$out"
tr '\t' , < "$out" | tail -n +2 > out/back.csv
tail -n +2 "$in" > out/there.csv
if cmp -s out/back.csv out/there.csv; then
    echo same
else
    echo different
    exit 1
fi
