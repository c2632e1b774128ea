//! `pelton last` in real shells on a pseudo-terminal: what is kept, what is not, and that the shell notices nothing.

use pelton_testkit::skips::has_program;
use pelton_testkit::{Launch, Terminal, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::rc::Rc;
use tempfile::TempDir;

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

use Shell::{Bash, Fish, Zsh};

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Bash => "bash",
            Zsh => "zsh",
            Fish => "fish",
        }
    }

    /// Returns the key that turns it on and off.
    fn key(self) -> &'static str {
        if self == Fish { "\x1bL" } else { "\x18\x0c" }
    }

    /// Returns the command, the start file, and what that begins and ends with.
    fn start(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Bash => ("bash --rcfile .rc", ".rc", "PS1='ready '\n", "eval \"$(pelton init bash)\"\n"),
            Zsh => (
                "zsh -o no_global_rcs",
                ".zshrc",
                "PS1='ready '; HISTSIZE=100; setopt hist_ignore_space\n",
                "eval \"$(pelton init zsh)\"\n",
            ),
            Fish => (
                "fish",
                ".config/fish/config.fish",
                "function fish_prompt; echo -n 'ready '; end; set fish_greeting\n",
                "pelton init fish | source\n",
            ),
        }
    }
}

/// The shells that are installed.
fn shells() -> impl Iterator<Item = Shell> {
    [Bash, Zsh, Fish].into_iter().filter(|shell| has_program(shell.name()))
}

/// A home that several shells may share.
#[derive(Clone)]
struct Home(Rc<TempDir>);

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("bin")).unwrap();
        fs::create_dir(home.path().join("run")).unwrap();
        std::os::unix::fs::symlink(PELTON, home.path().join("bin/pelton")).unwrap();
        Home(Rc::new(home))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn state(&self) -> PathBuf {
        self.path(".local/state/pelton")
    }

    /// Returns the records that are kept, the oldest first.
    fn kept(&self) -> Vec<Value> {
        let Ok(text) = fs::read(self.state().join("last.json")) else { return Vec::new() };
        let kept: Value = serde_json::from_slice(&text).unwrap();
        kept["lines"].as_array().unwrap().iter().map(|line| line["run"].clone()).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.kept().iter().map(|run| run["text"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until so many lines are kept.
    #[track_caller]
    fn await_kept(&self, lines: usize) -> Vec<Value> {
        wait_until(&format!("{lines} lines are kept"), || self.kept().len() >= lines);
        self.kept()
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let run = self.path("run").to_str().unwrap().to_owned();
        let home = self.0.path().to_str().unwrap();
        let pairs = [
            ("HOME", home),
            ("TERM", "xterm"),
            ("PATH", &path),
            ("LC_ALL", "C.UTF-8"),
            ("XDG_RUNTIME_DIR", &run),
        ];
        pairs.map(|(name, value)| (name.into(), value.into())).to_vec()
    }

    fn pelton(&self, args: &[&str]) -> Output {
        let mut command = Command::new(PELTON);
        command.args(args).env_clear().envs(self.environment()).current_dir(self.0.path()).output().unwrap()
    }

    /// Returns the ids of the shells that have a sampler's files.
    fn sampled(&self) -> Vec<u32> {
        let entries = fs::read_dir(self.path("run/pelton")).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.strip_suffix(".begin")?.parse().ok()).collect()
    }
}

/// An interactive shell.
struct Session {
    terminal: Terminal,
    home: Home,
    shell: Shell,
}

impl Session {
    /// Starts a shell; `variables` and `rc` stand in its start file before `pelton init`.
    fn start(shell: Shell, home: &Home, variables: &[(&str, &str)], rc: &str) -> Self {
        let (command, file, before, after) = shell.start();
        let path = home.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("{before}{rc}{after}")).unwrap();
        let size = format!("stty rows 24 cols 150; exec {command}");
        let mut launch = Launch::new(["sh", "-c", &size], home.0.path());
        launch.env = home.environment();
        launch.env.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
        let session = Session { terminal: Terminal::spawn(&launch).unwrap(), home: home.clone(), shell };
        session.shows("ready");
        session
    }

    /// Starts one in which lines from half a second on are kept.
    fn keeping(shell: Shell, home: &Home) -> Self {
        Session::start(shell, home, &[("PELTON_LAST", "0.5")], "")
    }

    fn types(&mut self, keys: &str) {
        self.terminal.keys(keys).unwrap();
    }

    #[track_caller]
    fn shows(&self, words: &str) {
        if let Err(error) = self.terminal.await_words(words) {
            panic!("{:?}: {words:?} never came: {error}", self.shell);
        }
    }

    /// Runs a line, and waits for its end: the next line writes `name`.
    #[track_caller]
    fn runs(&mut self, line: &str, name: &str) {
        self.types(&format!("{line}\recho ended > {name}\r"));
        wait_until(&format!("{:?} has run {line:?}", self.shell), || self.home.text(name) == "ended\n");
    }

    fn ends(mut self) {
        self.types("exit\r");
        self.terminal.finish().unwrap();
    }
}

