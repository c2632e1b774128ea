#!/bin/sh
# How long words and lines are.
set -u
text=words.txt
echo "longest line: $(awk '{if (length($0) > m) m = length($0)} END {print m}' "$text")"
echo "words by length:"
tr -cs '[:alnum:]' '[\n*]' < "$text" | awk '{n[length($0)]++} END {for (l in n) print l, n[l]}' | sort -n |
    while read -r length count; do
        [ "$length" -gt 0 ] || continue
        printf '%3d %8d\n' "$length" "$count"
    done
echo "characters:"
fold -w1 < "$text" | grep '[[:alpha:]]' | sort | uniq -c | sort -k1,1nr -k2 | head -n 5
