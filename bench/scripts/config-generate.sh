#!/bin/sh
# Makes a configuration from a template and a table.
set -e
template() {
    cat <<EOF
[$1]
home = $2
shell = $3
EOF
}
grep -v '^#' passwd | sort -t: -k3,3n | head -n 40 | cut -d: -f1,6,7 | tr : ' ' |
    while read -r name home shell; do
        template "$name" "$home" "$shell"
    done > out/users.ini
grep -c '^\[' out/users.ini
awk -F' = ' '/^shell/ {n[$2]++} END {for (s in n) print s, n[s]}' out/users.ini | sort
awk -F: '{n[length($1)]++} END {for (l in n) print l, n[l]}' passwd | sort -n
