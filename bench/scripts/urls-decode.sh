#!/bin/sh
# Queries of requests: names of parameters, and values of one.
set -e
log=access.log
cut -d'"' -f2 $log | cut -d' ' -f2 | grep '?' | sed 's/.*?//' | tr '&' '\n' > out/parameters
cut -d= -f1 out/parameters | sort | uniq -c | sort -k1,1nr -k2
grep '^id=' out/parameters | cut -d= -f2 | sort -n | uniq | tail -n 3
if grep -qi 'script' out/parameters; then
    echo "suspicious"
    exit 1
fi
awk -F= '{print length($2)}' out/parameters | sort -n | uniq -c
