#!/bin/sh
# Addresses from a log, without doubles, by domain.
set -e
out=out/addresses
grep -oE '[a-z0-9]+@[a-z0-9.]+' app.log | sort -u > $out
cut -d@ -f2 $out | sort | uniq -c | sort -rn | head -n 8
count=$(wc -l < $out)
if [ "$count" -gt 100000 ]; then
    echo "very many"
elif [ "$count" -gt 1 ]; then
    echo "some"
fi
head -n 2 $out
tail -n 2 $out
