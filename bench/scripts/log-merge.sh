#!/bin/sh
# Merges two logs in order of time, with where each line came from.
set -e
a=out/a.log b=out/b.log
awk 'NR % 2' app.log | sort > $a
awk 'NR % 2 == 0' app.log | sort > $b
sed 's/^/a /' $a > $a.tagged
sed 's/^/b /' $b > $b.tagged
sort -m -k2 $a.tagged $b.tagged > out/merged
for f in $a $b; do
    lines=$(wc -l < "$f")
    echo "$f: $lines"
done
cut -d' ' -f1 out/merged | sort | uniq -c
cut -d' ' -f2- out/merged | sort -c && echo sorted
