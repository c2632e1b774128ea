//! gawk: what it has beyond the language of POSIX.

use super::awk::{avoid_infinity, broken_into_lines, data};
use super::on_files;
use super::template::{Holes, filled};
use crate::{Case, Rng};

/// Programs with `gensub`.
pub fn gensub(rng: &mut Rng, command: &str) -> Case {
    of_holes(rng, command, GENSUB)
}

/// Programs with `switch`.
pub fn switch(rng: &mut Rng, command: &str) -> Case {
    of_holes(rng, command, SWITCH)
}

/// Programs that sort arrays.
pub fn sorted(rng: &mut Rng, command: &str) -> Case {
    of_holes(rng, command, SORTED)
}

fn of_holes(rng: &mut Rng, command: &str, holes: &Holes) -> Case {
    let mut args = Vec::new();
    if rng.chance(20) {
        args.push(format!("-F{}", rng.pick(&[",", ":", "\t", "[,:]", ", *", "a"])).into_bytes());
    }
    if rng.chance(10) {
        args.push(format!("-vx={}", rng.pick(&["3", "a", "", " 7 ", "1e2", "a b a"])).into_bytes());
    }
    let items: Vec<String> = (0..rng.pick(&[1, 1, 1, 2])).map(|_| filled(rng, "@I", holes)).collect();
    let program = items.join("\n");
    let program = if rng.chance(20) { broken_into_lines(rng, &program) } else { program };
    args.push(program.into_bytes());
    let mut case = on_files(rng, command, args);
    case.stdin = data(rng);
    case.files.iter_mut().for_each(|(_, content)| *content = data(rng));
    avoid_infinity(&mut case);
    case
}