/// Returns the id of the sampler of a shell, if it runs.
fn sampler_of(shell: u32) -> Option<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let wanted = format!("last\0--stay\0--shell\0bash\0--sampler\0{shell}\0");
    let is_it = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace("zsh", "bash").replace("fish", "bash");
        line.ends_with(&wanted)
    };
    pids.into_iter().find(is_it)
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_slow_pipeline_is_kept_with_its_stages_and_verdict() {
    for shell in shells() {
        let home = Home::new();
        let mut session = Session::start(shell, &home, &[("PELTON_LAST", "0.2")], "");
        let line = "sh -c 'sleep 3; echo a' | cat | wc -l > out";
        session.types(&format!("{line}\r"));
        let run = home.await_kept(1).remove(0);
        assert_eq!(run["text"], line, "{shell:?}");
        assert_eq!(run["shell"], shell.name());
        assert!(run["wall_ns"].as_u64().unwrap() >= 2_900_000_000, "{run:#}");
        assert!(run["sampled_from_ns"].as_u64().unwrap() >= 190_000_000, "{run:#}");
        let stages = run["pipelines"][0]["stages"].as_array().unwrap();
        let texts: Vec<_> = stages.iter().map(|stage| stage["text"].as_str().unwrap()).collect();
        assert_eq!(texts, ["sh -c 'sleep 3; echo a'", "cat", "wc -l > out"], "{shell:?}: {run:#}");
        for stage in stages {
            assert_eq!(stage["end"]["exited"], 0, "{run:#}");
            assert!(stage["cost"]["wall_ns"].as_u64().unwrap() >= 2_000_000_000, "{run:#}");
        }
        let starved = |stage: usize| stages[stage]["waits"]["starved_ns"].as_u64();
        // A machine so busy that there were few samples knows no waits.
        if run["observer"]["rounds"].as_u64().unwrap() >= 34 {
            assert_eq!(run["verdict"]["bottleneck"]["stage"], 0, "{run:#}");
            assert!(starved(1).unwrap() >= 1_000_000_000 && starved(2).unwrap() >= 1_000_000_000, "{run:#}");
        }
        session.runs("pelton last > shown", "done");
        let shown = home.text("shown");
        assert!(shown.contains(line) && shown.contains("ALL") && shown.contains("bottleneck"), "{shown}");
        let page = home.pelton(&["last", "--html", "last.html"]);
        assert!(page.status.success() && home.text("last.html").contains("<html"), "{page:?}");
        session.ends();
    }
}

#[test]
fn what_is_kept_is_for_its_user_alone() {
    let home = Home::new();
    let mut session = Session::keeping(Bash, &home);
    session.types("sleep 0.7\r");
    home.await_kept(1);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home.state().join("last.json")), 0o600);
    assert_eq!(mode(&home.state()), 0o700);
    assert_eq!(mode(&home.path("run/pelton")), 0o700);
    for entry in fs::read_dir(home.path("run/pelton")).unwrap().flatten() {
        assert_eq!(mode(&entry.path()), 0o600);
        assert_eq!(fs::read_to_string(entry.path()).unwrap(), "", "the text does not stay there");
    }
    session.ends();
}

