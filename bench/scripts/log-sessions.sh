#!/bin/bash
# Who was there in which hour: distinct clients by hour, by an associative array.
set -euo pipefail
declare -A clients
log=access.log
while read -r count hour; do
    clients[$hour]=$count
done < <(sed -E 's/^([^ ]*) [^:]*:([0-9]*):.*/\2 \1/' "$log" | sort -u | cut -d' ' -f1 | uniq -c)
for hour in $(printf '%s\n' "${!clients[@]}" | sort); do
    printf '%s: %d clients\n' "$hour" "${clients[$hour]}"
done
total=$(cut -d' ' -f1 "$log" | sort -u | wc -l)
echo "in all $total"
[[ $total -gt 0 ]] && echo ok
