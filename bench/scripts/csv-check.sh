#!/bin/sh
# Checks a table before it is loaded: columns, dates, numbers, doubles.
in=orders.csv
bad=0
check() {
    # Counts the lines that do not look as they should.
    n=$(tail -n +2 "$in" | grep -vcE "$2")
    if [ "$n" -gt 0 ]; then
        echo "$1: $n bad lines"
        bad=$((bad + n))
    else
        echo "$1: fine"
    fi
}
check columns '^([^,]*,){6}[^,]*$'
check dates '^[0-9]+,20[0-9]{2}-[01][0-9]-[0-3][0-9],'
check amounts ',[0-9]+\.[0-9]{2}$'
doubles=$(cut -d, -f1 "$in" | sort | uniq -d | wc -l)
echo "doubles: $doubles"
[ "$bad" -eq 0 ] || exit 1
