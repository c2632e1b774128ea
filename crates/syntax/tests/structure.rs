//! Compares the structure with bash: a corpus of shell texts is mutated at random, and bash checks every
//! result.
//!
//! - If the parser reports an error, `bash -n` must reject the text; if it models the text, bash must accept
//!   it.
//! - Modelled simple commands must equal the output of bash's own printer (`declare -f`).
//! - If bash has already run a command before it finds an error, the parser must have reported that.
//!
//! `PELTON_MUTATIONS=30000 PELTON_SEED=7 cargo test -p pelton-syntax --test structure` runs a longer
//! campaign.
#![allow(missing_docs, clippy::print_stdout)]

mod common;

use common::second_reader::agrees;
use pelton_syntax::{
    AndOr, Command as Parsed, Connector, Dialect, Pipeline, Redirect, RedirectKind, Script, Stage, Word,
    parse,
};
use pelton_testkit::Random;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const CORPUS: &[&str] = &[
    "a b c",
    "a | b | c",
    "a | b && c || d; e",
    "a & b & c",
    "! a | b",
    "time a | b",
    "time -p a",
    "a |\ntime b",
    "a &&\n\ntime b",
    "! ! a",
    "a |& b",
    "a\nb\n\nc",
    "a;\nb &\nc",
    "a # c\nb",
    "a &&\n\n# c\nb",
    "a |\nb",
    "a b\\\nc",
    "a 'x y' \"z $w\" \\q",
    "x=1 a",
    "x=1 y=2",
    "x=$y a b=c",
    "x+=1 a",
    "x[1]=2",
    "x=(1 2 3)",
    "a >x",
    "a 2>&1 >x <y",
    "a >>x 2>>y",
    "a &>x",
    "a &>>x",
    "a >|x <>y",
    "a >&2",
    "a 2>&-",
    "a <&3 3<&-",
    ">x",
    "<x a >y b",
    "a <<<b",
    "a <<E\nx\ny\nE",
    "a <<'E' | b\n$x\nE\nc",
    "a <<-E\n\tx\n\tE\n",
    "a <<E <<F\nx\nE\ny\nF",
    "a $(b c) d",
    "a $(b | c; d)",
    "a `b c`",
    "a \"`b \"c\" | d`\" e",
    "a `b \\`c\\` \\$d` \"`b \\\"c\\\" \\\\`\"",
    "x=`if b; then c; fi` y=`case d in e) f;; esac`",
    "a <<E\nb $c ${d:-e} `f | g` $(h)\n\\$i \"j\nE\nk",
    "a \"$(b \"c d\")\"",
    "a ${b} ${c:-d} $e",
    "a ${b%c} ${#d}",
    "a $((1 + 2)) $((x*(y+1)))",
    "a $[1]",
    "a <(b) >(c | d)",
    "a {b,c} {1..3} {}",
    "a *.c b? [cd]*",
    "a ~ ~/x ~u x=~",
    "a $'x\\ty' $\"z\"",
    "(a)",
    "(a; b) | c",
    "( a | b ) >x",
    "{ a; }",
    "{ a; b; } | c",
    "{ a | b; } 2>&1 | c",
    "if a; then b; fi",
    "if a; then b; elif c; then d; else e; fi | f",
    "if ! a | b; then c; fi",
    "while a; do b; done",
    "until a; do b; done <x",
    "for x in a b; do c; done",
    "for x; do a; done",
    "for x in a b\ndo c\ndone",
    "for ((i=0;i<3;i++)); do a; done",
    "for x in a; { b; }",
    "case x in a) b;; c|d) e;; *) f; esac",
    "case x in (a) b ;; esac | c",
    "case $x in\na)\nb\n;;\nesac",
    "case x in a) b;& c) d;;& esac",
    "select x in a b; do c; done",
    "[[ a == b ]]",
    "[[ -f a && ! -d b || ( c < d ) ]] && e",
    "((1+2))",
    "((x++)) | a",
    "f() { a; }",
    "f() ( a )",
    "function f { a; }",
    "function f() { a; }",
    "f() { a; } >x",
    "coproc { a; }",
    "a; b; c & d | e",
    "{ (a) }",
    "if (a) then b; fi",
    "while read x; do echo $x; done | sort",
    "a 'b\nc' d",
    "a \"b\nc\" d",
    "export x=1 y=$z",
    "declare -a x",
    "local x=\"$y\"",
    "readonly x",
    "eval a b",
    "exit 3",
    "break",
    "return 2",
    "a=b#c #d",
    "a } { then",
    "a if then",
    "a !b ! c",
    "a time b",
    "é 日本 😀",
    "a\r\nb\r",
    "a -- -p",
    "time -- a",
    "a 1>2 2>3",
    "a 2 >x",
    "a2>x",
    "a {x}>y",
    "a 10>x",
    "a >&x",
    "a >x >y",
    "[ -f x ] && b",
    "[ a ] || { b; }",
    "a && (b || c) && d",
    "a & ",
    "a;",
    "\na\n",
    "if a; then\n b\nelse\n c\nfi\n",
    "{\na\n}\n",
    "(\na\n)\n",
    "a | (b; c) | { d; e; } | f",
    "! (a)",
    "time { a; }",
    "! { a; } | b",
];

