#!/bin/bash
# Words by their first letter, one list each.
set -eo pipefail
tmp=$(mktemp -d)
cleanup() { rm -rf "$tmp"; }
trap cleanup EXIT
tr -cs a-zA-Z '\n' < words.txt | tr A-Z a-z | sort -u > "$tmp/all"
for letter in a e i o u; do
    grep "^$letter" "$tmp/all" > "$tmp/$letter" || true
    n=$(wc -l < "$tmp/$letter")
    last=$(tail -n 1 "$tmp/$letter")
    printf '%s %d %s\n' "$letter" "$n" "$last"
done
rev "$tmp/all" | sort | rev | tail -n 5 | paste -sd' '
wc -l < "$tmp/all"