#[test]
fn short_lines_and_lines_with_a_space_are_not_kept() {
    for shell in shells() {
        for control in ["", "ignoreboth", "ignoredups"] {
            if shell != Bash && !control.is_empty() {
                continue;
            }
            let home = Home::new();
            let rc = if shell == Bash { format!("HISTCONTROL={control}\n") } else { String::new() };
            let mut session = Session::start(shell, &home, &[("PELTON_LAST", "0.5")], &rc);
            session.types("true\r");
            session.runs("sleep 0.61", "first");
            session.runs(" sleep 0.62", "second");
            session.runs(" sleep 0.63 | cat", "third");
            session.runs("sleep 0.64", "fourth");
            home.await_kept(2);
            assert_eq!(home.texts(), ["sleep 0.61", "sleep 0.64"], "{shell:?} {control:?}");
            session.ends();
        }
    }
}

#[test]
fn a_line_that_is_run_again_is_kept_again() {
    let home = Home::new();
    let variables = [("PELTON_LAST", "0.3")];
    let mut session = Session::start(Bash, &home, &variables, "HISTCONTROL=ignoredups\n");
    session.types("sleep 0.5\rsleep 0.5\r sleep 0.6\r sleep 0.6\rsleep 0.7\r");
    home.await_kept(3);
    assert_eq!(home.texts(), ["sleep 0.5", "sleep 0.5", "sleep 0.7"]);
    session.ends();
}

/// What a user's own hooks see.
fn own_hooks(shell: Shell) -> &'static str {
    match shell {
        Bash => {
            "PROMPT_COMMAND='echo \"prompt $? ${PIPESTATUS[*]} $_\" >> seen'; PS0='(ps0)'\n\
             trap 'case $BASH_COMMAND in _pelton*) ;; *) echo \"debug $BASH_COMMAND\" >> seen;; esac' DEBUG\n\
             trap 'echo \"error $?\" >> seen' ERR\n"
        }
        Zsh => {
            "precmd() { print -r -- \"precmd $? $pipestatus $_\" >> seen }\n\
             preexec() { print -r -- \"preexec $1 $_\" >> seen }\n"
        }
        Fish => {
            "function own_post --on-event fish_postexec; echo \"post $status $pipestatus $argv\" >> seen; end\n\
             function own_pre --on-event fish_preexec; echo \"pre $status $argv\" >> seen; end\n"
        }
    }
}

#[test]
fn the_shell_and_the_users_hooks_notice_nothing() {
    for shell in shells() {
        let statuses = match shell {
            Bash => "echo \"line $? ${PIPESTATUS[*]}\" >> seen",
            Zsh => "echo \"line $? $pipestatus\" >> seen",
            Fish => "echo \"line $status $pipestatus\" >> seen",
        };
        let seen = |on: &str| {
            let home = Home::new();
            let mut session = Session::start(shell, &home, &[("PELTON_LAST", on)], own_hooks(shell));
            for (i, line) in ["false | sh -c 'exit 3'", statuses, "true x y", "sh -c 'exit 7'", "", statuses]
                .into_iter()
                .enumerate()
            {
                session.types(&format!("{line}\r"));
                if shell != Fish && i == 2 {
                    session.types("echo \"last $_\" >> seen\r");
                }
            }
            if on != "0" {
                session.runs("sleep 0.4", "slow");
                assert_eq!(home.await_kept(1).len(), 1);
            }
            session.types("jobs > jobs; echo ended > end\r");
            wait_until("the lines have run", || home.text("end") == "ended\n");
            assert_eq!(home.text("jobs"), "", "{shell:?}");
            session.ends();
            let text = home.text("seen");
            text.split_once("sleep 0.4").map_or(text.clone(), |(before, _)| before.to_owned())
        };
        let (with, without) = (seen("0.2"), seen("0"));
        assert!(without.contains("line"), "{shell:?}: {without}");
        // Before the first line, `$_` is the last word of the start file.
        let lines = |text: &str| {
            text.lines().filter(|line| !line.contains("pelton")).map(str::to_owned).collect::<Vec<_>>()
        };
        let (with, without) = (lines(&with), lines(&without));
        let common = with.len().min(without.len()) - 1;
        assert!(common > 9, "{shell:?}: {with:?}");
        assert_eq!(with[..common], without[..common], "{shell:?}");
    }
}

