//! Cases on which a kernel once differed, or that document a subtlety. Each stays for ever.

use crate::{Case, case};

/// Returns those in C and C.UTF-8.
pub fn all() -> Vec<Case> {
    vec![
        // mawk's machine does not find what is longest, or what is leftmost.
        // What was there before is not what comes back from a sum.
        case("mawk", &[b"{print $0++, ++$0; x = 1e-12; print x++, x--, $1--}"], b".000000000001\n1e300\n7x"),
        case("mawk", &[b"{sub(/x/,\"\");print}"], b"\x00"),
        case("mawk", &[b"{sub(/(a|b)|b?./,\"\")}1"], b"bc"),
        case("mawk", &[b"{print match($0,/.+.+c?b*/), RLENGTH}"], b"  bb "),
        case("mawk", &[b"{gsub(/ab?|[ab]|[^a]/,\"<&>\")}1"], b" 1c1a11"),
        // A field's number is never negative, nor less than one by a fraction; and what is not a number is told as printf tells it.
        case("mawk", &[b"{print $1 + 0, substr($0, 4) * 1, \"\\r7\" + 0}"], b"\r10\x0b5\n\t2\r\n"),
        case("mawk", &[b"{print $x}"], b"a b"),
        case("mawk", &[b"-vx=nan", b"{print $x}"], b"a b"),
        case("mawk", &[b"-vx=-0.3", b"{$x=1}"], b"a b"),
        case("mawk", &[b"{print $($1)}"], b"-4748364"),
        // A semicolon stands before else at the end of a simple statement, not behind a block.
        case("mawk", &[b"{if(1) for(;0;){};else print 2}"], b"a"),
        case("mawk", &[b"{if(0) for(;0;)x;else print 2}"], b"a"),
        case("mawk", &[b"{if(0) ;;else print 2}"], b"a"),
        case("mawk", &[b"{if(0) x\n;else print 2}"], b"a"),
        case("mawk", &[b"{do {}; while(0)}"], b"a"),
        // Where a semicolon ends nothing, mawk finds no program.
        case("mawk", &[b";/a/"], b"a"),
        case("mawk", &[b"/a/;;/b/"], b"a"),
        case("mawk", &[b"/a/\n;/b/"], b"a"),
        // Without ends of line, a sort cannot hide the order of an array.
        case("mawk", &[b"-vORS=", b"{c[2]; c[$1]; for (k in c) print k}"], b"5\n,"),
        // A match that is what the one before became stays as it is.
        case("mawk", &[b"{gsub(/ +/,\"&&\");print}"], b" 1  \n  "),
        case("mawk", &[b"{n=gsub(/[a-z]+/,\"&b\");print n,$0}"], b"a ab abb abbb\na c ab\nab a ab"),
        case("mawk", &[b"{n=gsub(/[a-z]*/,\"&b\");print n,$0}"], b"a b\n1b\na1 ab\na ab"),
        case("mawk", &[b"{n=gsub(/x?b*/,\"&b\");print n,$0}"], b"ab b"),
        case("mawk", &[b"{gsub(/a+/,\"&&\")}1"], b"a\naa\na aa aa\naaa aaaaaa aaa"),
        // What is cut warns before the numbers fail.
        case("gawk", &[b"{print substr(log(-2), 2 % x)}"], b"a\n"),
        // After a match gawk skips an empty one at the place where it searches on, however many it replaced in between.
        case("gawk", &[b"{n = gsub(/foo|\\B/, \"X\"); print n, $0}"], b"foo bar\nfoo barb foo"),
        case("gawk", &[b"{n = gsub(/fo|\\y/, \"<&>\"); print n, $0}"], b"foo a b\na foo"),
        case("gawk", &[b"{print gensub(/fo|\\y/, \"<&>\", \"g\")}"], b"foo a b\na foo"),
        // To gawk a regular expression is the one before it at the same place if it is the same number.
        case("gawk", &[b"{print \"1\" ~ $1}", b"one"], b"").file("one", b"1\n1.0\n01\n2\n1e0\n"),
        case("gawk", &[b"{x = \"1\"; print gsub($1, \"<&>\", x), x, match(\"1\", $1)}", b"one"], b"")
            .file("one", b"1\n01\n1\n"),
        case("gawk", &[b"{p[$1]; for (k in p) if ($0 ~ k) n++} {print n}", b"one"], b"").file("one", b"1e0\n1\n"),
        case("gawk", &[b"BEGIN {for (i = 0; i < 3; i++) {print \"abc\" ~ x; x = 0}}"], b""),
        case("gawk", &[b"function f(s, r) {return s ~ r} {print f(\"1.0\", $1), f(\"a\", NR > 2 ? 0 : x)}", b"one"], b"")
            .file("one", b"0.1\n.1\n1\n1.0\nx\n01\n"),
        case("gawk", &[b"{x = .1 + $1 / 1e9; print x, \"0.1\" ~ x, \"0.10\" ~ $2}", b"one"], b"")
            .file("one", b"1 0.1\n2 0.1\n3 0.100000001\n"),
        // Before the real grep continues with -q or -l, no lines are needed to count.
        case("grep", &[b"-q", b"-n", b"^.*$"], b"\x99\n\xfd").utf8(),
        case("grep", &[b"-b", b"-q", b"-x", b".*"], b"\x99\n\xfd").utf8(),
        // Of two that are not a number, the first one's sign is printed.
        case(
            "mawk",
            &[b"-va=-nan", b"-vb=nan", b"{x=a+0;y=b+0;print x+y,y*x,x-1,1/y,y%x;x*=y;print x;y-=x;print y}"],
            b"a",
        ),
        case("mawk", &[b"{print (l%\"\")^NR, (l%\"\")^2, l%\"\"}"], b"a"),
        // What gawk's loops find may be a number, as a field is.
        case("gawk", &[b"{c[$1]} END{for(k in c) print (k ? 1 : 0)}"], b"00"),
        case("gawk", &[b"{c[$1]} END{for(k in c) print (k < 9), (k ? 1 : 0)}"], b"10\n0"),
        case("gawk", &[b"{c[$1]} END{for(k in c) {x = k; n += x > 9} print n}"], b"10\n2"),
        // At the beginning of a string, index compares bytes.
        case(
            "gawk",
            &[b"{print index($1, $2)}"],
            b"\xc3\xa9 \xc3\nx\xc3\xa9 \xc3\n\xe6\x97\xa5 \xe6\x97\na\xe6\x97\xa5 a\xe6\na\xe6\x97\xa5 \xe6",
        )
        .utf8(),
        // Before `match` is called, mawk's RSTART and RLENGTH are empty, gawk's are 0.
        case("mawk", &[b"BEGIN{print RLENGTH \",\" RSTART, length(RLENGTH), RLENGTH + 0}"], b""),
        case("gawk", &[b"BEGIN{print RLENGTH \",\" RSTART, length(RLENGTH), RLENGTH + 0}"], b""),
        // A status is the lower half of an integer of 64 bits.
        case("gawk", &[b"{exit $1}"], b"4294967299"),
        case("gawk", &[b"{exit $1}"], b"-2147483649"),
        case("gawk", &[b"{exit $1}"], b"1e20"),
        // The first number beyond 64 bits is the position of the first character.
        case("gawk", &[b"{print substr($0, 2^64), substr($0, $1, 2), substr($0, 1e20)}"], b"18446744073709551615"),
        // A zero without digits.
        case(
            "gawk",
            &[b"{printf \"%.0d|%+.0d|% .0i|%5.0d|%-5.0d|%.0x|%+.0u|%08.0X|\\n\", $1, $1, $1, $1, $1, $1, $1, $1}"],
            b"0\n0.5\n-0.5\n-0\n0.99\n1\n-1\n",
        ),
        // NaN is the largest number of the input; how, depends on the version.
        case("gawk", &[b"$1 > m {m = $1} END {print m}"], b"1\n+nan\n2\n"),
        case("gawk", &[b"{print ($1 > 1), ($2 < $1)}"], b"+nan 1\n-nan 2\n1 2\n"),
        case("gawk", &[b"{print ($1 == $1)}"], b"+nan\n1\n"),
        case("gawk", &[b"{print ($1 + 0 == $1 + 0), ($1 + 0 < 1)}"], b"+nan\n1\n"),
        // Without a record, gawk does not know that it is an array.
        case("gawk", &[b"{a[$1]++} END {print length(a); for (k in a) print k, a[k]}"], b""),
        case("gawk", &[b"{a[$1]++} END {print length(a); for (k in a) print k, a[k]}"], b"a\nb\na\n"),
        case("gawk", &[b"{a[$1]++} END {print length(a); for (k in a) print k, a[k]}"], b"a"),
        case("gawk", &[b"{k[NR]=$1; delete k[NR-1]} END{print length(k), k[NR]}"], b""),
        case("gawk", &[b"{k[NR]=$1; delete k[NR-1]} END{print length(k), k[NR]}"], b"a\nb\na\n"),
        case("gawk", &[b"{k[NR]=$1; delete k[NR-1]} END{print length(k), k[NR]}"], b"a"),
        case("gawk", &[b"{a[$1]} END {print length(a), a[1], NR}"], b""),
        case("gawk", &[b"{a[$1]} END {print length(a), a[1], NR}"], b"a\nb\na\n"),
        case("gawk", &[b"{a[$1]} END {print length(a), a[1], NR}"], b"a"),
        // A string that grows, shared or not.
        case(
            "gawk",
            &[b"{s = s $0 \",\"; c[$1] = c[$1] s; t = s; s = s s} END {print s, t, c[\"a\"], c[\"b\"]}"],
            b"a\nb\nsome longer text\na\nb\n",
        ),
        case("mawk", &[b"function f() {s = \"q\"; return \"z\"} {s = s f(); print s}"], b"a\nb\n"),
        case("mawk", &[b"function e(){exit} {c[$1] = e()} END {print length(c)}"], b"a b\n"),
        case("mawk", &[b"function e(){exit} {c[$1] += e()} END {print length(c)}"], b"a b\n"),
        case("mawk", &[b"function e(){exit} {x = c[$1] e()} END {print length(c)}"], b"a b\n"),
        case("mawk", &[b"function e(){exit} {c[$1, e()]++} END {print length(c)}"], b"a b\n"),
        case("mawk", &[b"function e(){exit} {$3 = e()} END {print NF, $0}"], b"a b\n"),
        case("mawk", &[b"function e(){exit} {sub(/a/, e(), c[1])} END {print length(c)}"], b"a b\n"),
        // gawk warns of an escape that needs none.
        case("gawk", &[b"{ x = $9; y = h ^ (N - 1); print (x == y), (y == \"+inf\"), (y < \"a\"); z = -y; print (z == \"\"), z \"\" }"], b"\n"),
        case("gawk", &[b"/^[a-c]?\\/*./"], b"\xf4\x90\x80\x80;").utf8(),
        case("gawk", &[b"{ n = split($0, q, /\\</); print n, q[1] }"], b"-{x{\n"),
        case("gawk", &[b"NR == 1 { getline a[NR]; print a[1], a[2] }"], b"1\n2\n3\n"),
        case("gawk", &[b"{ printf $0 }"], b"%z%a\n"),
        case("gawk", &[b"{ $1 = $1; printf $1 }"], b"%*\t%a$\n"),
        case("gawk", &[b"{ printf $1 }"], b"%d abc\n"),
        case("gawk", &[b"{ $2 = \"x\"; y = $0; printf $1 }"], b"50% b c\n%s b c\n"),
        case("mawk", &[b"{ printf $0; print NR }"], b"a%%b\n100%s sure\n"),
        case("gawk", &[b"{ x = 1\n  y = length($1)\n  if (x)\n    print 1 / $2 }"], b"a 1\nb 0\n"),
        case("gawk", &[b"function f(a) {\n  return a / 1 }\n{ x = f(2) / $1\n}"], b"1\n0\n"),
        case("gawk", &[b"/a{b/ { print \"a\" } /a {/ { print \"b\" } /\\<b\\>/ { print \"c\" } { gsub(/\\y/, \"|\"); print }"], b"a{b\na {\nab b\n"),
        case("mawk", &[b"{ $1 = $2 = \"\"; print } /a$ *$/ /\\s/"], b"a b c\ns\n"),
        case("gawk", &[b"{$1=\"\\/\"}1"], b"a"),
        // By its number, $0 is not always assigned.
        case("mawk", &[b"{x=0;$x++;print}"], b"1"),
        case("mawk", &[b"{length(c)(c[$1])}"], b""),
        case("mawk", &[b"{print FILENAME}", b"one"], b"").file("one", b"a\n\x00"),
        case("mawk", &[b"BEGIN{next}"], b""),
        case("mawk", &[b"{print $1>=$2}"], b"a 1"),
        case("cat", &[b"-s", b"-n"], b"\n\n\na\n\n\nb"),
        case("cat", &[b"-E"], b"a\r\nb\r"),
        // A class of the second set that starts where the first set has ended.
        case("tr", &[b"", b"[:lower:]"], b""),
        case("tr", &[b" ", b"-[:upper:]"], b""),
        case("cut", &[b"-z", b"-f", b"5", b"-da"], b"xa"),
        case("cut", &[b"--complement", b"-z", b"-f5", b"-db", b"-s"], b"b"),
        case("tr", &[b"-c", b"", b"[:lower:]0"], b"1"),
        // uutils.
        case("tr", &[b"-t", b"-c", b"-", b"[:upper:]"], b""),
        case("tr", &[b"-c", b"-", b"[:upper:]a"], b""),
        case("uniq", &[b"-w1"], b"\xc3\xa9\n\xc3").utf8(),
        case("uniq", &[b"-w1"], b"\xc3\xa9a\n\xc3\xa8a\n").utf8(),
        case("nl", &[b"-d", b"\xc3\xa9"], b"\xc3\xa9"),
        // busybox.
        case("cut", &[b"-f", b"5,9", b"-d,"], b","),
        case("cut", &[b"-f", b"4", b"-s"], b"\n"),
        case("cut", &[b"-d", b" ", b"-f", b"2"], b"a b\0c d\n\0"),
        case("seq", &[b"-w", b"7", b"10", b"8"], b""),
        case("tail", &[b"+2c"], b""),
        case("tail", &[b"-", b"one"], b"").file("one", b""),
        case("tr", &[b"[:blank:]", b"3[x*]"], b" "),
        case("tr", &[b"[:graph:]", b"a"], b"t"),
        case("tr", &[b"-d", b"[y*1]"], b"1"),
        case("tr", &[b"\\[:lower:]", b"-"], b":"),
        case("tr", &[b"\\0", b"\\q"], b"\0"),
        case("sort", &[b"-s", b"-u", b"-t", b":"], b"NOVEMBER\nNOVEMBER\n"),
        case("sort", &[b"-k", b"4r"], b"\na a ~\r"),
        case("sort", &[b"-k", b"4"], b"8\0\r 0\t0 "),
        case("sort", &[b"-u", b"-t", b"\t", b"-k", b"3"], b"\x93\nb"),
        case("sort", &[b"-nu"], b"7\n007\nx\n0\n"),
        case("sort", &[b"-s", b"-k", b"3r"], b"\x001"),
        case("sort", &[b"-r", b"-s", b"-n", b"-t", b"\t"], b"\n\xb2"),
        case("head", &[b"-2"], b"a\nb\0\nc\n"),
        case("tr", &[b"", b""], b""),
        case("sort", &[], b"b\0a\n\0"),
        case("sort", &[b"-n"], b"1e1\n5\n+7\n0x20\ninf\nnan\n"),
        case("sort", &[b"-rn"], b"      2 a\n     10 b\n -3 c\n\nx\n"),
        case("tr", &[b"-cs", b"a-z", b"\\n"], b"  ab  c\n\n\nd"),
        case("comm", &[b"--total", b"--output-delimiter=", b"one", b"-"], b"b\n").file("one", b"a\n"),
        // The line behind one without partner is not checked yet; nor is what is left of one input.
        case("join", &[b"-", b"two"], b"|").file("two", b"o\nA"),
        case("join", &[b"one", b"-"], b"\xe4").file("one", b"U\nF"),
        case("join", &[b"one", b"-"], b"o\n\x00x").file("one", b"*"),
        // Blanks at the end are followed by an empty field.
        case("join", &[b"-1", b"3", b"one", b"one"], b"").file("one", b"\x7f\ta \x7f "),
        // glibc decodes what Unicode does not know.
        case("wc", &[b"-m"], b"\xf4\x90\x80\x80\xf8\x88\x80\x80\x80\xf8\x87\x80\xfda").utf8(),
        // Blanks that do not break end words; what is not printable neither begins nor ends one.
        case("wc", &[], "a\u{a0}b\u{2028}c \u{301} \u{200b} \u{3000}d\x01 \x02".as_bytes()).utf8(),
        // Columns are seven wide where a size is not known.
        case("wc", &[], b"a b\n").piped(),
        case("wc", &[b"-c", b"-", b"-"], b"A"),
        case("tac", &[b"-", b"-"], b"\n"),
        case("head", &[b"-n4", b"-", b"-"], b"\n\n\n\n-"),
        // A name that is all suffix has no prefix.
        case("sort", &[b"-k", b"1V"], b".x\n.1"),
        case("sort", &[b"-t", b"a", b"-k", b"2V"], b"a.1\na.a"),
        // Where there is no thousands separator, this byte is one.
        case("sort", &[b"-n", b"-s"], b"1\x802\n3\n1\n\x80\x80-1\n-\x801\x80.5\n"),
        // A NUL that comes later hides what was selected before, if grep reads both at once.
        case("grep", &[b""], b"\n\x00"),
        case("grep", &[b".", b"one"], b"").file("one", b"5\n\xf5\n\x00").utf8(),
        // grep does not even look at its input.
        case("grep", &[b"-c", b"-v", b""], b""),
        case("grep", &[b"-o", b"-w", b"-x", b""], b"\n"),
        // Both read the standard input, by turns.
        case("sort", &[b"-m", b"-", b"-"], b"b\na\n"),
        // A backslash that escapes nothing stands for itself, and what follows is no part of it.
        case("printf", &[b"\\%d", b"5"], b""),
        // The texts of i and the numbers of = end as lines do.
        case("sed", &[b"-z", b"if"], b"\n"),
        case("sed", &[b"-z", b"="], b"\n"),
        // A case that is changed where there are no letters.
        case("sed", &[b"s/ /\\l\xa9/"], b" "),
        // q completes a last line.
        case("sed", &[b"q"], b"Z"),
        case("sed", &[b"-n", b"p;Q"], b"Z"),
        // Ranges whose start or end was jumped over.
        case("sed", &[b"1{n;n;n;n};2,3p"], b"1\n2\n3\n4\n5\n6\n7\n8\n"),
        case("sed", &[b"1{n;n;n;n};4,5p"], b"1\n2\n3\n4\n5\n6\n7\n8\n"),
        case("sed", &[b"1{n;n;n;n};5,3p"], b"1\n2\n3\n4\n5\n6\n7\n8\n"),
        case("sed", &[b"3{n;n;n};/2/,+2p"], b"1\n2\n3\n4\n5\n6\n7\n8\n"),
        case("sed", &[b"-n", b"4,~2p"], b"1\n2\n3\n4\n5\n6\n7\n8\n"),
        case("sed", &[b"$,$cf"], b" "),
        // What is a letter outside ASCII is not known: no byte map.
        case("sed", &[b"s_\\w__g"], b"\xc3\x9f").utf8(),
        case("sed", &[b"y/\\n/ /\ns/a//"], b"\n"),
        case("sed", &[b"5\nd"], b""),
        case("sed", &[b"s/.x/\\U\\0/"], b"\x00x").utf8(),
        case("sed", &[b"H;x"], b"b"),
        case("sed", &[b"-z", b"l1"], b"\n"),
        // A record is held back for a getline that is never reached.
        case("gawk", &[b"{print; next; getline}"], b"\nf\n"),
        // A line that lacks its end gets it when a file that holds something follows.
        case("sed", &[b"-s", b"2p", b"one", b"two"], b"").file("one", b"1").file("two", b""),
        case("sed", &[b"-s", b"-n", b"1p", b"one", b"two"], b"").file("one", b"1").file("two", b"\n"),
    ]
}

