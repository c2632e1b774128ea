#!/bin/sh
# Traffic by client network and by status class.
log=access.log
out=out/traffic
mkdir -p $out
awk '{split($1, a, "."); n[a[1] "." a[2]] += $10} END {for (k in n) printf "%s %d\n", k, n[k]}' $log | sort -k2,2nr > $out/networks
awk '{c = substr($9, 1, 1) "xx"; b[c] += $10; r[c]++} END {for (k in b) print k, r[k], b[k]}' $log | sort > $out/classes
largest=$(sort -k10,10nr $log | head -n 1 | cut -d' ' -f10)
for f in $out/*; do
    echo "$(basename "$f"): $(wc -l < "$f") lines"
done
head -n 3 $out/networks
cat $out/classes
echo "largest answer: $largest"
