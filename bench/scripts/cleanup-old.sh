#!/bin/sh
# Keeps the last lines of each service in a log.
set -e
log=app.log
tmp=out/kept
: > $tmp
services=$(cut -d' ' -f3 $log | cut -d'[' -f1 | sort -u)
for service in $services; do
    grep " $service\[" $log | tail -n 20 >> $tmp
    echo "$service $(grep -c " $service\[" $log)"
done
sort $tmp > $tmp.sorted
mv $tmp.sorted $tmp
wc -l < $tmp
