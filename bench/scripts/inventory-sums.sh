#!/bin/bash
# Checksums of a tree, and which files are the same.
set -euo pipefail
list=out/sums
find tree -type f -print0 | sort -z | xargs -0 sha256sum > "$list"
wc -l < "$list"
cut -d' ' -f1 "$list" | sort | uniq -d | while read -r sum; do
    echo "same:"
    grep "^$sum" "$list" | cut -c67- | sort | sed 's/^/    /' | head -n 3
done
sha256sum app.log orders.csv | cut -d' ' -f1 | sort > out/large
if [ "$(uniq out/large | wc -l)" -ne 2 ]; then
    echo "the same?"
fi