const FRAGMENTS: &[&str] = &[
    " ",
    "\t",
    "\n",
    ";",
    ";;",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    "(",
    ")",
    "{",
    "}",
    " { ",
    "; }",
    "'",
    "\"",
    "\\",
    "\\\n",
    "$",
    "`",
    "#",
    " #",
    "!",
    "! ",
    "=",
    "<",
    ">",
    ">>",
    "<<E\n",
    "\nE\n",
    "<<<",
    "&>",
    ">&",
    "2>",
    "$(",
    "${",
    "$((",
    "))",
    "((",
    "[[",
    " ]]",
    "[",
    "]",
    "if ",
    "; then ",
    "; fi",
    "else ",
    "for x in ",
    "; do ",
    "; done",
    "while ",
    "case x in ",
    "esac",
    " in ",
    "a)",
    "time ",
    "-p ",
    "function f ",
    "f() ",
    "coproc ",
    "a",
    "b ",
    " c",
    "x=",
    "*",
    "?",
    "@(",
    "~",
    "é",
    "<(",
    ">(",
    "\r",
    "1",
    "-",
    ",",
    "..",
    "+=",
    "$'",
    "$\"",
    ";&",
    "\\`",
    "`a",
];

fn mutated(random: &mut Random) -> String {
    let mut text: Vec<char> = random.of(CORPUS).chars().collect();
    if random.below(4) == 0 {
        text.extend(random.of(&["; ", "\n", " | ", " && ", " "]).chars());
        text.extend(random.of(CORPUS).chars());
    }
    for _ in 0..1 + random.below(3) {
        let at = random.below(text.len() + 1);
        let to = (at + 1 + random.below(3)).min(text.len());
        match random.below(4) {
            0 => drop(text.drain(at..to)),
            1 => {
                let copy: Vec<char> = text[at..to].to_vec();
                text.splice(at..at, copy);
            }
            _ => drop(text.splice(at..at, random.of(FRAGMENTS).chars())),
        }
    }
    text.into_iter().collect()
}

fn shell_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Bash => "bash",
        Dialect::Posix => "dash",
        Dialect::Zsh => "zsh",
    }
}

fn shell(dialect: Dialect) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let name = shell_of(dialect);
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|shell| shell.is_file());
    let mut bash = Command::new(found.expect("bash and dash are needed as oracles"));
    bash.env_clear()
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    bash
}

fn shell_accepts(text: &str, dialect: Dialect) -> bool {
    shell(dialect)
        .args(["-n", "-c", "--", text])
        .output()
        .expect("bash is needed as the oracle")
        .status
        .success()
}

/// Whether bash tried to run a command of a text that it rejects. `PATH` leads nowhere, and `.` is empty.
fn shell_ran(text: &str, dialect: Dialect, dir: &Path) -> bool {
    let output = shell(dialect)
        .env("PATH", "/nonexistent")
        .current_dir(dir)
        .args(["-c", "--", text])
        .output()
        .expect("bash runs");
    String::from_utf8_lossy(&output.stderr).contains("not found")
}

/// Whether the text certainly ends: false if it could loop forever where no command is found.
fn ends_by_itself(text: &str) -> bool {
    !["while", "until", "for", "select", "coproc"].iter().any(|word| text.contains(word))
}

/// Joins lines that a backslash continues. A backslash behind a backslash continues nothing.
fn without_continuations(text: &str) -> String {
    let (mut joined, mut rest) = (String::new(), text.chars());
    while let Some(c) = rest.next() {
        match (c, if c == '\\' { rest.next() } else { None }) {
            ('\\', Some('\n')) => {}
            (c, next) => joined.extend([c].into_iter().chain(next)),
        }
    }
    joined
}

