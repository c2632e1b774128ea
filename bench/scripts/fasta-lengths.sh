#!/bin/sh
# Lengths of sequences, their sum, and the composition.
set -e
fa=genome.fa
awk '/^>/ {if (name) print name "\t" n; name = substr($1, 2); n = 0; next} {n += length($0)} END {print name "\t" n}' $fa > out/lengths
sort -k2,2nr out/lengths | head -n 3
total=$(awk '{s += $2} END {print s}' out/lengths)
half=$((total / 2))
sort -k2,2nr out/lengths | awk -v half="$half" '{s += $2; if (s >= half) {print "N50", $2; exit}}'
grep -v '>' $fa | fold -w1 | sort | uniq -c
echo "total $total"
