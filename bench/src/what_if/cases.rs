//! Pipelines in which one stage is really made faster.

/// A pipeline before and after one of its stages was made faster.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Index of the stage.
    pub stage: usize,
    /// The stages: those that start with `stage ` are this program's own.
    pub before: &'static [&'static str],
    /// The stage afterwards.
    pub faster: &'static str,
}

/// Takes a text that reads its input line by line and works on each line so many times.
macro_rules! worker {
    ($rounds:literal) => {
        concat!(
            "python3 -c 'import sys\nfor line in sys.stdin:\n    for i in range(",
            $rounds,
            "): x = line.split(\"/\")\n    sys.stdout.write(line)'"
        )
    };
}

/// Takes blocks of 64 KiB with a pause after each.
macro_rules! pauser {
    ($seconds:literal) => {
        concat!(
            "python3 -c 'import sys, time\nwhile block := sys.stdin.buffer.read(65536):\n    time.sleep(",
            $seconds,
            "); sys.stdout.buffer.write(block)'"
        )
    };
}

/// The cases.
pub const CASES: &[Case] = &[
    Case {
        name: "a shorter pause in a middle stage",
        stage: 1,
        before: &["head -c 16M lines", pauser!("0.008"), "gzip -1", "wc -c"],
        faster: pauser!("0.002"),
    },
    Case {
        name: "a shorter pause in a shell loop",
        stage: 1,
        before: &["seq 300", "while read -r n; do sleep 0.006; echo \"$n\"; done", "wc -l"],
        faster: "while read -r n; do sleep 0.002; echo \"$n\"; done",
    },
    Case {
        name: "tr instead of sed",
        stage: 1,
        before: &["cat lines lines lines", "sed y/abcdefg/ABCDEFG/", "md5sum"],
        faster: "tr abcdefg ABCDEFG",
    },
    Case {
        name: "sort by bytes",
        stage: 1,
        before: &["head -c 16M lines", "LC_ALL=en_US.UTF-8 sort --parallel=1", "uniq", "wc -l"],
        faster: "LC_ALL=C sort --parallel=1",
    },
    Case {
        name: "mawk instead of gawk",
        stage: 1,
        before: &[
            "cat numbers numbers",
            "gawk '{ sum += $1 * 2; print sum % 7 }'",
            "gawk '{ if ($1 > 3) n++ } END { print n }'",
        ],
        faster: "mawk '{ sum += $1 * 2; print sum % 7 }'",
    },
    Case {
        name: "an expression that decides earlier",
        stage: 1,
        // grep would stop at its first match if it printed to /dev/null.
        before: &["cat lines lines", "LC_ALL=en_US.UTF-8 grep -cE '([0-9])x.\\1'", "cat"],
        faster: "LC_ALL=en_US.UTF-8 grep -cE '([a-c])x.*\\1z$'",
    },
    Case {
        name: "gzip -1 instead of -6",
        stage: 1,
        before: &["cat numbers numbers numbers", "gzip -6", "md5sum"],
        faster: "gzip -1",
    },
    Case {
        name: "less work before a sort",
        stage: 1,
        before: &["head -n 150000 lines", worker!(12), "LC_ALL=C sort --parallel=1", "uniq", "wc -l"],
        faster: worker!(5),
    },
    Case {
        name: "less work after a sort",
        stage: 2,
        before: &["head -n 200000 lines", "LC_ALL=en_US.UTF-8 sort --parallel=1", worker!(8), "wc -l"],
        faster: worker!(2),
    },
    Case {
        name: "less work beside the bottleneck",
        stage: 1,
        before: &["cat numbers", "gawk '$1 % 2'", "gzip -6", "wc -c"],
        faster: "mawk '$1 % 2'",
    },
    Case {
        name: "half of the work, three busy stages",
        stage: 1,
        before: &["stage --source 150 --spin 4000", "stage --spin 12000", "stage --sink --spin 2000"],
        faster: "stage --spin 6000",
    },
    Case {
        name: "half of the pause between bursts",
        stage: 0,
        before: &[
            "stage --source 120 --sleep 15000 --burst 4",
            "stage --spin 4000",
            "stage --sink --sleep 6000 --burst 1",
        ],
        faster: "stage --source 120 --sleep 7500 --burst 4",
    },
    Case {
        name: "half of the pause of the last stage",
        stage: 2,
        before: &["stage --source 150 --spin 3000", "stage --spin 5000", "stage --sink --sleep 14000"],
        faster: "stage --sink --sleep 7000",
    },
    Case {
        name: "the slow stage left out",
        stage: 1,
        before: &["cat lines", "sed -E 's/([a-c])([0-9])/\\2\\1/g'", "gzip -1", "wc -c"],
        faster: "cat",
    },
];
