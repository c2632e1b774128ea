#!/bin/sh
# Renames copies of files to lower case with a number in front.
set -e
dest=out/renamed
mkdir -p $dest
n=0
find tree -type f -name '*.conf' | sort > out/files
while read -r f; do
    n=$((n + 1))
    name=$(basename "$f" | tr A-Z a-z | tr ' ' _)
    cp "$f" "$dest/$(printf '%03d' $n)-$name"
done < out/files
ls $dest | head -n 3
ls $dest | sed 's/^[0-9]*-//' | sort | uniq -c | sort -rn | head -n 3
cat $dest/* | wc -c
