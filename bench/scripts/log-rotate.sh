#!/bin/sh
# Rotates numbered logs, keeps four, and compresses none.
set -e
dir=out/logs
mkdir -p "$dir"
cp app.log "$dir/app.log"
for round in 1 2 3; do
    i=3
    while [ "$i" -gt 0 ]; do
        if [ -f "$dir/app.log.$i" ]; then
            mv "$dir/app.log.$i" "$dir/app.log.$((i + 1))"
        fi
        i=$((i - 1))
    done
    mv "$dir/app.log" "$dir/app.log.1"
    grep -v DEBUG "$dir/app.log.1" | tail -n +"$round" > "$dir/app.log"
done
ls "$dir" | sort
cat "$dir"/app.log* | wc -l
rm -f "$dir"/app.log.*
