#!/bin/sh
# Which groups have which members, sorted and checked against the users.
set -e
users=out/users
cut -d: -f1 passwd | sort > $users
awk -F: '{g = $4 % 50; m[g] = m[g] (m[g] ? "," : "") $1} END {for (k in m) print "g" k ":x:" k ":" m[k]}' passwd | sort > out/group
cut -d: -f4 out/group | tr , '\n' | sort -u > out/members
if diff -q $users out/members > /dev/null; then
    echo "all users are members"
else
    comm -3 $users out/members | wc -l
fi
awk -F: '{n = split($4, a, ","); print n, $1}' out/group | sort -k1,1nr -k2 | head -n 4
wc -l < out/group
