//! awk: programs that make expressions and formats while they run, from words that may be expressions, or none; and recursive
//! functions.

use super::on_files;
use super::template::{Holes, filled};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = Vec::new();
    if rng.chance(20) {
        args.push(rng.pick(&["-F,", "-F:", "-F[:,]", "-F\\t"]).as_bytes().to_vec());
    }
    if rng.chance(30) {
        args.extend([b"-v".to_vec(), rng.pick(&["x=a", "x=^a", "x=", "x=,", "x=b+"]).as_bytes().to_vec()]);
    }
    let program = match rng.below(8) {
        0 | 1 => "@J",
        2 | 3 => "@O",
        _ => "@I",
    };
    let mut program = filled(rng, program, HOLES);
    // The one true awk reads on behind the end of such a format, and of an expression that ends with a lone backslash.
    if command == "original-awk" {
        program = program.replace("%z", "%d").replace("\"%\"", "\"%d\"");
    }
    args.push(program.into_bytes());
    let mut case = on_files(rng, command, args);
    // Words that are no expressions come to few programs, or most of them would only be run again.
    let is_odd = rng.chance(25);
    // A pipe cannot be read again.
    case.piped = false;
    case.stdin = words(rng, command, is_odd);
    case.files.iter_mut().for_each(|(_, content)| *content = words(rng, command, is_odd));
    case
}

/// Words that are expressions in all awks.
const WORDS: &[&[u8]] = &[
    b"a", b"b", b"ab", b"abc", b"a.c", b"^a", b"b$", b"[ab]", b"[0-9]+", b"a|b", b"x", b"1", b"10", b"a*",
    b".", b".*", b",", b":", b"|", b"foo", b"key=1", b"^$", b"ab?c", b"(a|b)c", b"[^a]", b"a+b", b"B", b"-",
    b"a/b", b"1.5", b"01", b"1.0", b"1e0", b"0", b"00", b"+1",
];

/// Words that are none, or of which awks have their own opinion.
const ODD_WORDS: &[&[u8]] = &[
    b"(a",
    b"a)",
    b"[a",
    b"*",
    b"+a",
    b"a**",
    b"c++",
    b"a{2}",
    b"{",
    b"a{1",
    b"\\",
    b"\\.",
    b"\\d",
    b"\\y",
    b"a\\",
    b"()",
    b"^*",
    b"a^b",
    b"a$b",
    b"[[:alpha:]]",
    b"[z-a]",
    b"[:alpha:]",
    b"&",
    b"\\&",
    b"\xc3\xa9",
    b"\xff",
    b"[\xc3\xa9]",
    b"a\0b",
    b"(a+)+",
    b"|a",
    b"a||b",
    b"[]a]",
    b"\\/",
    b"\"",
    b"a\tb",
    b"%s",
    b"\\\\",
];

fn words(rng: &mut Rng, command: &str, is_odd: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..rng.pick(&[0, 1, 2, 3, 5, 8, 20]) {
        for at in 0..rng.pick(&[0, 1, 2, 2, 3, 4]) {
            if at > 0 {
                text.extend_from_slice(rng.pick(&[b" ", b" ", b" ", b",", b":", b"  "]));
            }
            // The last ones are numbers that are written otherwise, which only gawk takes for the same expression.
            let regular = if command == "gawk" { WORDS } else { &WORDS[..WORDS.len() - 6] };
            let choices = if is_odd && rng.chance(15) { ODD_WORDS } else { regular };
            let word: &[u8] = rng.pick(choices);
            let is_cut = command == "original-awk" && word.contains(&b'\\');
            text.extend_from_slice(if is_cut { b"a" } else { word });
        }
        text.push(b'\n');
    }
    if rng.chance(5) {
        text.pop();
    }
    text
}