/// Cases in en_US.UTF-8.
pub fn english() -> Vec<Case> {
    let cases = vec![
        // Unknown bytes are all equal: such lines stay as they came, to sort.
        case("sort", &[], b"\xff\n\xfe\n\xff\n"),
        // Between a and z lies more than letters of ASCII.
        case("sed", &[b"s/[a-z]//"], b"\xc3\xa9").utf8(),
        case("sort", &[b"-u"], b"\xff\n\xfe\na\n"),
        case("sort", &[b"-r"], b"a\n\xff\nA\n\xfe\n-a\n"),
        // But not to uniq, which looks at bytes.
        case("uniq", &[b"-c"], b"\xff\n\xfe\n\xff\n"),
        case("comm", &[b"one", b"-"], b"\xfe\n").file("one", b"\xff\n"),
        case("join", &[b"one", b"-"], b"\xfe 2\n").file("one", b"\xff 1\n"),
        // Accents are compared from the end, and the last but one of a run is left out.
        case("sort", &[], b"\x80\xd9\x8a\xcc\x8111B\n\x80\xd9\x8a\x1a\x811B\n"),
        case("sort", &[b"-n"], b"1,000\n999\n1,2\n,3\n0,4\n-1,0\n"),
        case("sort", &[b"-h"], b"1,000K\n2M\n1,K\n,5G\n"),
        case("sort", &[b"-k2,2"], b"b a-b\na ab\nc A b\n"),
    ];
    cases.into_iter().chain(more_and_more_than_ascii()).map(Case::utf8).collect()
}

