#!/bin/sh
# Joins orders with a table of regions that the script carries itself.
set -eu
tmp=${TMPDIR:-/tmp}/join.$$
mkdir "$tmp"
trap 'rm -rf "$tmp"' EXIT INT TERM
sort -t, -k1,1 > "$tmp/regions" <<EOF
north,Nord,1.10
south,Sud,1.05
east,Est,1.00
west,Ouest,1.20
EOF
tail -n +2 orders.csv | sort -t, -k4,4 > "$tmp/orders"
join -t, -1 4 -2 1 "$tmp/orders" "$tmp/regions" > "$tmp/joined"
cut -d, -f8 "$tmp/joined" | sort | uniq -c
wc -l < "$tmp/joined"
head -n 3 "$tmp/joined"