/// Renders the tree as bash's printer does, without blanks; `None` if it contains something that is printed
/// differently.
fn printed(text: &str, script: &Script) -> Option<String> {
    // bash prints these differently: decoded, reordered, or with other separators.
    let joined = without_continuations(text);
    let reformed = ["$'", "$\"", "<<", "$(", "<(", ">("].iter().any(|sign| joined.contains(sign));
    let continued_in_quotes = text.contains('\'') && text.contains("\\\n");
    if reformed || continued_in_quotes || script.items.is_empty() {
        return None;
    }
    let mut out = String::new();
    for (i, item) in script.items.iter().enumerate() {
        out += &print_list(text, &item.and_or)?;
        let last = i + 1 == script.items.len();
        out += if item.background {
            "&"
        } else if last {
            ""
        } else {
            ";"
        };
    }
    Some(unblanked(&without_continuations(&out)))
}

fn print_list(text: &str, list: &AndOr) -> Option<String> {
    let mut out = print_pipeline(text, &list.first)?;
    for (connector, pipeline) in &list.rest {
        out += if *connector == Connector::And { "&&" } else { "||" };
        out += &print_pipeline(text, pipeline)?;
    }
    Some(out)
}

fn print_pipeline(text: &str, pipeline: &Pipeline) -> Option<String> {
    if pipeline.timed && (pipeline.negated || text.matches("-p").count() > 1) {
        return None;
    }
    let mut out =
        format!("{}{}", if pipeline.timed { "time" } else { "" }, if pipeline.negated { "!" } else { "" });
    for (i, stage) in pipeline.stages.iter().enumerate() {
        out += if i > 0 { "|" } else { "" };
        out += &print_stage(text, stage)?;
        out += if stage.pipes_stderr { "2>&1" } else { "" };
    }
    Some(out)
}

fn print_stage(text: &str, stage: &Stage) -> Option<String> {
    let mut out = String::new();
    match &stage.command {
        Parsed::Simple(simple) => {
            simple.assignments.iter().for_each(|a| out += a.span.of(text));
            simple.words.iter().for_each(|word| out += word.span.of(text));
        }
        Parsed::Compound(compound) => out += plain_compound(compound.span.of(text))?,
        Parsed::Function { .. } => return None,
    }
    for redirect in &stage.redirects {
        out += &print_redirect(text, redirect)?;
    }
    Some(out)
}

/// Constructs that bash's printer changes inside compound commands.
const REWRITTEN: [&str; 13] =
    ["<", ">", "#", "|&", "[[", "()", "!", "elif", "case", "coproc", "for", "select", "time"];

/// Returns a compound command in which bash's printer changes only `;` and blanks.
fn plain_compound(text: &str) -> Option<&str> {
    let joined = without_continuations(text);
    (!REWRITTEN.iter().any(|sign| joined.contains(sign))).then_some(text)
}

fn print_redirect(text: &str, redirect: &Redirect) -> Option<String> {
    let of = |word: &Word| word.span.of(text).to_owned();
    let fd = |default: u32| match redirect.fd {
        Some(n) if n != default => n.to_string(),
        _ => String::new(),
    };
    Some(match &redirect.kind {
        RedirectKind::Read(w) => format!("{}<{}", fd(0), of(w)),
        RedirectKind::Write(w) => format!("{}>{}", fd(1), of(w)),
        RedirectKind::Clobber(w) => format!("{}>|{}", fd(1), of(w)),
        RedirectKind::Append(w) => format!("{}>>{}", fd(1), of(w)),
        // bash's printer omits a 1 here.
        RedirectKind::ReadWrite(w) if redirect.fd == Some(1) => format!("<>{}", of(w)),
        RedirectKind::ReadWrite(w) => format!("{}<>{}", redirect.fd.unwrap_or(0), of(w)),
        RedirectKind::Duplicate(n, true) => format!("{}<&{n}", redirect.fd.unwrap_or(0)),
        RedirectKind::Duplicate(n, false) => format!("{}>&{n}", redirect.fd.unwrap_or(1)),
        RedirectKind::Close(input) => format!("{}>&-", redirect.fd.unwrap_or(u32::from(!input))),
        _ => return None,
    })
}

fn unblanked(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, ' ' | '\t' | '\n')).collect()
}

