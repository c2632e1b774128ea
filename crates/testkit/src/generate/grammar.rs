//! Which options and operands the commands are given.
//!
//! In templates `@` and a letter stand for a value: `@n` and `@p` small numbers (`@p` never 0), `@N` any, `@f` a file,
//! the others as in [`values`].

/// How a command stands in a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Reads the pipe, or files if it is given some.
    Reader,
    /// Reads the pipe only.
    Filter,
    /// Always has operands.
    Joiner,
    /// Reads nothing.
    Source,
}

/// One command.
pub(super) struct Grammar {
    pub(super) name: &'static str,
    pub(super) role: Role,
    /// One of these always stands there.
    pub(super) needs: &'static [&'static str],
    pub(super) options: &'static [&'static str],
    /// One of these may.
    pub(super) operands: &'static [&'static str],
}

const FILES: &[&str] = &["@f", "@f", "-", "@f @f", "- @f", "@f -", "-- @f"];
const PAIRS: &[&str] = &["sorted -", "- sorted", "@f @f", "sorted sorted", "- @f", "sorted a"];

const fn reader(
    name: &'static str,
    needs: &'static [&'static str],
    options: &'static [&'static str],
) -> Grammar {
    Grammar { name, role: Role::Reader, needs, options, operands: FILES }
}

