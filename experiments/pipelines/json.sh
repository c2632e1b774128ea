#!/bin/sh
# JSON in two stages, each a shell function around awk: tokens, one a line, then a line with its path for each value.
# Usage: json.sh AWK TOKENIZER PARSER FILE
awk=$1 tokenizer=$2 parser=$3 file=$4

tokenize() {
    "$awk" -f "$tokenizer" "$file"
}

parse() {
    "$awk" -f "$parser"
}

tokenize | parse
