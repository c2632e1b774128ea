# The second stage: reads one JSON token per line, prints `@."menu"."id": "file"` per value, and
# `@."menu" <=> {` … `@."menu" <=> }` around containers. Any awk. A file may hold several values one after another.
function key() {
    return kind[depth] == "[" ? index_of[depth] : name[depth]
}
function path() {
    return depth ? path_at[depth] "." key() : "@"
}
function close_value() {
    if (depth && kind[depth] == "[") index_of[depth]++
    expect_name = depth && kind[depth] == "{"
}
$0 == "{" || $0 == "[" {
    here = path()
    print here " <=> " $0
    depth++
    path_at[depth] = here
    kind[depth] = $0
    index_of[depth] = 0
    expect_name = $0 == "{"
    next
}
$0 == "}" || $0 == "]" {
    if (!depth) {
        print "unexpected " $0 " at token " NR > "/dev/stderr"
        exit 1
    }
    print path_at[depth] " <=> " $0
    depth--
    close_value()
    next
}
$0 == "," || $0 == ":" {
    next
}
expect_name {
    name[depth] = $0
    expect_name = 0
    next
}
{
    print path() ": " $0
    close_value()
}
