//! The placeholders in the grammars of tools, and commands without a row.
//!
//! In templates `@` and a letter stand for a value: `@n` and `@p` for small numbers (`@p` is never 0), `@N`
//! for any number, `@f` for a file, other letters for one of [`values`].

use pelton_commands::{TOOLS, Tool};

/// Returns every tool with a kernel.
pub(super) fn tools() -> Vec<&'static Tool> {
    TOOLS.iter().copied().filter(|tool| tool.has_kernel()).collect()
}

/// Commands without a kernel, or only for a shell. Not `head -n 1; cat`: how much head takes from a pipe
/// depends on how much is in it.
pub(super) const FOREIGN: &[&str] = &[
    "awk '{print $1}'",
    "awk '{print NF, $0}'",
    "awk 'NR <= 3 {print; exit}'",
    "sh -c cat",
    "sh -c 'cat; exit 3'",
    "cat -",
    "cat",
    "od -c",
    "base64",
    "md5sum",
    "env LC_ALL=C sort",
    "true",
    "false",
    "(read -r x; echo \"$x\")",
    "(sleep .01)",
    "(exec <&-; sleep .01)",
    "(sleep .01; cat)",
    "(cat)",
    "{ sort; }",
    "nosuch",
    "tee /dev/null",
    "cat | cat",
    "find a b -type f",
    "xargs -n 500 printf %s.",
    "xargs -0 -n90 printf %s,",
    "split -b 100000 - part",
    "dd bs=1000 status=none",
    "iconv -f latin1 -t utf8",
];

/// Returns the values of a placeholder.
pub(super) fn values(letter: char) -> Option<&'static [&'static str]> {
    Some(match letter {
        // A delimiter.
        'd' => &["' '", ",", ":", "a", "0", "$'\\t'", "-", "';'"],
        // A list of positions.
        'l' => &["1", "2", "3-", "-2", "1,3", "2-4", "5,1-2", "1-3,2-7", "10-", "1,100-", "-"],
        // A key of sort.
        'k' => &[
            "1", "2", "2,2", "1,1n", "2n", "2,2nr", "1.2,1.4", "3r", "2b,3", "1f,2", "1,1h", "2.2", "1V",
            "4,1",
        ],
        // A set of tr.
        's' => &[
            "abc",
            "a-z",
            "xyz",
            "0-9",
            "'[:digit:]'",
            "'[:space:]'",
            "'[:alpha:]'",
            "A-Z",
            "' '",
            "'\\n'",
            "'\\0'",
            "'\\r'",
            "'\\200-\\377'",
            "'[x*]'",
            "e",
            "'a-cx-z'",
            "'\\t'",
            "'[:punct:]'",
            "'\\0-\\37'",
            "é",
        ],
        // Text with escapes.
        't' => &[
            "'a\\tb'",
            "'\\0101\\x42\\n'",
            "'x\\ny\\n'",
            "'\\\\'",
            "'a\\cb'",
            "'\\u00e9'",
            "-",
            "''",
            "'50%'",
            "'b\\0c'",
        ],
        // A regular expression, and a plain string.
        'r' => &[
            "a",
            "'^[0-9]'",
            "'e.*r'",
            "'^$'",
            "'[[:space:]]$'",
            "'x*'",
            "the",
            "'.'",
            "'\\(.\\)\\1'",
            "'[0-9]$'",
            "'[a-z]'",
            "'[A-Z]'",
            "'[^a-z]'",
            "'[0-9a-f]'",
            "'[[:alpha:]]'",
            "'[[=e=]]'",
            "é",
        ],
        'q' => &["a", "the", "''", "1", "er", "'.'"],
        // A program of sed.
        'x' => &[
            "s/a/b/",
            "'s/[0-9]*//g'",
            "'s/[a-z]/X/g'",
            "'/[^a-m]/d'",
            "'s/\\([0-9]\\+\\)/<\\1>/g'",
            "2,5p",
            "'$d'",
            "3q",
            "y/abc/xyz/",
            "p",
            "/a/d",
            "'s/^/> /'",
            "1d",
            "'s/e/&&/2'",
            "'/the/,/of/d'",
            "'$!d'",
            "=",
            "'$!N;P;D'",
            "'1!G;h;$!d'",
            "G",
            "'N;s/\\n/,/'",
            "':a;s/aa/a/;ta'",
            "'h;s/a/b/;G'",
            "'/the/{x;p;x}'",
            "'n;d'",
            "l",
            "'/a/b;s/^/- /'",
            "'$!{h;d};x;G'",
            "'i\\\nhead'",
            "'2,4c\\  x'",
            "'w /dev/stdout'",
        ],
        _ => return None,
    })
}
