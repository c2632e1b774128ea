#!/bin/sh
# What has changed between two states of a list of users.
old=out/old new=out/new
sort passwd > $old
sed -e '/^u1[0-9]*:/s|/bin/sh|/bin/dash|' -e '/^u2.*:9/d' passwd | sort > $new
removed=$(comm -23 $old $new | cut -d: -f1 | sort)
added=$(comm -13 $old $new | cut -d: -f1 | sort)
echo "$removed" > out/removed
echo "$added" > out/added
comm -12 out/removed out/added | wc -l
comm -23 out/removed out/added | wc -l
if ! cmp -s $old $new; then
    echo "changed: $(comm -3 $old $new | wc -l) lines"
fi
