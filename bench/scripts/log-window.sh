#!/bin/sh
# Extracts a window of time from a log and checks that it is not empty.
usage() {
    echo "usage: $0 FROM TO" >&2
    exit 2
}
from=${1:-10:00}
to=${2:-11:00}
[ -n "$from" ] && [ -n "$to" ] || usage
awk -v from="T$from" -v to="T$to" '{t = substr($1, 11, 6)} t >= from && t < to' app.log > out/window
if ! grep -q . out/window; then
    echo "nothing between $from and $to"
    exit 1
fi
cut -d' ' -f4 out/window | sort | uniq -c
wc -l < out/window
head -n 1 out/window | cut -c1-19
tail -n 1 out/window | cut -c1-19