#[test]
fn it_is_off_until_a_key_turns_it_on_and_the_line_stays() {
    for shell in shells() {
        let home = Home::new();
        let mut session = Session::start(shell, &home, &[], "");
        let threshold = if shell == Fish { "set -g PELTON_LAST 0.3" } else { "PELTON_LAST=0.3" };
        session.runs("sleep 0.5", "first");
        session.runs(threshold, "set");
        assert_eq!((home.kept().len(), home.sampled()), (0, vec![]), "{shell:?}");
        session.types(session.shell.key());
        session.shows("pelton last: on");
        session.runs("sleep 0.51", "second");
        home.await_kept(1);
        session.types("echo stays >");
        session.types(session.shell.key());
        session.shows("pelton last: off");
        session.types(" line\r");
        wait_until("the line has run", || home.text("line") == "stays\n");
        session.runs("sleep 0.52", "third");
        wait_until("the sampler's files are gone", || home.sampled().is_empty());
        session.runs("pelton_last on", "again");
        session.runs("sleep 0.53", "fourth");
        home.await_kept(2);
        session.runs("pelton_last off", "over");
        session.runs("sleep 0.54", "fifth");
        assert_eq!(home.texts(), ["sleep 0.51", "sleep 0.53"], "{shell:?}");
        session.ends();
    }
}

#[test]
fn the_sampler_ends_with_its_shell() {
    for shell in shells() {
        for by_signal in [false, true] {
            let home = Home::new();
            let mut session = Session::keeping(shell, &home);
            session.runs("true", "begun");
            let [pid] = home.sampled()[..] else { panic!("{shell:?}: {:?}", home.sampled()) };
            let sampler = sampler_of(pid).expect("a sampler");
            if by_signal {
                session.types("sleep 1000\r");
                kill(pid);
                drop(session);
            } else {
                session.ends();
            }
            wait_until("the sampler has ended", || sampler_of(pid) != Some(sampler));
            wait_until("its files are gone", || home.sampled().is_empty());
        }
    }
}

#[test]
fn the_shell_goes_on_without_its_sampler() {
    for shell in shells() {
        let home = Home::new();
        let mut session = Session::keeping(shell, &home);
        session.runs("sleep 0.6", "first");
        home.await_kept(1);
        let [pid] = home.sampled()[..] else { panic!("{shell:?}: {:?}", home.sampled()) };
        kill(sampler_of(pid).expect("a sampler"));
        session.runs("sleep 0.61", "second");
        session.runs("sleep 0.62 | cat", "third");
        // The shell may be noting the end of its line meanwhile.
        wait_until("the sampler's files are gone", || match fs::remove_dir_all(home.path("run/pelton")) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => false,
            removed => removed.map(|()| true).unwrap(),
        });
        session.runs("sleep 0.63", "fourth");
        session.runs("pelton_last off", "fifth");
        session.runs("pelton_last on", "sixth");
        session.runs("sleep 0.64", "seventh");
        home.await_kept(2);
        assert_eq!(home.texts(), ["sleep 0.6", "sleep 0.64"], "{shell:?}");
        session.types("exit\r");
        let screen = session.terminal.finish().unwrap().stdout;
        let screen = String::from_utf8_lossy(&screen);
        // bash opens the file within PS0, where nothing can ask first: it says so once, and looks from then on.
        let complaints = screen.to_lowercase().matches("no such file").count();
        assert!(complaints <= usize::from(shell == Bash), "{screen}");
    }
}

