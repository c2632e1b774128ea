#!/bin/bash
# FASTQ to FASTA, without short reads and doubles.
set -euo pipefail
in=reads.fastq
out=out/reads.fa
min=${MIN:-60}
paste - - - - < "$in" | awk -F'\t' -v min="$min" 'length($2) >= min' | sort -t$'\t' -k2,2 -u |
    cut -f1,2 | sed 's/^@/>/' | tr '\t' '\n' > "$out"
kept=$(grep -c '^>' "$out")
all=$(wc -l < "$in")
echo "kept $kept of $((all / 4))"
head -n 2 "$out"
grep -v '^>' "$out" | tr -d '\n' | wc -c
