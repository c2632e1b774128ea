//! Every shell script on the machine, on Debian about a thousand: each is parsed or declined, and stays a
//! script when rewritten. With `cargo xtask debian-scripts`, scripts that print a help or version text do so
//! under pelton as under their shell.
#![allow(clippy::print_stderr, reason = "counts, for whoever asks for them")]

use pelton_run::script::{self, Caller};
use pelton_run::{Environment, Plan, Request, Shell};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Where scripts are.
const PLACES: [&str; 8] =
    ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/etc", "/usr/lib", "/usr/share", "/var/lib/dpkg/info"];

/// Finds all files with a `#!` line of a supported shell; returns them with the shell's name.
fn scripts() -> Vec<(PathBuf, &'static str)> {
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> = PLACES.iter().map(PathBuf::from).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && let Some(shell) = shell_of(&path)
            {
                // /bin may be /usr/bin.
                found.insert(path.canonicalize().unwrap_or(path), shell);
            }
        }
    }
    found.into_iter().collect()
}

fn shell_of(path: &Path) -> Option<&'static str> {
    let mut start = Vec::new();
    std::fs::File::open(path).ok()?.take(128).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let name = words.next().filter(|name| *name != "env").or_else(|| words.next())?;
    ["sh", "bash", "dash"].into_iter().find(|shell| *shell == name)
}

/// What became of the scripts.
#[derive(Debug, Default)]
struct Counts {
    scripts: usize,
    /// Plain pipelines only, which pelton starts itself.
    plain: usize,
    /// With calls of pelton.
    rewritten: usize,
    pipelines: usize,
    called: usize,
    /// Texts left alone, by reason; below, pipelines.
    texts: BTreeMap<String, usize>,
    left: BTreeMap<String, usize>,
}

impl Counts {
    fn say(&self) {
        let Counts { scripts, plain, rewritten, pipelines, called, .. } = self;
        eprintln!("{scripts} scripts: {plain} of plain pipelines, {rewritten} with calls");
        eprintln!("{pipelines} pipelines in scripts that may be rewritten, {called} of them with calls");
        for (what, reasons) in
            [("scripts left alone", &self.texts), ("pipelines not called whole", &self.left)]
        {
            eprintln!("{what}: {}", reasons.values().sum::<usize>());
            let mut reasons: Vec<_> = reasons.iter().collect();
            reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            reasons.iter().for_each(|(reason, count)| eprintln!("{count:6}  because of {reason}"));
        }
    }
}

/// Removes the names from a reason.
fn kind_of(reason: &str) -> String {
    let quoted = |(at, piece): (usize, &str)| if at % 2 == 1 { "`…`".to_owned() } else { piece.to_owned() };
    reason.split('`').enumerate().map(quoted).collect()
}

fn request(path: &Path, shell: &str, environment: &Environment) -> Option<Request> {
    let text = std::fs::read(path).ok()?;
    let shell = Shell::find(OsStr::new(shell), environment).ok()?;
    let text = std::os::unix::ffi::OsStringExt::from_vec(text);
    Some(Request {
        text,
        name: path.into(),
        args: vec![],
        script: Some(path.into()),
        shell_flags: vec![],
        shell,
        owns_input: false,
        is_expanded: false,
    })
}

/// Whether the shell can parse the text.
fn is_script(shell: &str, text: &str) -> Result<(), String> {
    let mut command = Command::new(shell);
    command.arg("-n").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the shell starts");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("the shell reads");
    let out = child.wait_with_output().expect("it ends");
    match out.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&out.stderr).into_owned()),
    }
}

#[test]
fn every_script_is_understood_or_declined() {
    let environment = Environment::inherit();
    let caller = Caller {
        program: "/usr/bin/pelton".into(),
        options: vec![],
        separator: ":::0123456789abcdef".into(),
    };
    let (mut counts, mut faults) = (Counts::default(), Vec::new());
    for (path, shell) in scripts() {
        let Some(request) = request(&path, shell, &environment) else { continue };
        counts.scripts += 1;
        // What its shell refuses, the plan may refuse.
        let Ok(plan) = pelton_run::plan(&request, &environment) else {
            *counts.texts.entry("an error in it".to_owned()).or_default() += 1;
            let text = request.text.to_string_lossy();
            faults.extend(is_script(shell, &text).is_ok().then(|| format!("{}: refused", path.display())));
            continue;
        };
        if !script::may_hold_pipelines(&plan) {
            counts.plain += usize::from(matches!(plan, Plan::Steps(_)));
            continue;
        }
        match script::rewrite(&request, &environment, &caller) {
            Ok(rewritten) => {
                let called: Vec<_> = rewritten.pipelines.iter().filter(|one| one.called > 0).collect();
                counts.pipelines += rewritten.pipelines.len();
                counts.called += called.len();
                for reason in rewritten.pipelines.iter().filter_map(|one| one.reason.as_deref()) {
                    *counts.left.entry(kind_of(reason)).or_default() += 1;
                }
                if called.is_empty() {
                    continue;
                }
                counts.rewritten += 1;
                let refused = is_script(shell, &rewritten.text).err();
                faults.extend(refused.map(|why| format!("{}: {why}", path.display())));
            }
            Err(reason) => *counts.texts.entry(kind_of(&reason)).or_default() += 1,
        }
    }
    counts.say();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Runs it with `argument` in an empty folder without input; if possible, without network and privileges.
fn run(words: &[&OsStr], argument: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).ok();
    let mut command = Command::new("timeout");
    command.args(["-k", "1", "20"]);
    if pelton_sys::processes::own_user() == 0 {
        command.args(["unshare", "--net", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    command.args(words).arg(argument).current_dir(folder.path()).stdin(Stdio::null());
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").env("LC_ALL", "C.UTF-8");
    command.env("HOME", folder.path()).env("TMPDIR", folder.path()).output().expect("it runs")
}

const NOBODY: u32 = 65_534;

#[test]
#[ignore = "cargo xtask debian-scripts: starts programs of the machine"]
fn those_that_print_a_help_do_so() {
    let bin = tempfile::tempdir().expect("a folder");
    // Everybody may run it there.
    let pelton = bin.path().join("pelton");
    std::fs::copy(env!("CARGO_BIN_EXE_pelton"), &pelton).expect("copied");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.path(), open).expect("opened");
    let (mut ran, mut unsteady, mut faults) = (0, 0, Vec::new());
    for (path, shell) in scripts() {
        let is_command =
            ["bin", "sbin"].iter().any(|name| path.parent().is_some_and(|dir| dir.ends_with(name)));
        let text = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        for argument in
            ["--help", "--version"].into_iter().filter(|argument| is_command && text.contains(argument))
        {
            let plain = || run(&[shell.as_ref(), path.as_ref()], argument);
            let (expected, again) = (plain(), plain());
            if expected != again || expected.status.code() == Some(124) {
                unsteady += 1;
                continue;
            }
            ran += 1;
            let actual = run(&[pelton.as_ref(), "run".as_ref(), "-f".as_ref(), path.as_ref()], argument);
            if actual != expected {
                faults.push(format!(
                    "{} {argument}\n  expected {expected:?}\n  got      {actual:?}",
                    path.display()
                ));
            }
        }
    }
    eprintln!(
        "{ran} calls for help or version, {unsteady} more that print something else each time or do not end"
    );
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}
