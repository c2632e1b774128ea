#!/bin/sh
# The state of a package's files, as maintainer scripts ask for it.
set -e
status=out/status
awk -F, 'NR > 1 {print "Package: " $5 "-" $1 "\nStatus: " ($6 % 3 ? "installed" : "removed") "\nVersion: " $7 "\n"}' orders.csv > $status
installed=$(grep -c '^Status: installed' $status)
echo "installed: $installed"
sed -n '/^Package: /{s///;s/-.*//;p}' $status | sort | uniq -c
if grep -q '^Version: 0' $status; then
    echo "versions below 1"
fi
awk '/^Package:/ {p = $2} /^Status: removed/ {print p}' $status | sort | head -n 4
rm -f $status
