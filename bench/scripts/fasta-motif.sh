#!/bin/sh
# Counts motifs in a genome and writes the reverse complement.
set -u
fa=genome.fa
motifs="GAATTC GGATCC AAGCTT"
plain=out/plain
grep -v '^>' $fa | tr -d '\n' | tr acgt ACGT > $plain
for motif in $motifs; do
    n=$(grep -o "$motif" $plain | wc -l)
    other=$(echo "$motif" | rev | tr ACGT TGCA)
    printf '%s %s %d\n' "$motif" "$other" "$n"
done
fold -w 70 $plain | head -n 2
rev $plain | tr ACGT TGCA | cut -c1-50
rm -f $plain
