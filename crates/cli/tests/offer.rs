//! `pelton time` on a terminal offers to run the pipeline as `pelton run` would.

use std::fs;

use pelton_testkit::{Launch, Terminal, wait_until};

const QUESTION: &str = "r runs it so";
const PIPELINE: &str = "sort f | uniq -c | wc -l";

/// The shell's last word is `finished` and the status.
const SHELL_LINE: &str = "\"$0\" time \"$1\"; echo finished $?";

/// Starts it in a shell that runs this line.
fn start(dir: &std::path::Path, line: &str) -> Terminal {
    let pelton = env!("CARGO_BIN_EXE_pelton");
    let launch = Launch::new(["bash", "-c", line, pelton, PIPELINE], dir);
    Terminal::spawn(&launch.through("TERM=xterm exec \"$@\"")).expect("a terminal")
}

/// Starts it until it asks, and then tests it; `test` gets the terminal and its settings from before the question. A busy
/// machine may leave the pipeline so little of its time that nothing is promised, and nothing offered: it is tried again then.
fn once_it_asks(line: &str, test: impl FnOnce(Terminal, String)) {
    let dir = tempfile::tempdir().expect("a directory");
    lines(dir.path());
    for _ in 0..6 {
        let terminal = start(dir.path(), line);
        let before = terminal.settings().expect("settings");
        wait_until("it asks or ends", || {
            let said = terminal.running().said();
            said.contains(QUESTION) || said.contains("finished")
        });
        if terminal.running().said().contains(QUESTION) {
            return test(terminal, before);
        }
        terminal.finish().expect("an end");
    }
}

fn lines(dir: &std::path::Path) {
    let text: String =
        (0..1_200_000u32).map(|i| format!("{}\n", i.wrapping_mul(2_654_435_761) % 50_000)).collect();
    fs::write(dir.join("f"), text).expect("written");
}

#[test]
fn a_key_runs_it_natively_and_leaves_the_terminal_as_it_was() {
    once_it_asks(SHELL_LINE, |mut terminal, before| {
        terminal.keys("r").expect("typed");
        terminal.await_words("finished 0").expect("an end");
        assert_eq!(terminal.settings().expect("settings"), before);
        let said = terminal.running().said();
        assert!(said.contains("native"), "{said}");
        assert_eq!(said.matches("50000").count(), 2, "printed by both runs: {said}");
        terminal.finish().expect("an end");
    });
}

/// What is typed instead of an answer is the next command. A kernel that does not let a terminal take it back keeps none of
/// it.
#[test]
fn what_is_typed_instead_is_left_to_the_shell_whole_or_not_at_all() {
    let line = "\"$0\" time \"$1\"; read -t 2 -r line; echo \"finished with <$line>\"";
    once_it_asks(line, |mut terminal, _| {
        terminal.keys("echo on\n").expect("typed");
        terminal.await_words("finished").expect("an end");
        let said = terminal.finish().expect("an end").stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains("with <echo on>") || said.contains("with <>"), "{said}");
    });
}

/// The shell takes the `|` of a line that is not quoted.
#[test]
fn run_says_of_a_line_without_quotes_that_it_got_only_its_beginning() {
    let dir = tempfile::tempdir().expect("a directory");
    let pelton = env!("CARGO_BIN_EXE_pelton");
    let said = |script: &str| {
        let launch = Launch::new(["bash", "-c", script, pelton], dir.path());
        let terminal = Terminal::spawn(&launch.through("TERM=xterm exec \"$@\"")).expect("a terminal");
        terminal.await_words("finished").expect("the output");
        String::from_utf8_lossy(&terminal.finish().expect("an end").stdout).into_owned()
    };
    // The shell may start the reader later than pelton looks for it.
    let notes = [
        "to run the whole line: pelton run 'seq 3 | …'",
        "to run the whole line: pelton run 'seq 3 | wc -l'",
    ];
    let is_noted = |script: &str| {
        let said = said(script);
        notes.iter().any(|note| said.contains(note))
    };
    assert!((0..10).any(|_| is_noted("\"$0\" run seq 3 | wc -l; echo finished")));
    for alone in ["\"$0\" run seq 3", "x=$(\"$0\" run seq 3)", "cat <(\"$0\" run seq 3)"] {
        let said = said(&format!("{alone}; echo finished"));
        assert!(!said.contains("was given to pelton"), "{said}");
    }
}

#[test]
fn what_was_typed_before_is_left_to_the_shell() {
    let dir = tempfile::tempdir().expect("a directory");
    lines(dir.path());
    let mut terminal = start(dir.path(), SHELL_LINE);
    terminal.keys("\n").expect("typed");
    terminal.await_words("finished 0").expect("an end");
    let said = terminal.finish().expect("an end").stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(!said.contains(QUESTION), "{said}");
}
