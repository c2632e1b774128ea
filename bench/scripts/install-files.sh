#!/bin/sh
# Installs files below a prefix, with a list of what was installed.
set -e
prefix=out/usr
list=out/installed
: > $list
install_file() {
    mkdir -p "$prefix/$(dirname "$2")"
    cp "$1" "$prefix/$2"
    echo "$2" >> $list
}
for f in tree/*/*.conf; do
    install_file "$f" "share/conf/$(basename "$f")"
done
sed -e "s|@PREFIX@|$prefix|g" -e 's/@VERSION@/1.2/g' etc/template > out/program
grep -c "$prefix" out/program
sort -u $list | wc -l
find $prefix -type f | sed "s|$prefix/||" | sort | head -n 5
