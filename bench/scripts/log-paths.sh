#!/bin/sh
# The most requested paths without their queries, for pages and for pictures.
set -eu
log=access.log
n=10
top() {
    sort | uniq -c | sort -k1,1nr -k2 | head -n "$n"
}
echo "== pages"
awk '{print $7}' "$log" | sed 's/?.*//' | grep -v '\.png$' | top
echo "== pictures"
awk '{print $7}' "$log" | sed 's/?.*//' | grep '\.png$' | top
echo "== agents"
awk -F'"' '{print $6}' "$log" | top
echo "== done"
