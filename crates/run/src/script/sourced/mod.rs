//! Files that a script sources: `. ./lib.sh`, `source "$DIR/lib.sh"`.
//!
//! Their text is read once, before the script runs, as that of the script is. What they define and set is then known, and
//! the script's own pipelines can be called. The shell sources the file itself, at the same place and by the same name.
//!
//! That holds only if the shell will read the same bytes. So the commands before a `.` are followed in order
//! (`Follower`): none may be able to change files, or wait; the name of the file must be known (`values`). If not, the
//! whole text is left to the shell, with the reason.

mod effects;
mod follow;
mod values;

use super::pipelines;
use crate::environ::Environment;
use crate::plan::Request;
use follow::Follower;
use pelton_record::Span;
use pelton_syntax::{self as syntax, Assigned, Command, Dialect, Nested, Script, Stage};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What is known of the files that a script sources.
#[derive(Debug, Default)]
pub struct Sourced {
    /// The files, in the order in which they are first sourced.
    pub files: Vec<Library>,
    /// The text of the script, with `:` in place of each `.`; `None` if it has none.
    pub text: Option<String>,
    /// The variables that the files certainly set, and where that holds in the script.
    pub assigned: Vec<Assigned>,
}

impl Sourced {
    /// Returns the texts and their pipelines, those of the script first.
    pub fn texts<'s>(
        &'s self,
        text: &'s str,
        found: &'s [Nested],
    ) -> impl Iterator<Item = (&'s str, &'s [Nested])> {
        let files = self.files.iter().map(|file| (file.text.as_str(), file.found.as_slice()));
        std::iter::once((text, found)).chain(files)
    }

    /// Returns all texts as one, with `:` in place of each `.`.
    pub fn joined<'s>(&'s self, text: &'s str) -> Cow<'s, str> {
        let Some(masked) = &self.text else { return Cow::Borrowed(text) };
        let texts = std::iter::once(masked).chain(self.files.iter().map(|file| &file.text));
        Cow::Owned(texts.fold(String::new(), |all, text| all + text + "\n"))
    }
}

/// A file that is sourced.
#[derive(Debug)]
pub struct Library {
    /// The name that `.` gets.
    pub name: String,
    /// The line of the script from which it is sourced, from 1.
    pub line: usize,
    /// Its text, with `:` in place of each `.`.
    pub text: String,
    /// Its pipelines.
    pub found: Vec<Nested>,
}

/// Reads the files that the text sources.
///
/// # Errors
/// The reason why what one of them holds is not certain, to follow 'because of'.
pub fn read(
    text: &str,
    script: &Script,
    found: &[Nested],
    request: &Request,
    environment: &Environment,
) -> Result<Sourced, String> {
    let Some(dialect) = request.shell.dialect.filter(|dialect| {
        found.iter().flat_map(|one| &one.pipeline.stages).any(|stage| sources(stage, *dialect).is_some())
    }) else {
        return Ok(Sourced::default());
    };
    let path = request.script.as_deref();
    let name = path.and_then(Path::to_str).map(str::to_owned);
    let path = path.and_then(|path| path.canonicalize().ok()).unwrap_or_default();
    let main = Text::new(name, path, text.to_owned(), script.clone(), dialect);
    Follower::new(request, environment, dialect).follow(main)
}

/// A text that is followed.
#[derive(Debug)]
struct Text {
    /// What `$BASH_SOURCE` is in it.
    name: Option<String>,
    path: PathBuf,
    text: String,
    script: Script,
    /// All its pipelines.
    found: Vec<Nested>,
    /// Where its `.` commands are named.
    sources: Vec<Span>,
    /// Its functions.
    functions: Vec<Span>,
}

impl Text {
    fn new(name: Option<String>, path: PathBuf, text: String, script: Script, dialect: Dialect) -> Self {
        let found = pipelines(&script);
        let stages = || found.iter().flat_map(|one| &one.pipeline.stages);
        let sources = stages().filter_map(|stage| sources(stage, dialect)).collect();
        let functions = stages().filter(|stage| matches!(stage.command, Command::Function { .. }));
        let functions = functions.map(|stage| stage.span).collect();
        Text { name, path, text, script, found, sources, functions }
    }

    /// Returns the text with `:` in place of its `.` commands.
    fn masked(&self) -> String {
        let mut text = self.text.clone();
        for span in &self.sources {
            let blanks = " ".repeat(span.end - span.start - 1);
            text.replace_range(span.start..span.end, &format!(":{blanks}"));
        }
        text
    }

    /// Whether a part of the text has a `.`.
    fn sources_within(&self, part: Span) -> bool {
        self.sources.iter().any(|place| holds(part, *place))
    }
}

/// Returns the place of the command's name if it is `.` or, in bash, `source`.
fn sources(stage: &Stage, dialect: Dialect) -> Option<Span> {
    let word = stage.simple()?.words.first()?;
    let name = word.static_text()?;
    (name == "." || name == "source" && dialect == Dialect::Bash).then_some(word.span)
}

/// Parses a file.
///
/// # Errors
/// The reason why it is not understood.
fn parse(name: &str, text: &str, dialect: Dialect) -> Result<Script, String> {
    let script = syntax::parse(text, dialect)
        .map_err(|error| format!("the syntax of `{name}`, which it sources: {}", error.message))?;
    match script.unmodelled() {
        Some(why) => Err(format!("{} in `{name}`, which it sources", why.describe())),
        None => Ok(script),
    }
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
