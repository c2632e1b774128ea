#!/bin/sh
# The state of a package's files, as maintainer scripts ask for it.
set -e
listing=out/status
awk -F, 'NR > 1 {print "Package: " $5 "-" $1 "\nStatus: " ($6 % 3 ? "installed" : "removed") "\nVersion: " $7 "\n"}' orders.csv > $listing
installed=$(grep -c '^Status: installed' $listing)
echo "installed: $installed"
sed -n '/^Package: /{s///;s/-.*//;p}' $listing | sort | uniq -c
if grep -q '^Version: 0' $listing; then
    echo "versions below 1"
fi
awk '/^Package:/ {p = $2} /^Status: removed/ {print p}' $listing | sort | head -n 4
rm -f $listing
