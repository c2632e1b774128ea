#!/bin/sh
# Reads, bases and mean quality of a FASTQ file.
set -e
in=reads.fastq
reads=$(($(wc -l < $in) / 4))
bases=$(awk 'NR % 4 == 2 {n += length($0)} END {print n + 0}' $in)
echo "reads $reads"
echo "bases $bases"
sed -n '2~4p' $in | cut -c1-4 | sort | uniq -c | sort -rn | head -n 5
sed -n '1~4p' $in | cut -d: -f1 | sort | uniq -c
if [ "$(sed -n '3~4p' $in | grep -vc '^+')" -ne 0 ]; then
    echo "broken"
    exit 1
fi
awk 'NR % 4 == 2' $in | grep -c N
