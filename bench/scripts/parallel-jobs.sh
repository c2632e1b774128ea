#!/bin/bash
# Two reports at the same time, then one of both.
set -eu
report() {
    cut -d' ' -f"$1" access.log | sort | uniq -c | sort -rn | head -n 100 > "$2"
}
report 1 out/clients &
first=$!
cut -d'"' -f2 access.log | cut -d' ' -f1 | sort | uniq -c > out/methods &
wait "$first"
wait
for f in out/clients out/methods; do
    echo "$f $(wc -l < $f)"
    head -n 2 $f
done
