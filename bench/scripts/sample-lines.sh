#!/bin/bash
# Every hundredth line, numbered, in two columns.
set -e
step=100
out=out/sample
sed -n "1~${step}p" app.log | cut -c1-60 | nl -w6 > "$out"
count=$(wc -l < "$out")
echo "$count lines"
if (( count > 10 )); then
    head -n 4 "$out" | paste -d'|' - -
    tac "$out" | head -n 2
fi
awk -v n="$count" 'BEGIN {print (n > 0) ? "ok" : "none"}'
shuf -n 5 --random-source=words.txt app.log | sort | cut -c1-30
