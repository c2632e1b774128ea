# The tokenizer's first half: a line break on either side of each string. Any awk.
{
    text = $0
    gsub(/"([^"\\]|\\.)*"/, "\n&\n", text)
    print text
}
