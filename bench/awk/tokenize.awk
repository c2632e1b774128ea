# The first of the two stages: prints one JSON token per line. Any awk.
{
    text = $0
    gsub(/"([^"\\]|\\.)*"|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null|[][{}:,]/, "\n&\n", text)
    gsub(/\n[ \t\r\n]*/, "\n", text)
    sub(/^[ \t\n]*/, "", text)
    printf "%s", text
}
