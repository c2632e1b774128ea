#!/bin/sh
# Makes a list of hosts from the clients of a log.
set -e
hosts=out/hosts
cat > $hosts <<'EOF'
127.0.0.1 localhost
::1 localhost ip6-localhost
EOF
cut -d' ' -f1 access.log | sort -u -t. -k1,1n -k2,2n -k3,3n -k4,4n |
    awk '{n = $1; gsub(/\./, "-", n); print $1, "client-" n}' >> $hosts
if grep -v '^[0-9:]' $hosts | grep -q .; then
    echo "bad lines" >&2
    exit 1
fi
wc -l < $hosts
tail -n 3 $hosts
awk '{print $2}' $hosts | sort | uniq -d
