//! Scripts whose lines `pelton time` reports: given by `-f`, or run as a command.

use crate::source::{self, CalledScript, Source};
use pelton_record::Run;
use pelton_run::{Environment, Launches, Plan};
use pelton_syntax::Dialect;
use pelton_sys::follow::LinePlace;
use std::ffi::OsString;

/// A script, and how its shell runs it.
pub struct Scripted {
    text: String,
    dialect: Option<Dialect>,
    /// Where the shell keeps its line number; `None` if pelton starts the pipelines, or if the shell hides
    /// it.
    pub place: Option<LinePlace>,
    /// Whether the shell runs all of it.
    by_shell: bool,
}

impl Scripted {
    /// Recognises a script. One with more than plain pipelines is left to the shell as a whole, which knows
    /// its lines.
    pub fn of(source: &mut Source, from_file: bool, environment: &Environment) -> Option<Self> {
        match source {
            Source::Text(request, plan) if from_file => {
                let by_shell = pelton_run::script::may_hold_pipelines(plan);
                if by_shell {
                    *plan = Plan::Whole { reason: "its lines, which the shell knows".into() };
                }
                let place = by_shell.then(|| LinePlace::find(&request.shell.path)).flatten();
                let text = request.text.to_str()?.to_owned();
                Some(Scripted { text, dialect: request.shell.dialect, place, by_shell })
            }
            Source::Text(..) | Source::Words(_) => {
                let words = source.words()?.into_owned();
                let scripted = Self::of_words(&words, environment)?;
                *source = Source::Words(words);
                Some(scripted)
            }
        }
    }

    /// `./script.sh …` or `bash script.sh …`.
    fn of_words(words: &[OsString], environment: &Environment) -> Option<Self> {
        let called = CalledScript::of(words, environment)?;
        let text = std::fs::read_to_string(called.file).ok()?;
        let shell = source::find_shell(&called.shell, environment).ok()?;
        let place = LinePlace::find(&shell.path);
        Some(Scripted { text, dialect: shell.dialect, place, by_shell: true })
    }

    /// Adds the cost of each line to the record, if known.
    pub fn add_to(&self, run: &mut Run, launches: Option<&Launches>) {
        if self.by_shell && launches.is_none() {
            run.notes.push("the lines of the script are not told apart: its shell does not show them, or may not be followed".into());
            return;
        }
        pelton_run::add_lines(run, &self.text, self.dialect, launches);
    }
}