pub(super) const ALL: &[Grammar] = &[
    reader(
        "cat",
        &[],
        &["-n", "-b", "-s", "-A", "-E", "-T", "-v", "-e", "-t", "-u", "-sn", "-bs", "--number"],
    ),
    Grammar {
        name: "comm",
        role: Role::Joiner,
        needs: &[],
        options: &[
            "-1",
            "-2",
            "-3",
            "-12",
            "-13",
            "-23",
            "--output-delimiter=@d",
            "--total",
            "--nocheck-order",
            "-z",
        ],
        operands: PAIRS,
    },
    reader(
        "cut",
        &[
            "-b@l",
            "-c@l",
            "-c @l",
            "-f@l",
            "-f @l",
            "-d@d -f@l",
            "-d @d -f @l",
            "-sd@d -f@l",
            "--fields=@l -d@d",
        ],
        &["--complement", "-n", "-z", "--output-delimiter=@d", "--output-delimiter=", "-s"],
    ),
    reader(
        "expand",
        &[],
        &["-i", "-t@p", "-t @p", "-t 3,@p", "-t 2,9,20", "-@p", "--tabs=@p", "-it@p", "-t /4"],
    ),
    reader("fold", &[], &["-w@p", "-w @p", "-s", "-b", "-bs", "-@p", "-sw20", "--width=30", "-w 100000"]),
    reader(
        "grep",
        &[
            "@r",
            "-v @r",
            "-c @r",
            "-o @r",
            "-i @r",
            "-n @r",
            "-w @r",
            "-x @r",
            "-F @q",
            "-E @r",
            "-e @r -e @q",
        ],
        &["-a", "-m@p", "-v", "-c", "-n", "-h", "-H", "-q", "-l", "-z", "-A1", "-b", "-s"],
    ),
    reader(
        "head",
        &[],
        &[
            "-n@n",
            "-n @N",
            "-@n",
            "-@N",
            "-c@N",
            "-n -@n",
            "-c -@N",
            "-q",
            "-v",
            "-z",
            "-@pc",
            "-n 1k",
            "--lines=@n",
        ],
    ),
    Grammar {
        name: "join",
        role: Role::Joiner,
        needs: &[],
        options: &[
            "-t@d",
            "-1 @p",
            "-2 1",
            "-j 1",
            "-a1",
            "-a 2",
            "-v1",
            "-i",
            "-e X",
            "-o 1.1,2.1",
            "--nocheck-order",
            "--header",
            "-z",
        ],
        operands: &["sorted -", "- sorted", "sorted sorted", "sorted a"],
    },
    reader(
        "nl",
        &[],
        &[
            "-ba", "-bt", "-bn", "-b p^a", "-v@n", "-i@p", "-w@p", "-nln", "-nrz", "-nrn", "-s@d", "-l2",
            "-p", "-ha", "-fa",
        ],
    ),
    Grammar {
        name: "paste",
        role: Role::Joiner,
        needs: &[],
        options: &["-s", "-d@d", "-d ',;'", "-d '\\n'", "-sd@d", "-z", "-d '\\0'"],
        operands: &["-", "- -", "- - -", "@f", "- @f", "@f @f", "@f -"],
    },
    reader("sed", &["@x", "-n @x", "-e @x", "-E @x", "-e @x -e @x"], &["-z", "-s", "-u"]),
    Grammar {
        name: "seq",
        role: Role::Source,
        needs: &[],
        options: &["-w", "-s@d", "-f %05g"],
        operands: &["@p", "@N", "@n @N", "1 3 @N", "@N -2 1", "-- -5 5", "0.5 3"],
    },
    reader(
        "sort",
        &[],
        &[
            "-n",
            "-r",
            "-u",
            "-b",
            "-f",
            "-k@k",
            "-k @k",
            "-t@d",
            "-z",
            "-s",
            "-h",
            "-V",
            "-g",
            "-M",
            "-d",
            "-i",
            "-c",
            "-C",
            "-nr",
            "-rn",
            "-nru",
            "+1",
            "-t@d -k@k",
            "--parallel=1",
            "-S1M",
            "-o out",
            "-m",
            "-rk2n",
        ],
    ),
    reader("tac", &[], &["-b", "-s @d", "-r", "-s a", "-s ''"]),
    reader(
        "tail",
        &[],
        &["-n@n", "-n @N", "-@n", "-c@N", "-n +@n", "-c +@N", "+@n", "-q", "-v", "-z", "-n+@N", "--lines=@n"],
    ),
    Grammar {
        name: "tee",
        role: Role::Filter,
        needs: &[],
        options: &["-a", "-i", "out", "out2", "-p"],
        operands: &[""],
    },
    Grammar {
        name: "tr",
        role: Role::Filter,
        needs: &[
            "@s @s",
            "@s @s",
            "-d @s",
            "-s @s",
            "-cd @s",
            "-cs @s '\\n'",
            "-ds @s @s",
            "-t @s @s",
            "-s @s @s",
            "a-z A-Z",
            "'[:upper:]' '[:lower:]'",
            "-C @s _",
            "' ' '\\n'",
            "-s ' '",
        ],
        options: &[],
        operands: &[""],
    },
    reader(
        "unexpand",
        &[],
        &[
            "-a",
            "--first-only",
            "-t@p",
            "-t @p",
            "-t 3,@p",
            "-t 2,9,20",
            "-@p",
            "--tabs=@p",
            "-at@p",
            "-t /4",
        ],
    ),
    reader(
        "uniq",
        &[],
        &[
            "-c",
            "-d",
            "-u",
            "-D",
            "-i",
            "-f@n",
            "-s@n",
            "-w@n",
            "-z",
            "-cd",
            "-ci",
            "--group",
            "-@n",
            "+@n",
            "--all-repeated=separate",
        ],
    ),
    reader("wc", &[], &["-l", "-w", "-c", "-m", "-L", "-lw", "-lwc", "-cm", "--total=never"]),
];

/// Without a kernel, or only for a shell.
pub(super) const FOREIGN: &[&str] = &[
    "awk '{print $1}'",
    "awk '{print NF, $0}'",
    "awk 'NR <= 3 {print; exit}'",
    "rev",
    "sh -c cat",
    "sh -c 'cat; exit 3'",
    "sh -c 'head -n 1; cat'",
    "cat -",
    "cat",
    "od -c",
    "base64",
    "md5sum",
    "env LC_ALL=C sort",
    "true",
    "false",
    "(cat)",
    "{ sort; }",
    "{ head -n 2; tail -n 1; }",
    "nosuch",
    "tee /dev/null",
    "cat | cat",
    "split -b 100000 - part",
    "echo done",
    "dd bs=1000 status=none",
    "iconv -f latin1 -t utf8",
];

/// What a letter stands for.
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
        ],
        'q' => &["a", "the", "''", "1", "er", "'.'"],
        // A program of sed.
        'x' => &[
            "s/a/b/",
            "'s/[0-9]*//g'",
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
        ],
        _ => return None,
    })
}