#[test]
fn two_shells_do_not_mix() {
    let home = Home::new();
    let mut first = Session::keeping(Bash, &home);
    let mut second = Session::keeping(Bash, &home);
    first.types("sh -c 'sleep 1.5' | cat > a\r");
    second.types("sleep 1.6 | wc > b\r");
    let kept = home.await_kept(2);
    for run in &kept {
        let stages = run["pipelines"][0]["stages"].as_array().unwrap();
        let names: Vec<_> = stages.iter().map(|stage| stage["name"].as_str().unwrap()).collect();
        let wanted =
            if run["text"].as_str().unwrap().ends_with('a') { ["sh", "cat"] } else { ["sleep", "wc"] };
        assert_eq!((names, run["pipelines"].as_array().unwrap().len()), (wanted.to_vec(), 1), "{run:#}");
    }
    first.runs("pelton last --list > first; pelton last --list --everywhere > all", "ended1");
    second.runs("pelton last --list > second", "ended2");
    assert!(
        home.text("first").contains("cat > a") && !home.text("first").contains("wc > b"),
        "{}",
        home.text("first")
    );
    assert!(home.text("second").contains("wc > b") && !home.text("second").contains("cat > a"));
    assert_eq!(home.text("all").lines().count(), 2);
    first.ends();
    second.ends();
}

#[test]
fn only_the_last_lines_are_kept() {
    let home = Home::new();
    let mut session = Session::start(Bash, &home, &[("PELTON_LAST", "0.05")], "");
    for i in 0..22 {
        session.types(&format!("sleep 0.1{i:02}\r"));
    }
    wait_until("the last one is kept", || home.texts().last().is_some_and(|text| text == "sleep 0.121"));
    assert_eq!(home.texts().len(), 20);
    session.ends();
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let home = Home::new();
    let says = |args: &[&str]| {
        let output = home.pelton(args);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, said) = says(&["last"]);
    assert!(
        status == Some(2) && said.contains("no line is kept yet") && said.contains("Ctrl-X Ctrl-L"),
        "{said}"
    );
    let mut session = Session::keeping(Bash, &home);
    session.types("sleep 0.7\r");
    home.await_kept(1);
    session.ends();
    let (status, said) = says(&["last", "2"]);
    assert!(status == Some(2) && said.contains("there is no line 2: 1 line is kept"), "{said}");
    let file = home.state().join("last.json");
    fs::write(&file, "{").unwrap();
    let (status, said) = says(&["last"]);
    assert!(status == Some(2) && said.contains("cannot read the kept lines in"), "{said}");
    assert!(said.contains("try: pelton last --forget"), "{said}");
    assert_eq!(says(&["last", "--forget"]).0, Some(0));
    assert!(!file.exists());
    assert_eq!(says(&["last", "--forget"]).0, Some(0));
}

#[test]
fn programs_that_ended_early_are_told_as_such() {
    let home = Home::new();
    let mut session = Session::start(Bash, &home, &[("PELTON_LAST", "1")], "");
    let burn = "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'";
    session.types(&format!("{burn}; true | sleep 3 | cat\r"));
    let run = home.await_kept(1).remove(0);
    let notes = run["notes"].to_string();
    assert!(notes.contains("`true`") && notes.contains("not seen"), "{run:#}");
    let stages: Vec<_> =
        run["pipelines"].as_array().unwrap().iter().flat_map(|p| p["stages"].as_array().unwrap()).collect();
    let texts: Vec<_> = stages.iter().map(|stage| stage["text"].as_str().unwrap()).collect();
    assert!(texts.ends_with(&["sleep 3", "cat"]), "{texts:?}");
    let cpu = |cost: &Value| cost["user_ns"].as_u64().unwrap() + cost["sys_ns"].as_u64().unwrap();
    let rows: u64 = stages.iter().map(|stage| cpu(&stage["cost"])).sum();
    assert!(cpu(&run["total"]) > 20_000_000 && cpu(&run["total"]) >= rows, "{run:#}");
    session.ends();
}