/// Programs for gawk over lines of ASCII, behind which come other characters, and bytes that are none.
fn more_and_more_than_ascii() -> Vec<Case> {
    const PROGRAMS: &[&str] = &[
        "{print length, length($1), substr($0, 2, 2), index($0, \"b\"), toupper($1)}",
        "{for (i = 1; i <= NF; i++) n += length($i)} END {print n}",
        "{printf \"%-6s|%4.2s|\\n\", $1, $2}",
        "{x = x $1} END {print length(x), substr(x, 4, 3), toupper(x), index(x, \"x\")}",
        "{c[$1] += length} END {n = asorti(c, k); for (i = 1; i <= n; i++) print length(k[i]), c[k[i]]}",
        "{gsub(/./, \"<&>\")} 1",
        "{gsub(/[^a-c]/, \"_\"); print}",
        "{x = x $0; gsub(/[^b]/, \"-\", x); print x}",
        "{print p; p = $1; sub(/.$/, \"\", p)}",
        "{print $1 ~ p; p = \"^.\" substr($1, 2) \"$\"}",
        "match($0, /[^ab]+/) {print RSTART, RLENGTH, substr($0, RSTART, RLENGTH)}",
        "{n = split($0, p, \"\"); print n, p[2]; n = split($0, p, /[^a-z]/); print n, p[2]}",
        "{print gensub(/(.)(.)/, \"\\\\2\\\\1\", \"g\")}",
        "/^.b/, /f/ {print length}",
        "length > 2",
        "BEGIN {RS = \"\"} {print length, NF}",
        "{x = $0; getline; print length, length(x), substr(x, 2, 1) substr($0, 2, 1)}",
        "/^...$/ {print NR}",
        "{print index($0, \"\u{e9}\"), length(\"\u{e9}\" $1)}",
        "{x = \"\\351\" $1; print length(x), toupper(x)}",
        "{x = x sprintf(\"%c\", 233); print length(x)}",
        "END {print length, length($1)}",
    ];
    const PIECES: [&[u8]; 4] =
        [b"ab 12\nxbc\n\n", b"d\xc3\xa9f 3\nab\n", b"a\xff\xe9b x\n\nxb\n", b"a\0b c\nab\n"];
    let case_of = |program: &str, args: &[&[u8]], pieces: &[&[u8]]| {
        let args: Vec<&[u8]> = args.iter().copied().chain([program.as_bytes()]).collect();
        case("gawk", &args, &pieces.concat())
    };
    let mut cases = Vec::new();
    for program in PROGRAMS {
        for count in 1..=PIECES.len() {
            cases.push(case_of(program, &[], &PIECES[..count]));
        }
        cases.push(case_of(program, &[b"-F[^a-z]"], &[PIECES[1], PIECES[0]]));
        let files = [program.as_bytes(), b"one", b"two", b"one"];
        cases.push(case("gawk", &files, b"").file("one", PIECES[0]).file("two", PIECES[1]));
    }
    for program in [
        "{print length(s $1), toupper(s)}",
        "{print s ~ /\\w/}",
        "{sub(/ /, s); print /[[:alpha:]]{3}/}",
        "{print s ~ /^.$/}",
    ] {
        cases.push(case_of(program, &[b"-vs=\xc3\xa9"], &PIECES[..1]));
    }
    for program in [
        "{sub(/[ ]/, \"\u{e9}\"); print (/(\\w+)/ \"\\1\" F)}",
        "{print \"\\303\\251\" ~ /\\w/}",
        "{print sprintf(\"%c\", 233) ~ /\\w/}",
    ] {
        cases.push(case_of(program, &[], &PIECES[..1]));
    }
    cases
}
