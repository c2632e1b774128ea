#!/bin/sh
# A daily summary of a service's log, to be mailed.
umask 022
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
log=app.log
grep 'ERROR' "$log" > "$tmp/errors"
grep 'WARN' "$log" > "$tmp/warnings"
errors=$(wc -l < "$tmp/errors")
warnings=$(wc -l < "$tmp/warnings")
{
    echo "Errors: $errors, warnings: $warnings"
    echo "By service:"
    awk '{print $3}' "$tmp/errors" | sed 's/\[[0-9]*\]://' | sort | uniq -c | sort -rn
    echo "Most frequent messages:"
    cut -d' ' -f5- "$tmp/errors" | sed 's/[0-9][0-9]*/N/g' | sort | uniq -c | sort -rn | head -n 5
} > out/mail.txt
cat out/mail.txt
