#!/bin/sh
# Which kinds of files a tree has and how large they are.
set -e
root=tree
find "$root" -type f | sed 's/.*\.//' | sort | uniq -c | sort -rn > out/kinds
cat out/kinds
find "$root" -type f -name '*.txt' | sort > out/texts
while read -r f; do
    lines=$(wc -l < "$f")
    base=$(basename "$f")
    dir=$(dirname "$f")
    echo "$dir $base $lines"
done < out/texts > out/list
sort -k3,3nr out/list | head -n 5
awk '{s += $3} END {print "lines", s}' out/list
