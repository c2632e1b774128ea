#!/bin/sh
# Counts requests by status and lists the busiest clients of the failing ones.
set -e
log=${1:-access.log}
report=out/status.txt
if [ ! -r "$log" ]; then
    echo "cannot read $log" >&2
    exit 1
fi
echo "Requests by status" > "$report"
cut -d'"' -f3 "$log" | cut -d' ' -f2 | sort | uniq -c | sort -rn >> "$report"
echo "Clients with errors" >> "$report"
grep -E '" (4|5)[0-9][0-9] ' "$log" | cut -d' ' -f1 | sort | uniq -c | sort -rn | head -n 20 >> "$report"
total=$(wc -l < "$log")
echo "total: $total" >> "$report"
cat "$report"
