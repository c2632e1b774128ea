#!/bin/sh
# Sets a text in narrow lines, numbers them, and makes pages of them.
width=${WIDTH:-60}
in=words.txt
out=out/wrapped.txt
if [ "$width" -lt 20 ]; then
    echo "too narrow" >&2
    exit 1
fi
tr -s ' ' < $in | fold -s -w "$width" | sed 's/ *$//' | nl -ba -w7 -s'  ' > $out
lines=$(wc -l < $out)
pages=$(((lines + 65) / 66))
echo "$lines lines, $pages pages"
sed -n '1,5p' $out
tail -n 2 $out
