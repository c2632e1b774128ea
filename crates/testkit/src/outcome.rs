//! One run of one case, from an empty folder to all results that can be compared.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use pelton_record::Run;

use crate::normal::without_warnings;
use crate::{Case, Ended, Ending, Entry, Launch, Mode, Result, Stdin, StdinFrom, Subject, World, snapshot};

/// All results of a run of a case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended, its output, and the processes left behind.
    pub ended: Ended,
    /// The files in its directory.
    pub files: BTreeMap<String, Entry>,
    /// An error in its report, if it wrote one.
    pub report_fault: Option<String>,
    /// The statuses of the stages, if the case requests them and the run reports them.
    pub statuses: Option<String>,
}

impl Outcome {
    /// Prepares the case's world, runs the subject, and collects the results.
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
        let mut ended = launch.run()?;
        if mode == Mode::Time {
            ended.stderr = without_warnings(&ended.stderr);
        }
        let files = snapshot(&dir)?;
        let (report_fault, statuses) = match read_report(&report)? {
            None => (None, None),
            Some(Err(fault)) => (Some(fault), None),
            Some(Ok(run)) => {
                (status_fault(&run, ended.ending), Some(reported_statuses(&run)).filter(|_| case.statuses))
            }
        };
        Ok(Outcome { ended, files, report_fault, statuses })
    }

    /// Runs the case with the shell, and returns its `PIPESTATUS`. This run has a separate world: the query
    /// is part of the text, and could affect it.
    pub fn statuses_by_shell(case: &Case, world: &World) -> Result<String> {
        let answer = world.aside("statuses");
        let asking = format!("{}\necho \"${{PIPESTATUS[*]}}\" > '{}'", case.text, answer.display());
        let asking = Case { text: asking, ..case.clone() };
        Outcome::of(&asking, "bash", &Subject::Shell, Mode::Run, world)?;
        Ok(fs::read_to_string(&answer)?.trim_end().to_string())
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

/// Reads the report, if one was written; the inner error says why it is not a complete record.
fn read_report(path: &Path) -> Result<Option<std::result::Result<Run, String>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
        Ok(text) => {
            let run = serde_json::from_slice(&text);
            Ok(Some(run.map_err(|error| format!("the report is not a record: {error}"))))
        }
    }
}

/// Checks that the report and the process have the same status.
fn status_fault(run: &Run, ending: Ending) -> Option<String> {
    let status = match ending {
        Ending::Exit(code) => code,
        Ending::Signal(signal) => 128 + signal,
        Ending::TimedOut => return None,
    };
    (run.exit_status != status)
        .then(|| format!("the report says status {}, the process {status}", run.exit_status))
}

/// Returns the statuses as `echo "${PIPESTATUS[*]}"` would print them after the run.
fn reported_statuses(run: &Run) -> String {
    let stages = run.pipelines.last().map(|pipeline| pipeline.stages.as_slice()).unwrap_or_default();
    stages.iter().map(|stage| stage.end.status().to_string()).collect::<Vec<_>>().join(" ")
}
