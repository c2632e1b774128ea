#!/bin/sh
# Keeps the newest copies of a table and removes the others.
set -eu
keep=3
dir=out/copies
mkdir -p "$dir"
for day in 01 02 03 04 05; do
    grep -v "^$day" passwd | head -n 2000 > "$dir/passwd-2026-11-$day"
done
ls "$dir" | sort -r | tail -n +$((keep + 1)) | while read -r old; do
    echo "removing $old"
    rm "$dir/$old"
done
ls "$dir" | wc -l
cat "$dir"/* | sort | uniq -c | awk '{print $1}' | sort | uniq -c
