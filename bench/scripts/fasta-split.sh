#!/bin/sh
# Checks a FASTA file and lists the names of its sequences.
file=genome.fa
fail() {
    echo "$0: $*" >&2
    exit 1
}
[ -s "$file" ] || fail "empty"
head -n 1 "$file" | grep -q '^>' || fail "no heading"
grep '^>' "$file" | cut -c2- | cut -d' ' -f1 > out/names
[ "$(sort out/names | uniq -d | wc -l)" -eq 0 ] || fail "a name stands twice"
wrong=$(grep -v '^>' "$file" | grep -c '[^ACGTNacgtn]')
echo "names: $(wc -l < out/names), wrong lines: $wrong"
grep -v '^>' "$file" | awk '{n[length($0)]++} END {for (l in n) print l, n[l]}' | sort -rn | head -n 3
