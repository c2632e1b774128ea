#!/bin/bash
# Removes files by patterns of a list, with a trap and options.
set -euo pipefail
verbose=0
while getopts v opt; do
    case $opt in
        v) verbose=1 ;;
        *) exit 2 ;;
    esac
done
work=$(mktemp -d out/clean.XXXXXX)
trap 'rm -rf "$work"' EXIT
cp -r tree "$work/"
before=$(find "$work" -type f | wc -l)
printf '%s\n' '*.bak' '*.tmp' '*~' | while read -r pattern; do
    find "$work" -type f -name "$pattern" -exec rm -f {} +
    [[ $verbose -eq 1 ]] && echo "removed $pattern"
done || true
after=$(find "$work" -type f | wc -l)
echo "$before files, $after after"
find "$work" -type f | sed 's/.*\.//' | sort | uniq -c | sort -k1,1nr -k2
