#!/bin/sh
# Words that stand in no dictionary.
dict=out/dict
tr -cs '[:alpha:]' '\n' < words.txt | tr '[:upper:]' '[:lower:]' | sort -u > out/used
awk 'length($0) < 7' out/used > $dict
unknown=$(comm -23 out/used $dict | wc -l)
if [ "$unknown" -gt 0 ]; then
    echo "$unknown unknown words, among them:"
    comm -23 out/used $dict | head -n 10 | sed 's/^/    /'
else
    echo "all known"
fi
wc -l < out/used
