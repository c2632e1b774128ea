#!/bin/sh
# Adds system users as a package's installation does, with the next free id.
set -e
db=out/passwd
cp passwd $db
add_user() {
    name=$1
    home=$2
    if grep -q "^$name:" $db; then
        echo "$name exists"
        return 0
    fi
    last=$(awk -F: '$3 < 1000 && $3 > m {m = $3} END {print m + 0}' $db)
    echo "$name:x:$((last + 1)):65534::$home:/usr/sbin/nologin" >> $db
    echo "added $name with id $((last + 1))"
}
add_user root /root
add_user _news /var/news
add_user _mail /var/mail
tail -n 2 $db | cut -d: -f1
rm $db
