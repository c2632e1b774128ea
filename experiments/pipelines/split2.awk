# The tokenizer's second half: what stands between strings, a token a line. Any awk.
/^"/ {
    print
    next
}
{
    text = $0
    gsub(/[][{}:,]/, "\n&\n", text)
    gsub(/[ \t\r]*\n[ \t\r\n]*/, "\n", text)
    sub(/^[ \t\r\n]+/, "", text)
    sub(/[ \t\r\n]+$/, "", text)
    if (text != "") print text
}