/// `x` stays short: a text that grows by a factor with each record would not fit into memory.
const GENSUB: &Holes = &[
    (
        'I',
        &[
            "{ print @G }",
            "{ print @G }",
            "{ print @G, @G }",
            "{ @L = @G; print; print @L, NF; x = substr(x, 1, 20) }",
            "{ @L = @G; print @L, x @L, length(@L); x = substr(x, 1, 20) }",
            "{ $0 = @G; print $1, $2, NF }",
            "{ n += length(@G) } END { print n }",
            "@T { print @G }",
            "{ x = x @G; print x; x = substr(x, 1, 20) }",
            "{ y = x; x = @G; x = substr(x, 1, 20) } END { print x, y, @G }",
            "{ c[@G]++ } END { for (k in c) n++; print n, length(c) }",
            "{ print @G + 1, -@G, @G * 2 }",
            "{ printf \"%s|%d|%5s|%.2f\\n\", @G, @G, @G, @G }",
            "{ if (@G @C) print; else print @G }",
            "{ x = @G; if (x @C) print x; x = substr(x, 1, 20) }",
            "{ for (i = 1; i <= NF; i++) $i = gensub(@R, @P, @H, $i); print }",
            "{ print gensub(@R, @P, @H, @G) }",
            "function f(t) { return gensub(@R, @P, @H, t) \"\" } { print f(@V), f($1) }",
            "function f(t) { t = gensub(@R, @P, @H, t); print t } { f(@V) }",
            "{ n = split(@G, a, \",\"); print n, a[1] }",
            "{ print toupper(@G), index(@G, \"a\"), substr(@G, 2, 3), @G ~ @R }",
            "{ x = @G; y = x; $1 = y; print; print $1 + 1, ($1 > x); x = substr(x, 1, 20) }",
            "{ l[NR] = @G } END { for (i = 1; i <= NR; i++) print l[i], l[i] \"\" }",
            "{ gsub(@R, @P); print @G }",
        ],
    ),
    (
        'G',
        &["gensub(@R, @P, @H)", "gensub(@R, @P, @H, @V)", "gensub(@R, @P, @H, @V)", "gensub(@D, @P, @H, @V)"],
    ),
    (
        'H',
        &[
            "\"g\"", "\"g\"", "\"g\"", "\"G\"", "1", "2", "3", "\"g1\"", "\"2\"", "1.9", "0.5", "\"x\"", "0",
            "x",
        ],
    ),
    (
        'P',
        &[
            "\"X\"",
            "\"\"",
            "\"[&]\"",
            "\"<\\\\1>\"",
            "\"\\\\1\\\\2\"",
            "\"\\\\2\\\\1\"",
            "\"(\\\\0)\"",
            "\"\\\\3-\\\\1\"",
            "\"\\\\&\"",
            "\"\\\\\\\\&\"",
            "\"a\\\\\\\\1\"",
            "\"\\\\q\"",
            "\"x\\\\\"",
            "$1",
            "$1 \"-\"",
            "\"\\\\1\" NR",
            "\"&&\"",
            "\"\\\\\" NF",
            "\"é\\\\1\"",
            "x \"\\\\2.\"",
            "NR",
        ],
    ),
    (
        'R',
        &[
            "/a/",
            "/x*/",
            "/(a)(b)/",
            "/(a|b)(.)/",
            "/([^,]*),([^,]*)/",
            "/(.)(.)/",
            "/^(.)(.*)$/",
            "/([0-9]+)/",
            "/([0-9]+)\\.([0-9]+)/",
            "/(a)|(b)/",
            "/(a?)(b?)/",
            "/(a*)(b*)/",
            "/a|$/",
            "/^/",
            "/$/",
            "/(^a)/",
            "/(b$)/",
            "/([[:alpha:]]+)[ ,]+([[:alpha:]]+)/",
            "/[ \\t]+/",
            "/(a+)(b|$)/",
            "/(ab)*c/",
            "/((a)(b))/",
            "/(a(b)?)/",
            "/é(.)/",
            "/([^ ]) /",
            "/(a|ab)(c|bcd)?/",
            "/foo|\\B/",
            "/\\y/",
            "/(\\w+)\\W+(\\w+)/",
            "/\\s(\\S)/",
            "/a{1,2}(b)/",
            "/@A@A@A/",
            "/@A@A@M@A/",
            "/@A|@A@A/",
        ],
    ),
    (
        'A',
        &[
            "a", "b", "[ab]", ".", "(a)", "(b*)", "([ab]+)", "(.)", "(.*)", "(a|b)", "[0-9]*", "(x?)",
            "([^,:]*)", " ", "(ab?)", "(a|ab)", "(é)",
        ],
    ),
    ('M', &["", "*", "+", "?"]),
    ('D', &["\"a\"", "\"(a)(b)\"", "\"[ab]\" \"+\"", "\"\\\\.\"", "$2", "x"]),
    (
        'V',
        &[
            "$1",
            "$2",
            "$0",
            "x",
            "$NF",
            "\"abab\"",
            "NR",
            "$1 $2",
            "c[1]",
            "\"a,b\"",
            "$1 \"\"",
            "toupper($2)",
        ],
    ),
    ('L', &["x", "$1", "$2", "$NF", "y", "c[NR % 2]", "$0"]),
    ('T', &["NR > 1", "@R", "$1", "x", "@G", "@G == \"a\"", "@G ~ /a/", "$1 == @V"]),
    ('C', &["== \"a\"", "~ /b/", "> \"b\"", "== $1", "> 5", "", "!= x"]),
];

