//! The program that runs a case: the shell or pelton.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Case, Mode};

/// The program that runs the text of a case.
#[derive(Clone, Debug)]
pub enum Subject {
    /// The shell: the oracle or, as the subject, a check that the cases are deterministic.
    Shell,
    /// The pelton at this path.
    Pelton(PathBuf),
}

impl Subject {
    /// Returns the pelton at this path, unless `PELTON_BIN` names another or `PELTON_TEST_SUBJECT=shell`
    /// replaces it by the shell.
    pub fn from_env(pelton: impl Into<PathBuf>) -> Self {
        match std::env::var("PELTON_TEST_SUBJECT").as_deref() {
            Ok("shell") => Subject::Shell,
            Ok(other) if !other.is_empty() => panic!("PELTON_TEST_SUBJECT={other}: only `shell` is known"),
            _ => Subject::Pelton(std::env::var_os("PELTON_BIN").map_or_else(|| pelton.into(), PathBuf::from)),
        }
    }

    /// Returns the command that runs a case; `report` is the output file of `pelton time`.
    pub fn argv(&self, case: &Case, shell: &str, mode: Mode, report: &Path) -> Vec<OsString> {
        case.started(match self {
            Subject::Shell => shell_argv(case, shell),
            Subject::Pelton(bin) => pelton_argv(bin, case, shell, mode, report),
        })
    }
}

fn shell_argv(case: &Case, shell: &str) -> Vec<OsString> {
    let mut argv = vec![OsString::from(shell)];
    match &case.script {
        Some(script) => argv.extend([script].into_iter().chain(&case.args).map(OsString::from)),
        None => argv.extend(["-c", &case.text].map(OsString::from)),
    }
    argv
}

fn pelton_argv(bin: &Path, case: &Case, shell: &str, mode: Mode, report: &Path) -> Vec<OsString> {
    let mut argv = vec![bin.into(), OsString::from(if mode == Mode::Run { "run" } else { "time" })];
    if shell != "bash" {
        argv.extend(["--shell", shell].map(OsString::from));
    }
    if mode == Mode::Time {
        argv.extend(["--format", "json", "--output"].map(OsString::from));
        argv.push(report.into());
    }
    match &case.script {
        Some(script) => argv
            .extend(["-f", script].into_iter().chain(case.args.iter().map(String::as_str)).map(Into::into)),
        None => argv.push(OsString::from(&case.text)),
    }
    argv
}
