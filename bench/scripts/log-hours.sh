#!/bin/sh
# Requests by hour of the day, as a bar chart.
log=access.log
max=0
hours=$(cut -d: -f2 "$log" | sort | uniq -c | awk '{print $2 "=" $1}')
for pair in $hours; do
    count=${pair#*=}
    if [ "$count" -gt "$max" ]; then
        max=$count
    fi
done
for pair in $hours; do
    hour=${pair%%=*}
    count=${pair#*=}
    width=$((count * 40 / max))
    bar=$(printf '%*s' "$width" '' | tr ' ' '#')
    printf '%s %7d %s\n' "$hour" "$count" "$bar"
done