const SWITCH: &Holes = &[
    (
        'I',
        &[
            "{ @W }",
            "{ @W }",
            "{ @W; print n }",
            "@R { @W }",
            "{ @W } END { print n, x }",
            "END { @W }",
            "{ for (i = 1; i <= NF; i++) switch ($i) { @C @C }; print }",
            "{ for (i = 1; i <= NF; i++) { switch ($i) { @C @C @C } n++ } print n }",
            "{ for (i = 1; i <= NF; i++) { switch (i) { case 2: continue; @C } print i } }",
            "{ i = 0; while (i++ < NF) { switch ($i) { @C default: continue; @C } printf \"%s,\", i } }",
            "function f(v) { switch (v) { @C @C case \"b\": return \"B\" } return \"none\" } { print f(@V), f($1) }",
            "{ c[$1]++ } END { for (k in c) switch (k) { case \"a\": n += 2; case 1: n++; break; case /b/: x++ } print n, x }",
            "{ switch (@V) { case /a/: switch (@V) { @C @C } break; @C } print \"end\" }",
            "{ switch (@V) {\ncase 1:\n  print \"one\"\n  break\ncase \"a\":\ndefault:\n  @S\n}\n}",
        ],
    ),
    (
        'W',
        &[
            "switch (@V) { @C }",
            "switch (@V) { @C @C }",
            "switch (@V) { @C @C @C }",
            "switch (@V) { @C default: @S; @C @C }",
            "switch(@V) { default: @S; break; @C @C }",
            "switch (@V) { @C @C default: @S }",
            "switch (@V) { }",
        ],
    ),
    (
        'C',
        &[
            "case @K: @S; break; ",
            "case @K: @S; ",
            "case @K: @S; break; ",
            "case @K: ; ",
            "case @K:\n@S\nbreak\n",
            "case @K: { @S; break } ",
            "case @K: if (@V == 1) break; @S; ",
            "case @K: @S; next; ",
        ],
    ),
    (
        'K',
        &[
            "1", "2", "10", "0", "-4", "+7", "3.5", "1e3", "\"a\"", "\"b\"", "\"1\"", "\"10\"", "\"\"",
            "\"abc\"", "\"é\"", "/a/", "/^b/", "/[0-9]+/", "/^$/", "/./", "/=a/", "010", "\"0\"", "\"01\"",
            "- 3", "0.1",
        ],
    ),
    (
        'V',
        &[
            "$1",
            "$1",
            "$2",
            "$0",
            "NF",
            "NR",
            "x",
            "c[1]",
            "$1 + 0",
            "\"a\"",
            "\"1\"",
            "length($1)",
            "$1 $2",
            "n++",
            "substr($1, 1, 1)",
            "$9",
            "x = $2",
            "toupper($1)",
            "NR % 3",
            "1",
            "sqrt($1)",
            "gensub(/b/, \"a\", 1)",
        ],
    ),
    (
        'S',
        &[
            "print \"one\"",
            "print NR, $1",
            "n++",
            "x = $1",
            "$2 = \"s\"; print",
            "print \"two\"",
            "n += 2",
            "sub(/a/, \"b\")",
            "print x, n",
            "exit 2",
            "next",
        ],
    ),
    ('R', &["NR > 1", "/a/", "$1 == 1"]),
];

