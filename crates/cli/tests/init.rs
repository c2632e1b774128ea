//! `pelton init` in real shells on a pseudo-terminal: completions, the keys, and the keys without pelton.

use pelton_testkit::{Ended, Launch, Terminal, wait_until};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");

/// An interactive shell in a temporary home, with pelton in `bin`.
struct Session {
    terminal: Terminal,
    home: TempDir,
    keys: Keys,
}

#[derive(Clone, Copy)]
struct Keys {
    run: &'static str,
    time: &'static str,
}

const EMACS: Keys = Keys { run: "\x18\x10", time: "\x18\x14" };
const FISH: Keys = Keys { run: "\x1bP", time: "\x1bT" };

impl Session {
    fn start(shell: &[&str], keys: Keys, file: &str, rc: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let bin = home.path().join("bin");
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(PELTON, bin.join("pelton")).unwrap();
        let rc_path = home.path().join(file);
        fs::create_dir_all(rc_path.parent().unwrap()).unwrap();
        fs::write(&rc_path, rc).unwrap();
        fs::write(home.path().join("f"), "b\na\nb\n").unwrap();
        let size = format!("stty rows 24 cols 200; exec {}", shell.join(" "));
        let mut launch = Launch::new(["sh", "-c", &size], home.path());
        launch.env = environment(home.path(), &bin);
        let terminal = Terminal::spawn(&launch).unwrap();
        let mut session = Session { terminal, home, keys };
        session.shows("ready");
        session
    }

    fn bash() -> Self {
        let rc =
            "PS1='ready '; alias ls='ls --color=never'; mine() { echo own; }; eval \"$(pelton init bash)\"\n";
        Self::start(&["bash", "--rcfile", ".rc"], EMACS, ".rc", rc)
    }

    fn zsh() -> Self {
        let rc = "PS1='ready '; alias ls='ls --color=never'; mine() { echo own }\n\
                  autoload -U compinit; compinit -u -D; eval \"$(pelton init zsh)\"\n";
        Self::start(&["zsh", "-o", "no_global_rcs"], EMACS, ".zshrc", rc)
    }

    fn fish() -> Self {
        let rc = "function fish_prompt; echo -n 'ready '; end; function mine; echo own; end; set fish_greeting\n\
                  pelton init fish | source\n";
        Self::start(&["fish"], FISH, ".config/fish/config.fish", rc)
    }

    fn types(&mut self, keys: &str) {
        self.terminal.keys(keys).unwrap();
    }

    fn shows(&mut self, words: &str) {
        if let Err(error) = self.terminal.await_words(words) {
            panic!("{words:?} never came: {error}");
        }
    }

    /// Waits until a file has this content.
    fn writes(&self, file: &str, text: &str) {
        let path = self.home.path().join(file);
        let says = || fs::read_to_string(&path).is_ok_and(|found| found == text);
        wait_until(&format!("{file} holds {text:?}"), says);
    }

    fn ends(mut self) -> Ended {
        self.types("exit\r");
        self.terminal.finish().unwrap()
    }
}

fn environment(home: &Path, bin: &Path) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let pairs = [("HOME", home.to_str().unwrap()), ("TERM", "xterm"), ("PATH", &path), ("LC_ALL", "C.UTF-8")];
    pairs.map(|(name, value)| (name.into(), value.into())).to_vec()
}

fn sessions() -> [Session; 3] {
    [Session::bash(), Session::zsh(), Session::fish()]
}

#[test]
fn a_key_runs_the_line_through_pelton() {
    for mut session in sessions() {
        let Keys { run, time } = session.keys;
        session.types(&format!("sort 'f' | uniq -c > out{run}"));
        session.writes("out", "      1 a\n      2 b\n");
        session.types(&format!("sort f | uniq -c > timed{time}"));
        session.writes("timed", "      1 a\n      2 b\n");
        session.shows("user");
        let ended = session.ends();
        let screen = String::from_utf8_lossy(&ended.stdout);
        assert!(screen.contains("pelton run '"), "the line is shown as it runs: {screen}");
    }
}

#[test]
fn a_line_of_the_shells_own_stays_and_runs_by_enter() {
    for mut session in sessions() {
        let run = session.keys.run;
        session.types(&format!("mine{run}"));
        session.shows("a function of this shell");
        session.types(" > kept\r");
        session.writes("kept", "own\n");
        session.ends();
    }
}

#[test]
fn without_pelton_the_key_is_enter() {
    for mut session in sessions() {
        let run = session.keys.run;
        fs::remove_dir_all(session.home.path().join("bin")).unwrap();
        session.types(&format!("sort f | uniq -c > out{run}"));
        session.writes("out", "      1 a\n      2 b\n");
        session.types(&format!("sort f > again{run}"));
        session.writes("again", "a\nb\nb\n");
        let screen = session.ends().stdout;
        assert!(
            !String::from_utf8_lossy(&screen).contains("not found"),
            "{}",
            String::from_utf8_lossy(&screen)
        );
    }
}

#[test]
fn tab_completes_as_soon_as_it_is_wanted() {
    for mut session in sessions() {
        session.types("pelton ti\t--sys\ttrue 2> tabs\r");
        let tabs = session.home.path().join("tabs");
        let says = || fs::read_to_string(&tabs).is_ok_and(|text| text.contains("system calls"));
        wait_until("completions tell of system calls", says);
        let said = fs::read_to_string(session.home.path().join("tabs")).unwrap_or_default();
        let screen = String::from_utf8_lossy(&session.ends().stdout).into_owned();
        assert!(said.contains("system calls"), "{said}{screen}");
    }
}

#[test]
fn aliases_and_the_status_are_as_without_the_key() {
    let mut session = Session::bash();
    let run = session.keys.run;
    session.types(&format!("ls f | sort > listed{run}"));
    session.writes("listed", "f\n");
    session.types(&format!("grep -q nothing f{run}echo $? > status\r"));
    session.writes("status", "1\n");
    session.types(&format!("false\rmine{run}\x15echo $? > before\r"));
    session.writes("before", "1\n");
    let screen = session.ends().stdout;
    assert!(
        String::from_utf8_lossy(&screen).contains("ls --color=never f"),
        "{}",
        String::from_utf8_lossy(&screen)
    );
}
