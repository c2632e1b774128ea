#!/bin/sh
# A backup with a list of contents and a checksum, and a test of it.
set -e
dir=out/backup
mkdir -p $dir
tar -cf $dir/etc.tar --sort=name --mtime=2026-01-01 --owner=0 --group=0 etc tree
tar -tf $dir/etc.tar | sort > $dir/list
wc -l < $dir/list
grep -v '/$' $dir/list | sed 's/.*\.//' | sort | uniq -c
gzip -1 -c passwd > $dir/passwd.gz
gzip -dc $dir/passwd.gz | sha256sum | cut -d' ' -f1 > $dir/sum
if [ "$(sha256sum < passwd | cut -d' ' -f1)" = "$(cat $dir/sum)" ]; then
    echo verified
fi
rm -r $dir
