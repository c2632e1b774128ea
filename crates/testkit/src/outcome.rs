//! One run of one case, from an empty folder to everything that can be compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::{Case, Ended, Ending, Entry, Launch, Mode, Result, Stdin, StdinFrom, Subject, World, snapshot};

/// Everything that a run of a case showed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended, what it said, whom it left behind.
    pub ended: Ended,
    /// What lies in its directory.
    pub files: BTreeMap<String, Entry>,
    /// What is wrong with the report it wrote, if it wrote one.
    pub report_fault: Option<String>,
}

impl Outcome {
    /// Makes the case's world, lets the subject run it, and looks.
    pub fn of(case: &Case, shell: &str, subject: &Subject, mode: Mode, world: &World) -> Result<Self> {
        world.prepare(case)?;
        let (dir, report, input) = (world.dir(), world.aside("report.json"), world.aside("stdin"));
        let _ = fs::remove_file(&report);
        let launch = Launch {
            argv: subject.argv(case, shell, mode, &report),
            env: case.environment(&dir),
            stdin: stdin(case, &input)?,
            timeout: case.timeout(),
            settle: case.settle(),
            dir: dir.clone(),
        };
        let ended = launch.run()?;
        let report_fault = report_fault(&report, ended.ending);
        Ok(Outcome { files: snapshot(&dir)?, ended, report_fault })
    }
}

fn stdin(case: &Case, file: &Path) -> Result<Stdin> {
    let Some(recipe) = &case.stdin else { return Ok(Stdin::Null) };
    if case.stdin_from == StdinFrom::Pipe {
        return Ok(Stdin::Pipe(recipe.make()));
    }
    fs::write(file, recipe.make())?;
    Ok(Stdin::File(file.into()))
}

/// A report, where there is one, is a whole record and tells the same status as the process did.
fn report_fault(path: &Path, ending: Ending) -> Option<String> {
    let text = fs::read(path).ok()?;
    let run: pelton_record::Run = match serde_json::from_slice(&text) {
        Ok(run) => run,
        Err(error) => return Some(format!("the report is not a record: {error}")),
    };
    let status = match ending {
        Ending::Exit(code) => code,
        Ending::Signal(signal) => 128 + signal,
        Ending::TimedOut => return None,
    };
    (run.exit_status != status)
        .then(|| format!("the report says status {}, the process {status}", run.exit_status))
}
