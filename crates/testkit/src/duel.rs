//! Runs the same scenario with the shell and with pelton, to test what happens around a text rather than in
//! it.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::normal::without_warnings;
use crate::{Ended, Launch, Result, Subject, World, compare::compare_ended, snapshot};

/// A text and the programs that run it: the shell first, whose result is right, then pelton in its modes.
pub struct Duel {
    about: String,
    contenders: Vec<(&'static str, Vec<OsString>)>,
    world: World,
}

impl Duel {
    /// Compares `bash -c TEXT` with `pelton run TEXT` and `pelton time --output FILE TEXT`.
    pub fn new(subject: &Subject, text: &str) -> Result<Self> {
        let world = World::new()?;
        let ours: [(&str, Vec<OsString>); 2] = match subject {
            Subject::Shell => [("run", shell(&["-c", text])), ("time", shell(&["-c", text]))],
            Subject::Pelton(bin) => {
                let report = world.aside("report.json").into_os_string();
                let time = ["time", "--format", "json", "--output"].map(OsString::from);
                let run = vec![bin.into(), "run".into(), text.into()];
                let time = [bin.into()].into_iter().chain(time).chain([report, text.into()]).collect();
                [("run", run), ("time", time)]
            }
        };
        let contenders = [("shell", shell(&["-c", text]))].into_iter().chain(ours).collect();
        Ok(Duel { about: text.into(), contenders, world })
    }

    /// Compares `bash SHELL_ARGS` with `pelton PELTON_ARGS`.
    pub fn of_arguments(subject: &Subject, shell_args: &[&str], pelton_args: &[&str]) -> Result<Self> {
        let ours = match subject {
            Subject::Shell => shell(shell_args),
            Subject::Pelton(bin) => {
                [bin.into()].into_iter().chain(pelton_args.iter().map(OsString::from)).collect()
            }
        };
        let about = format!("pelton {}", pelton_args.join(" "));
        let contenders = vec![("shell", shell(shell_args)), ("run", ours)];
        Ok(Duel { about, contenders, world: World::new()? })
    }

    /// Runs the scenario once per program, each in an empty directory at the same path. Panics with the
    /// differences in status, streams, processes left behind, or files.
    #[track_caller]
    pub fn assert_agree(&self, story: impl Fn(Launch) -> Result<Ended>) {
        if let Err(error) = self.tell(&story) {
            panic!("\n{}\n{error}", self.about);
        }
    }

    fn tell(&self, story: &impl Fn(Launch) -> Result<Ended>) -> Result<()> {
        let mut right = None;
        for (name, argv) in &self.contenders {
            let dir = self.fresh_dir()?;
            let launch = Launch::new(argv.clone(), &dir);
            let mut ended = story(launch).map_err(|error| format!("{name}: {error}"))?;
            if *name == "time" {
                ended.stderr = without_warnings(&ended.stderr);
            }
            let files = snapshot(&dir)?;
            let (expected, expected_files) = right.get_or_insert_with(|| (ended.clone(), files.clone()));
            let mut differences = compare_ended(expected, &ended);
            if *expected_files != files {
                differences.push(format!("files: expected {expected_files:?}, got {files:?}"));
            }
            if !differences.is_empty() {
                return Err(format!("{name}: {}", differences.join("\n")).into());
            }
        }
        Ok(())
    }

    fn fresh_dir(&self) -> Result<PathBuf> {
        self.world.empty()?;
        Ok(self.world.dir())
    }
}

fn shell(args: &[&str]) -> Vec<OsString> {
    ["bash"].iter().chain(args).map(OsString::from).collect()
}
