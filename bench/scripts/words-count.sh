#!/bin/sh
# Word frequency with a list of words that do not count.
set -e
text=words.txt
stop=out/stop
printf '%s\n' the of and to a in is it that for > "$stop"
tr -cs A-Za-z '\n' < "$text" | tr A-Z a-z | grep -vxF -f "$stop" | sort | uniq -c | sort -rn > out/frequency
head -n 20 out/frequency
distinct=$(wc -l < out/frequency)
once=$(grep -c '^ *1 ' out/frequency || true)
echo "distinct: $distinct"
echo "once: $once"
rm "$stop"
