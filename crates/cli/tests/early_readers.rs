//! A writer that does more than print, before readers that leave early: it gets as far as from the shell. The commands
//! between the two keep output back, so most writers get to their end.

use std::process::{Command, Output, Stdio};

/// Commands that write when 4096 bytes are full, or at their end.
const BUFFERED: [&str; 18] = [
    "awk '{ print $1 }'",
    "cut -c1-90",
    "expand",
    "fold -w 99",
    "grep l",
    "grep -n 1",
    "nl",
    "rev",
    "sed s/l/x/",
    "sed -n /1/p",
    "tail -n +1",
    "tr l x",
    "uniq -c",
    "sed 1d | awk 1",
    "cat | tr l x | cat -n",
    "awk 1 | cut -d' ' -f1 | cat",
    "paste - /dev/null",
    "awk 1 | tee copy",
];
/// Such commands that print whole lines.
const WHOLE: [&str; 4] = ["awk 1", "cut -c1-700", "grep l", "sed s/l/x/ | nl"];
/// Commands that write at once.
const AT_ONCE: [&str; 5] = ["cat", "cat -n", "sed -u s/l/x/", "tee copy", "cat -n | cat"];
/// Readers that leave early, native ones and others.
const READERS: [&str; 8] = [
    "head -n 1",
    "head -c 3",
    "sed 1q",
    "grep -m 1 .",
    "grep -q .",
    "awk '{ print; exit }' | cat",
    "head -n 2 | tr a b",
    "sh -c 'read -r line; echo \"$line\"'",
];
/// Prints little, slowly, and says at its end that it got there.
const SHORT: &str = "{ for i in 1 2 3 4 5; do echo \"line 1 $i\"; sleep .07; done && echo all >&2; }";
/// Prints much, for longer than any reader needs to leave.
const LONG: &str =
    "{ for i in $(seq 500); do printf 'line 1 %700d\\n' $i; sleep .02; done && echo all >&2; }";

/// Prints slowly, and notes how far it gets.
const NOTING: &str =
    "{ for i in 1 2 3 4; do echo $i > far; echo \"line 1 $i\"; sleep .15; done; echo all > far; }";
/// Commands that write at once and could be left out, if only the output mattered.
const LEFT_OUT: [&str; 3] = ["cat", "cat - /dev/null", "head -n 4"];

fn output(program: &str, args: &[&str]) -> Output {
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(program);
    command.args(args).current_dir(dir.path()).stdin(Stdio::null()).env("LC_ALL", "C");
    command.output().expect("it runs")
}

/// Runs the texts with pelton and from the shell, several at a time, and lists what differs, or where the writer did not
/// get as far as `all` says.
fn differences(texts: &[String], all: bool) -> Vec<String> {
    const AT_A_TIME: usize = 16;
    let differs = |text: &String| {
        let shell = output("bash", &["-c", text]);
        let pelton = output(env!("CARGO_BIN_EXE_pelton"), &["run", "--", text]);
        let said = String::from_utf8_lossy(&pelton.stderr).into_owned();
        let same =
            (&shell.stdout, shell.status, &shell.stderr) == (&pelton.stdout, pelton.status, &pelton.stderr);
        (!same || said.contains("all") != all).then(|| format!("{text}: {shell:?}, pelton {pelton:?}"))
    };
    let differs = &differs;
    std::thread::scope(|scope| {
        let shares: Vec<_> = (0..AT_A_TIME)
            .map(|share| {
                let mine = texts.iter().skip(share).step_by(AT_A_TIME);
                scope.spawn(move || mine.filter_map(differs).collect::<Vec<_>>())
            })
            .collect();
        shares.into_iter().flat_map(|share| share.join().expect("it ends")).collect()
    })
}

fn texts(writer: &str, filters: &[&str]) -> Vec<String> {
    let with_readers = |filter| READERS.map(|reader| format!("{writer} | {filter} | {reader}"));
    filters.iter().flat_map(with_readers).collect()
}

#[test]
fn a_writer_of_little_gets_to_its_end() {
    assert_eq!(differences(&texts(SHORT, &BUFFERED), true), [""; 0]);
}

#[test]
fn a_writer_of_much_is_ended() {
    assert_eq!(differences(&texts(LONG, &WHOLE), false), [""; 0]);
    assert_eq!(differences(&texts(LONG, &AT_ONCE), false), [""; 0]);
}

/// A command that writes at once takes one more line than its reader.
#[test]
fn a_writer_gets_to_the_same_line() {
    let mut all: Vec<String> =
        [&AT_ONCE[..4], &LEFT_OUT].concat().iter().flat_map(|one| texts(NOTING, &[one])).collect();
    // Where the reader is a process, a pass of several such commands ends with it.
    for filter in ["cat | cat", "cat -n | cat"] {
        all.extend(["head -n 1", "sed 1q"].map(|reader| format!("{NOTING} | {filter} | {reader}")));
    }
    let all: Vec<String> = all.iter().map(|text| format!("{text}; cat far")).collect();
    assert_eq!(differences(&all, false), [""; 0]);
}

/// A writer that prints until it is answered: what the commands would write at once is not kept for the sake of larger pieces.
#[test]
fn what_is_written_at_once_does_not_wait() {
    for filter in ["sed -u s/l/x/", "cat -n", "cat -A | cat"] {
        let text = format!(
            "{{ until [ -e answer ]; do echo line; n=$((n + 1)); sleep .02; done; echo $n > lines; }} | {filter} \
             | {{ read -r line; touch answer; cat > rest; }}; [ $(cat lines) -lt 200 ]"
        );
        let pelton = output(env!("CARGO_BIN_EXE_pelton"), &["run", "--", &text]);
        assert!(pelton.status.success(), "{filter}: {pelton:?}");
    }
}

#[test]
fn in_a_script_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = dir.path().join("script");
    let text =
        format!("f() {{ grep 1 | cut -c1-3 | head -n 1; }}\n{SHORT} | f\n{SHORT} | awk 1 | head -n 1\n");
    std::fs::write(&script, text).expect("written");
    let script = script.to_str().expect("a name in UTF-8");
    let shell = output("bash", &[script]);
    let pelton = output(env!("CARGO_BIN_EXE_pelton"), &["run", &format!("bash {script}")]);
    assert_eq!(String::from_utf8_lossy(&pelton.stderr), "all\nall\n");
    assert_eq!((pelton.stdout, pelton.status), (shell.stdout, shell.status));
}