const SORTED: &Holes = &[
    (
        'I',
        &[
            "{ @F } END { @O; @L }",
            "{ @F } END { @O; @L }",
            "{ @F } END { @L; @O; @L }",
            "BEGIN { @O } { @F } END { @L }",
            "BEGIN { @O } { @F } NR % 3 == 1 { @L }",
            "{ @F } NR == 2 { @O } END { @L }",
            "{ @F; @F } END { if (NR > 2) @O; @L }",
            "{ @F } END { @O; @L; @O; @L }",
            "{ @F } END { @A }",
            "{ @F } END { @A }",
            "{ @F; @F } END { @A; @A }",
            "{ @F } END { @A; @O; @L }",
            "{ n = split($0, a); @S; for (i = 1; i <= n; i++) printf \"%s \", a[i]; print \"\" }",
            "{ split($0, a, \",\"); m = asort(a, d@D); for (i = 1; i in d; i++) print i, d[i]; print m }",
            "BEGIN { for (i = 0; i < @N; i++) c[@K] = @V; @O; @L }",
            "BEGIN { for (i = 0; i < @N; i++) c[@K] = @V; @A }",
            "function f(t,  k) { @O; for (k in t) print k, t[k] } { @F } END { f(c) }",
            "function f(t,  k, u) { n = asorti(t, u); for (k = 1; k <= n; k++) print u[k] } { @F } END { f(c) }",
        ],
    ),
    (
        'F',
        &[
            "c[$1]++",
            "c[$2] += $1",
            "c[$1] = $2",
            "c[NR] = $1",
            "c[$0] = NR % 3",
            "c[$1] = $2 $1",
            "c[NF] = NR",
            "c[$1]",
            "if (!seen[$1]++) c[n++] = $1",
            "for (i = 1; i <= NF; i++) c[$i]++",
            "for (i = 1; i <= NF; i++) c[i] = $i",
            "c[NR * 700] = $2",
            "c[$1, $2] = $3",
            "c[-NR] = $1",
            "c[$1] = x",
            "c[$1 + 0] = $2",
            "c[NR] = $1 + 0",
            "c[$1] = $2 / 3",
            "split($0, c)",
            "c[$1] = gensub(/a/, \"b\", 1, $2)",
        ],
    ),
    (
        'O',
        &[
            "PROCINFO[\"sorted_in\"] = \"@P\"",
            "PROCINFO[\"sorted_in\"] = \"@P\"",
            "PROCINFO[\"sorted_in\"] = \"@P\"",
            "delete PROCINFO[\"sorted_in\"]",
            "PROCINFO[\"sorted_in\"] = \"\"",
        ],
    ),
    (
        'P',
        &[
            "@@ind_str_asc",
            "@@ind_str_desc",
            "@@ind_num_asc",
            "@@ind_num_desc",
            "@@val_str_asc",
            "@@val_str_desc",
            "@@val_num_asc",
            "@@val_num_desc",
            "@@val_type_asc",
            "@@val_type_desc",
            "@@unsorted",
        ],
    ),
    (
        'L',
        &[
            "for (k in c) print k, c[k]",
            "for (k in c) { print k; if (++n >= 3) break }",
            "for (k in c) printf \"%s;\", k; print \"\"",
            "for (k in c) s = s k \",\"; print s",
            "for (k in c) print c[k] > \"/dev/stderr\"",
            "for (k in c) if (k in seen) print k",
            "for (k in c) l[++m] = k; for (i = 1; i <= m; i++) print l[i]",
            "for (k in c) last = k; print last",
            "for (k in c) print (k < 5)",
        ],
    ),
    (
        'A',
        &[
            "n = asort(c@E); for (i = 1; i <= n; i++) print i, c[i]",
            "n = asort(c, d@D); for (i = 1; i <= n; i++) print d[i]; print length(c), n",
            "n = asorti(c, d@D); for (i = 1; i <= n; i++) print d[i], c[d[i]]",
            "n = asorti(c); for (i = 1; i <= n; i++) print c[i]",
            "print asort(c, d), d[1], d[2]",
            "asort(c, c); print c[1], length(c)",
            "print asorti(c, d), d[1] \"\", (1 in d), (0 in d)",
            "n = asort(c, d); print (d[1] < d[2])",
            "asorti(c, d); for (k in d) print k, d[k]",
        ],
    ),
    ('S', &["asort(a)", "asort(a)", "asorti(a)", "asort(a, a)", "m = asort(a)", "print asort(a)"]),
    ('E', &["", "", ", c", ", c, \"@P\"", ", c, \"\""]),
    ('D', &["", "", ", \"@P\"", ", \"@P\"", ", \"f\""]),
    ('N', &["3", "12", "40", "400", "2000"]),
    (
        'K',
        &[
            "i",
            "i * 7 % 1009",
            "\"k\" i % 50",
            "i * 1000",
            "-i",
            "(i % 3 ? i : i \"k\")",
            "i \"\"",
            "\"0\" i",
            "i / 2",
        ],
    ),
    (
        'V',
        &["i % 7", "i", "\"v\" i % 5", "i % 3 \"\"", "(i % 4 ? i % 2 : \"x\")", "-i", "i * 1.5", "\"\"", "1"],
    ),
];