/// Returns bash's rendering of each text, without blanks; `None` where bash rejects it.
fn bash_prints(texts: &[&str], dir: &Path) -> Vec<Option<String>> {
    const PRINT: &str = "while IFS= read -r -d '' t; do unset -f f; eval \"f() {\n$t\n}\" && declare -f f; printf '\\0'; done";
    let mut bash = shell(Dialect::Bash)
        .current_dir(dir)
        .args(["-c", PRINT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash runs");
    let mut input = bash.stdin.take().expect("stdin is piped");
    let all: String = texts.iter().flat_map(|text| [text, "\0"]).collect();
    let writer = std::thread::spawn(move || drop(input.write_all(all.as_bytes())));
    let output = bash.wait_with_output().expect("bash runs");
    writer.join().expect("the writer ends");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let body = |text: &str| {
        unblanked(text).strip_prefix("f(){").and_then(|t| t.strip_suffix('}')).map(str::to_owned)
    };
    printed.split('\0').take(texts.len()).map(body).collect()
}

/// Removes what the tree does not keep: the `-p` of `time`, and pairs of `!`.
fn alike(printed: &str) -> String {
    printed.replace("time-p", "time").replace("!!", "")
}

/// A text, and how it is read.
struct Reading {
    text: String,
    /// What bash's printer should make of it, if that is known.
    printed: Option<String>,
    /// Whether it has a compound command, in which the printer sets its own `;`.
    has_compound: bool,
}

impl Reading {
    fn new(text: String, script: &Script) -> Self {
        let lists = script.items.iter().map(|item| &item.and_or);
        let pipelines =
            lists.flat_map(|list| std::iter::once(&list.first).chain(list.rest.iter().map(|one| &one.1)));
        let mut stages = pipelines.flat_map(|pipeline| &pipeline.stages);
        let has_compound = stages.any(|stage| matches!(stage.command, Parsed::Compound(_)));
        Reading { printed: printed(&text, script), text, has_compound }
    }

    /// Whether bash prints the text as it is read, if that is known.
    fn is_printed_as(&self, theirs: &str) -> bool {
        let form = |printed: &str| match self.has_compound {
            true => alike(printed).replace(';', ""),
            false => alike(printed),
        };
        self.printed.as_ref().is_none_or(|ours| form(ours) == form(theirs))
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[derive(Default)]
struct Tally {
    modelled: usize,
    refused: usize,
    left: usize,
    late: usize,
    to_print: Vec<Reading>,
    differences: Vec<String>,
}

fn judge(text: String, dialect: Dialect, dir: &Path, tally: &mut Tally) {
    match parse(&text, dialect) {
        Ok(script) if script.unmodelled().is_some() => tally.left += 1,
        Ok(script) => {
            tally.modelled += 1;
            if !shell_accepts(&text, dialect) {
                tally.differences.push(format!("modelled, but the shell refuses: {text:?}"));
            } else {
                let reading = Reading::new(text, &script);
                tally.to_print.extend(Some(reading).filter(|reading| reading.printed.is_some()));
            }
        }
        Err(error) => {
            tally.refused += 1;
            tally.late += usize::from(error.may_run_first);
            if shell_accepts(&text, dialect) {
                tally.differences.push(format!("refused ({error}), but the shell accepts: {text:?}"));
            } else if !error.may_run_first
                && text.contains('\n')
                && ends_by_itself(&text)
                && shell_ran(&text, dialect, dir)
            {
                tally.differences.push(format!("not said to run first: {text:?}"));
            }
        }
    }
}

/// Number of texts that bash prints at a time.
const PRINTED_AT_ONCE: usize = 2_000;

/// Parses this many mutated texts. Where shuck, an independent parser, differs, bash must accept the text, and print
/// it as pelton reads it.
#[test]
fn bash_settles_what_a_second_reader_reads_otherwise() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut random = Random::new(setting("PELTON_SEED", 1));
    let (mut disputed, mut tally) = (0, Tally::default());
    let wanted = setting("PELTON_MUTATIONS", 20_000);
    for done in 1..=wanted {
        let text = mutated(&mut random);
        if let Ok(script) = parse(&text, Dialect::Bash)
            && script.unmodelled().is_none()
        {
            tally.modelled += 1;
            if !agrees(&text, Dialect::Bash, &script) {
                tally.to_print.push(Reading::new(text, &script));
            }
        }
        if tally.to_print.len() == PRINTED_AT_ONCE || done == wanted {
            compare_prints(dir.path(), &mut tally);
            disputed += tally.to_print.drain(..).len();
        }
    }
    println!("{wanted} texts, {disputed} of them read otherwise by shuck");
    report("disputed", &tally);
}

/// Checks the corpus and this many mutated texts.
fn campaign(dialect: Dialect, name: &str) {
    let dir = std::env::temp_dir().join(format!("pelton-syntax-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    let mut random = Random::new(setting("PELTON_SEED", 1));
    let mut tally = Tally::default();
    CORPUS.iter().for_each(|text| judge((*text).to_owned(), dialect, &dir, &mut tally));
    assert!(dialect == Dialect::Posix || tally.refused == 0, "all of the corpus is bash");
    for _ in 0..setting("PELTON_MUTATIONS", 2_000) {
        judge(mutated(&mut random), dialect, &dir, &mut tally);
    }
    if dialect == Dialect::Bash {
        compare_prints(&dir, &mut tally);
    }
    std::fs::remove_dir_all(&dir).expect("the temporary directory goes");
    report(name, &tally);
}

/// Compares the readings with what bash prints.
fn compare_prints(dir: &Path, tally: &mut Tally) {
    let texts: Vec<&str> = tally.to_print.iter().map(|reading| reading.text.as_str()).collect();
    for (reading, theirs) in tally.to_print.iter().zip(bash_prints(&texts, dir)) {
        let Reading { text, printed, .. } = reading;
        // An earlier text may have changed the state of that bash.
        let theirs = theirs.or_else(|| bash_prints(&[text], dir).pop().flatten());
        if !theirs.as_ref().is_some_and(|theirs| reading.is_printed_as(theirs)) {
            tally.differences.push(format!("read otherwise: {text:?}: ours {printed:?}, bash {theirs:?}"));
        }
    }
}

fn report(name: &str, tally: &Tally) {
    println!(
        "{name}: {} modelled, {} refused ({} late), {} left to the shell, {} to compare with the printer",
        tally.modelled,
        tally.refused,
        tally.late,
        tally.left,
        tally.to_print.len()
    );
    let (n, shown) = (tally.differences.len(), tally.differences.len().min(40));
    assert!(n == 0, "{n} differences:\n{}", tally.differences[..shown].join("\n"));
}

#[test]
fn bash_agrees_on_damaged_texts() {
    campaign(Dialect::Bash, "bash");
}

#[test]
fn dash_agrees_on_damaged_texts() {
    campaign(Dialect::Posix, "dash");
}

/// Returns the nested pipelines, each with the variables of its loops, and `&` if it is in the background.
fn nested(text: &str) -> Vec<String> {
    let script = parse(text, Dialect::Bash).expect("accepted");
    let mut all = script.nested.clone();
    all.sort_by_key(|nested| nested.pipeline.span.start);
    let shown = |nested: &pelton_syntax::Nested| {
        let ampersand = if nested.background { " &" } else { "" };
        format!("{} [{}]{ampersand}", nested.pipeline.span.of(text), nested.loop_variables.join(","))
    };
    all.iter().map(shown).collect()
}

#[test]
fn pipelines_inside_of_things_are_noted() {
    assert_eq!(nested("a | b"), [""; 0]);
    assert_eq!(nested("for f in *; do a \"$f\" | b; done | c"), ["a \"$f\" | b [f]"]);
    assert_eq!(
        nested("for f in 1; do for g in 2; do a | b & done; c; done; d"),
        ["for g in 2; do a | b & done [f]", "a | b [f,g] &", "c [f]"]
    );
    assert_eq!(nested("f() { a | b; }; if c; then ! d | e; fi"), ["a | b []", "c []", "! d | e []"]);
    assert_eq!(nested("x=$(a | b) y \"$(c | d)\""), ["a | b []", "c | d []"]);
    assert_eq!(nested("x=`a | b` y \"`c | \"d\"; e`\""), ["a | b []", "c | \"d\" []", "e []"]);
    assert_eq!(nested("x=`a \\`b\\` | c` y=`a\n| b` z=`a |`"), [""; 0]);
    assert_eq!(nested("for f in *; do x=`a | b`; done"), ["x=`a | b` [f]", "a | b [f]"]);
    assert_eq!(nested("case x in y) a && b | c;; esac"), ["a []", "b | c []"]);
    assert_eq!(nested("while a; do b | c; done"), ["a []", "b | c []"]);
}
