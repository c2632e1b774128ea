//! Programs for awk as data (`awk_programs.txt`), each over several inputs.

use pelton_verify::{Case, case};

use crate::installed::engine;

const FOR_ALL: &str = include_str!("awk_programs.txt");
const FOR_GAWK: &str = include_str!("gawk_programs.txt");

/// A program, and what is expected of it.
struct Listed {
    args: Vec<Vec<u8>>,
    declined: bool,
}

impl Listed {
    fn shown(&self) -> String {
        self.args.last().map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default()
    }
}

fn listed(text: &str) -> Vec<Listed> {
    let text = text.replace("\\\nb", "\u{1}");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let read = |line: &str| {
        let declined = line.starts_with('-');
        let line = line.strip_prefix('-').unwrap_or(line).replace('\u{1}', "\\\nb");
        let (options, program) = match line.strip_prefix("%% ") {
            Some(rest) => rest.split_once(' ').expect("a separator and a program"),
            None => ("", line.as_str()),
        };
        let mut args: Vec<Vec<u8>> = Vec::new();
        if !options.is_empty() {
            args.push(format!("-F{options}").into_bytes());
        }
        args.push(program.as_bytes().to_vec());
        Listed { args, declined }
    };
    lines.map(read).collect()
}

/// The arguments of each.
pub fn programs() -> Vec<Vec<Vec<u8>>> {
    listed(FOR_ALL).into_iter().map(|program| program.args).collect()
}

/// Words, numbers, separators; a table; nothing; a line without its end.
const INPUTS: &[&[u8]] = &[
    b"a 1 x\nb 22 y\na 3 z\n\nc -4.5 a,b,c\nabc 0x10 1e2\nA 7\n",
    b"h1,h2,h3\n1,b,3\n2,b,5\n1,c,3\n,,\n10,2,a:b\n",
    b"",
    b"  lead  two\tthree  \n2024 2 29\na.b c/d e\nlast line 9",
];

/// Compares all programs over all inputs. Returns how many are native, and which are declined.
fn compared(command: &str, list: &str) -> Option<(usize, Vec<Listed>)> {
    let mut engine = engine(command)?;
    let mut found = Vec::new();
    let (mut native, mut declined) = (0, Vec::new());
    for program in listed(list) {
        let args: Vec<&[u8]> = program.args.iter().map(Vec::as_slice).collect();
        let before = engine.tally.declined;
        for input in INPUTS {
            let case: Case = case(command, &args, input);
            found.extend(engine.check(&case).expect("the real tool").map(|difference| difference.show()));
        }
        match engine.tally.declined > before {
            true => declined.push(program),
            false if program.declined => panic!("taken, though it must be declined: {}", program.shown()),
            false => native += 1,
        }
    }
    crate::say(&format!("{command} programs: {native} native, {} declined", declined.len()));
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    Some((native, declined))
}

#[test]
fn listed_programs_agree_with_the_real_awk() {
    let Some((native, declined)) = compared("mawk", FOR_ALL) else {
        return pelton_testkit::skips::skip("mawk");
    };
    for program in declined.iter().filter(|program| !program.declined) {
        crate::say(&format!("declined: {}", program.shown()));
    }
    assert!(native > 5 * declined.len(), "{native} native, {} declined", declined.len());
}

#[test]
fn listed_programs_agree_with_the_one_true_awk() {
    if compared("original-awk", FOR_ALL).is_none() {
        pelton_testkit::skips::skip("original-awk");
    }
}

#[test]
fn listed_programs_agree_with_gawk() {
    let Some((_, declined)) = compared("gawk", FOR_GAWK) else { return pelton_testkit::skips::skip("gawk") };
    let shown: Vec<String> = declined.iter().filter(|program| !program.declined).map(Listed::shown).collect();
    assert!(shown.is_empty(), "declined: {shown:?}");
}

/// Around the sizes at which the one true awk's tables grow.
#[test]
fn many_keys_come_in_the_order_of_the_one_true_awk() {
    let Some(mut engine) = engine("original-awk") else { return pelton_testkit::skips::skip("original-awk") };
    let programs: [&[u8]; 4] = [
        b"{ c[$1]++ } END { for (k in c) print k, c[k] }",
        b"{ c[NR % 301] = $1 } END { for (k in c) print k, c[k] }",
        b"{ c[$1, NF]; delete d } END { for (k in c) n++; print n; for (k in c) if (k < 50) print k }",
        b"NR == 120 { delete c } { c[$1 / 4] += NR } END { for (k in c) s = s \",\" k; print s }",
    ];
    let mut found = Vec::new();
    for keys in [1, 50, 99, 100, 101, 102, 400, 401, 402, 800, 1601, 1700] {
        let numbers = (0..keys).map(|key| format!("{}\n", key * 7919 % 10_007));
        let words = (0..keys).map(|key| format!("k{key} \u{e9}{}\n", key % 13));
        for input in [numbers.collect::<String>(), words.collect()] {
            for program in programs {
                let case: Case = case("original-awk", &[program], input.as_bytes());
                found.extend(engine.check(&case).expect("the real tool").map(|difference| difference.show()));
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    if crate::installed::foreign_implementation("original-awk").is_none() {
        assert_eq!(engine.tally.declined, 0);
    }
}
