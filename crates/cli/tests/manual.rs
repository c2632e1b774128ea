//! Manual pages and completions, as read by groff and by the shells themselves.

use pelton_testkit::{Launch, Terminal};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");

fn pelton(args: &[&str]) -> String {
    let out = Command::new(PELTON).args(args).output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn files(dir: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().into(), fs::read_to_string(&path).unwrap()))
        .collect()
}

#[test]
fn the_reference_is_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    pelton(&["man", "--markdown", "--output", dir.path().to_str().unwrap()]);
    let (mut made, kept) =
        (files(dir.path()), files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")));
    // The book's page on formats includes the registry itself.
    made.remove("formats.md");
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&made), names(&kept), "`cargo xtask reference` writes it anew");
    for (name, text) in &made {
        let other = text.lines().zip(kept[name].lines()).find(|(new, old)| new != old);
        assert!(
            text == &kept[name],
            "docs/reference/{name} is old ({other:?}): `cargo xtask reference` writes it anew"
        );
    }
}

#[test]
fn manual_pages_are_set_without_complaint() {
    let dir = tempfile::tempdir().unwrap();
    pelton(&["man", "--output", dir.path().to_str().unwrap()]);
    for section in ["man1", "man5", "man7"] {
        for (name, text) in files(&dir.path().join(section)) {
            let page = dir.path().join(section).join(&name);
            let out = Command::new("groff")
                .args(["-man", "-ww", "-Kutf8", "-Tutf8", "-P-cbou"])
                .arg(page)
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&out.stderr), "", "{name}");
            let set = String::from_utf8(out.stdout).unwrap();
            assert!(set.contains("NAME\n"), "{name}: {text}");
        }
    }
    let time = pelton(&["man", "time"]);
    assert!(time.contains(".SH \"EXIT STATUS\"") && time.contains("\\-\\-runs N"), "{time}");
}

#[test]
fn a_page_that_is_not_there_is_said() {
    let out = Command::new(PELTON).args(["man", "tyme"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("there is no page on `tyme`"), "{out:?}");
}

/// Completes the last word of a line in bash.
fn bash_offers(line: &[&str]) -> Vec<String> {
    let script = r#"
        eval "$("$PELTON" completions bash)"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _pelton pelton "${@: -1}" "${@: -2:1}" 2>/dev/null
        printf "%s\n" "${COMPREPLY[@]}""#;
    shell_offers("bash", &[&["-c", script, "bash"], line].concat())
}

fn fish_offers(line: &[&str]) -> Vec<String> {
    let script = r#""$PELTON" completions fish | source; complete -C "$argv" | string split -f1 \t"#;
    shell_offers("fish", &["--no-config", "-c", script, &line.join(" ")])
}

fn shell_offers(shell: &str, args: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let out = Command::new(shell)
        .args(args)
        .current_dir(dir.path())
        .envs([("PELTON", PELTON), ("HOME", dir.path().to_str().unwrap()), ("LC_ALL", "C.UTF-8")])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_and_fish_complete_verbs_options_and_values() {
    for offers in [bash_offers, fish_offers] {
        assert_eq!(offers(&["pelton", "ti"]), ["time"]);
        assert_eq!(offers(&["pelton", "time", "--syn"]), Vec::<String>::new());
        assert_eq!(offers(&["pelton", "time", "--sys"]), ["--syscalls"]);
        assert!(
            !offers(&["pelton", "run", "--sys"]).contains(&"--syscalls".to_owned()),
            "it is time's alone"
        );
        assert_eq!(offers(&["pelton", "time", "--format", "mark"]), ["markdown"]);
        assert_eq!(offers(&["pelton", "copy", "--sparse", "al"]), ["always"]);
        assert_eq!(offers(&["pelton", "sta"]), Vec::<String>::new(), "what no help mentions is not offered");
    }
}

#[test]
fn zsh_completes_verbs_options_and_values() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("_pelton"), pelton(&["completions", "zsh"])).unwrap();
    let rc = "fpath=($HOME $fpath); autoload -U compinit; compinit -u -D\n\
              pelton() { print -r -- \"<${(j:|:)@}>\" }\nPS1=ready\n";
    fs::write(dir.path().join(".zshrc"), rc).unwrap();
    let env =
        [("HOME", dir.path().to_str().unwrap()), ("TERM", "dumb"), ("PATH", &std::env::var("PATH").unwrap())];
    let mut launch = Launch::new(["zsh", "-i"], dir.path());
    launch.env = env.map(|(name, value)| (name.into(), value.into())).to_vec();
    let mut terminal = Terminal::spawn(&launch).unwrap();
    terminal.await_words("ready").unwrap();
    terminal.keys("pelton ti\t--sys\t--format mark\t\r").unwrap();
    terminal.await_words("<time|--syscalls|--format|markdown>").unwrap();
    terminal.keys("pelton copy --sparse=al\t x\r").unwrap();
    terminal.await_words("<copy|--sparse=always|x>").unwrap();
    terminal.keys("exit\r").unwrap();
    terminal.finish().unwrap();
}