const HOLES: &Holes = &[
    (
        'I',
        &[
            "@T",
            "@T { @X }",
            "{ @X }",
            "{ @X; @X }",
            "{ @X } END { @Z }",
            "BEGIN { @Y } { @X }",
            "NR == FNR { p[@F]; next } @T { @X }",
            "NR == FNR { p[@F] = @V; next } { for (k in p) if (@K) { @X; next } } 1",
            "NR == FNR { p[@F] = @V; next } { for (k in p) if (@K) next; print }",
            "{ p[@F] = @V; for (k in p) if (@K) { n++; break } print n }",
            "{ p[@F]; for (k in p) if (@K) n++ } END { print n }",
            "NR == FNR { p[@F]; next } { for (k in p) if (@K) print }",
            "{ p[NR] = @V } END { for (i = 1; i <= NR; i++) if ($0 ~ p[i]) print i, p[i] }",
            "function f(s, r) { return s ~ r } f($0, @V) { @X }",
            "function f(s, r) { gsub(r, @P, s); return s } { print f($0, @V) }",
            "function f(a,  k) { for (k in a) if ($0 ~ k) return 1; return 0 } NR < 3 { p[@F]; next } f(p) { @X }",
            "@T, @T { @X }",
        ],
    ),
    // Recursive functions, some of them too deep.
    (
        'J',
        &[
            "function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } { print f(NF + @M), @V }",
            "function f(n) { if (n <= 1) return 1; return n * f(n - 1) } { print f(@N) }",
            "function f(s) { return length(s) < 2 ? s : f(substr(s, 2)) substr(s, 1, 1) } { print f(@V) }",
            "function f(a, b) { return b ? f(b, a % b) : a } { print f(@N, @N) }",
            "function f(n) { print n; if (n > 0) f(n - 1); print n \".\" } { f(NF) }",
            "function f(n,  t) { t[n] = n; if (n > 0) f(n - 1); s = s n length(t) } { f(NF); print s }",
            "function f(a, n) { a[n] = @V; if (n > 0) f(a, n - 1) } { f(c, NF); print c[0], length(c) } END { print c[1] }",
            "function f(n) { return n ? g(n - 1) : \"even\" } function g(n) { return n ? f(n - 1) : \"odd\" } { print f(@M) }",
            "function q(a, l, r,  i, m, t) { if (l >= r) return; m = l; for (i = l + 1; i <= r; i++) if (a[i] < a[l]) { t = a[++m]; a[m] = a[i]; a[i] = t } t = a[l]; a[l] = a[m]; a[m] = t; q(a, l, m - 1); q(a, m + 1, r) } { l[NR] = @V } END { q(l, 1, NR); for (i = 1; i <= NR; i++) print l[i] }",
            "function h(n, a, b, c) { if (n) { h(n - 1, a, c, b); print n, a, c; h(n - 1, b, a, c) } } NR == 1 { h(@M, \"a\", \"b\", \"c\") }",
            "function f(n) { x = x n; return n > 0 ? f(n - 1) + 1 : @V } { print f(@N), x; x = \"\" }",
            "function f(n) { if (n > 3) exit n; f(n + 1) } NR == @M { f(0) } { print }",
            "function f(n) { return n > 0 ? f(n - 1) + 1 : 0 } NR == 2 { print f(@M * 1000) } END { print f(NR) }",
            "function f(i) { return i > NF ? \"\" : $i \" \" f(i + 1) } { print f(1) }",
            "function f(s,  i) { i = index(s, @S); return i && s != \"\" ? f(substr(s, i + 1)) + 1 : 0 } { print f($0) }",
            "function f(n) { $0 = $0 n; return n > 0 ? f(n - 1) : NF } { print f(@M), $0 }",
            "function f(n) { return n > 0 ? 1 / f(n - 1) : @M } @T { print f(NF) }",
        ],
    ),
    ('M', &["1", "2", "3", "0", "4"]),
    ('N', &["NF", "NR", "length($1)", "3", "5", "12", "$1"]),
    ('S', &["\"a\"", "\" \"", "$1", "\",\""]),
    // Formats.
    (
        'O',
        &[
            "BEGIN { x = @A } { printf x \"\\n\", @V; x = @A }",
            "{ x = @A; printf x \"\\n\", @V, @N }",
            "{ printf @A $1 \"\\n\", @V, @V }",
            "{ s = sprintf(@A @A x, @V, @V, @V); print s, length(s) } END { x = 1 }",
            "{ f[NR] = @A } END { for (i = 1; i <= NR; i++) printf f[i] \"|\", @V, @V; print \"\" }",
            "{ printf \"%\" (NF + 2) \"s|\\n\", @V }",
            "{ printf \"%-\" NF \".\" NR \"s|\\n\", @V; x = sprintf(\"%0\" NF \"d\", @N) } END { print x }",
            "{ w = length($1); fmt = \"%\" w \"d|%-\" w \"s|\\n\"; printf fmt, @N, @V }",
            "{ printf (NF > 1 ? @A : x) \"\\n\", @V, @V }",
            "{ printf (NF > 1 ? @A \"\\n\" : x $1), @V, @V; x = \".\" }",
            "function f(a, b) { return sprintf(a, b) } { print f(@A, @V) }",
            "function f(a, b) { printf a \"\\n\", b, b } { f(@A, @V) }",
            "@T { printf $2 \"\\n\", $1 }",
            "{ x = x @A; printf x \"\\n\", @V, @V, @V, @V, @V }",
            "{ if (sprintf(@A x, @V) ~ $1) print; x = $2 }",
        ],
    ),
    (
        'A',
        &[
            "\"%s\"",
            "\"%d\"",
            "\"%5s|\"",
            "\"%-5d|\"",
            "\"%.2f\"",
            "\"%c\"",
            "\"%x\"",
            "\"%e\"",
            "\"%05d\"",
            "\"%%\"",
            "\"a\"",
            "\"%s %s\"",
            "\"%*d\"",
            "\"%.3s\"",
            "\"%i\"",
            "\"%g\"",
            "\"%z\"",
            "\"%\"",
            "\"%5\"",
            "\"%#x\"",
            "\"%+d\"",
            "\"%u\"",
            "\"\"",
            "$1",
            "\"%1$s\"",
            "\"%ld\"",
            "\"%.0f\"",
        ],
    ),
    (
        'K',
        &[
            "$0 ~ k",
            "@V ~ k",
            "$1 ~ p[k]",
            "k ~ $1",
            "$0 ~ \"^\" k",
            "match($0, k)",
            "k != \"\" && $0 !~ k",
            "@T",
        ],
    ),
    (
        'X',
        &[
            "print",
            "next",
            "n++",
            "print @V",
            "print @V, @V",
            "sub(@D, @P); print",
            "gsub(@D, @P); print",
            "gsub(@D, @P, $2); print; print NF",
            "x = $0; n = gsub(@D, @P, x); print n, x",
            "if (sub(@D, @P, $1)) print",
            "print match(@V, @D), RSTART, RLENGTH",
            "if (match($0, @D)) print substr($0, RSTART, RLENGTH)",
            "n = split(@V, a, @D); print n, a[1], a[2]",
            "n = split($0, a, @D); for (i = 1; i <= n; i++) print i, a[i]",
            "n = split(@V, a, \"\"); for (i = 1; i <= n; i++) print i, a[i], (a[i] < 5), length(a[i])",
            "n = split($0, a, \"\"); for (i = n; i > 0; i--) printf \"%s\", a[i]; print \"\"",
            "n = split(@V, a, y); print n, a[1], a[n]",
            "if (@T) print $1; else print $2",
            "x = @V",
            "for (i = 1; i <= NF; i++) if ($i ~ @D) print i",
            "print (@T), (@T)",
            "printf \"%s %d\\n\", $1, @T",
            "if (@T) exit",
            "print > \"/dev/stderr\"",
            "print tolower(@V) ~ @D",
        ],
    ),
    (
        'Z',
        &[
            "print n",
            "print x",
            "print NR",
            "if (x ~ $1) print",
            "n = gsub($1, \"<&>\", x); print n, x",
            "print \"a.b\" ~ x",
        ],
    ),
    (
        'Y',
        &[
            "x = \"b\"",
            "x = \"^\" x",
            "print \"abc\" ~ x",
            "FS = \",\"",
            "n = split(\"a,b\", a, x); print n",
            "print substr(x, 1, 1)",
        ],
    ),
    (
        'T',
        &[
            "$0 ~ $1",
            "$2 ~ $1",
            "$0 ~ @D",
            "@V ~ @D",
            "@V !~ @D",
            "@V ~ @D && @V ~ /a/",
            "!(@V ~ @D)",
            "$1 ~ \"^\" $2 \"$\"",
        ],
    ),
    (
        'D',
        &[
            "$1",
            "$2",
            "x",
            "$NF",
            "y",
            "\"^\" $1",
            "$1 \"$\"",
            "\"a\" $2",
            "$1 \"|\" $2",
            "\"[\" $1 \"]\"",
            "\"(\" $1 \")\"",
            "substr($0, 1, 1)",
            "substr($1, 2)",
            "($1)",
            "NR",
            "tolower($1)",
            "(NF > 1 ? $2 : \"a\")",
            "@F",
        ],
    ),
    ('P', &["\"X\"", "\"\"", "\"<&>\"", "$2", "x", "$1", "\"\\\\&\"", "NR"]),
    ('F', &["$1", "$2", "$NF", "$0"]),
    ('V', &["$0", "$1", "$2", "$NF", "x", "\"abc\"", "\"a,b:c\"", "NR", "$1 $2", "n"]),
];
