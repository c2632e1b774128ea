#!/bin/bash
# Makes a table of homes by shell, sorted by length of names.
set -euo pipefail
IFS=$'\n\t'
out=out/homes.tsv
grep -v '^#' passwd | awk -F: -v OFS='\t' '{print $7, $6, $1}' | sort -k1,1 -k3,3 > "$out"
for shell in /bin/bash /bin/sh /usr/sbin/nologin; do
    count=$(cut -f1 "$out" | grep -cx "$shell" || true)
    echo "$shell: $count"
done
if [[ $(wc -l < "$out") -lt 10 ]]; then
    echo "few"
fi
cut -f2 "$out" | sed 's|/[^/]*$||' | sort | uniq -c | sort -rn
