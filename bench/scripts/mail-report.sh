#!/bin/bash
# A report in a here-document with figures from several pipelines.
set -euo pipefail
log=access.log
top=$(cut -d' ' -f1 "$log" | sort | uniq -c | sort -rn | awk 'NR <= 3 {print $2 " (" $1 ")"}' | paste -sd, -)
lines=$(wc -l < "$log")
errors=$(grep -c '" 5[0-9][0-9] ' "$log" || true)
pages=$(awk '{print $7}' "$log" | sed 's/?.*//' | sort -u | wc -l)
cat > out/report <<EOF
Requests: $lines
Errors:   $errors
Pages:    $pages
Busiest:  $top
Digest:   $(cut -d'"' -f2 "$log" | sha256sum | cut -c1-16)
EOF
sed 's/^/> /' out/report
