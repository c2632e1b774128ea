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

use super::{pipelines, quoted, zsh};
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

    /// Returns all texts as one, with `:` in place of each `.`, and without the comments of sourced files.
    pub fn joined<'s>(&'s self, text: &'s str) -> Cow<'s, str> {
        let Some(masked) = &self.text else { return Cow::Borrowed(text) };
        let files = self.files.iter().flat_map(|file| file.text.lines()).filter(|line| !is_comment(line));
        Cow::Owned(files.fold(masked.clone(), |all, line| all + "\n" + line))
    }
}

/// A file that is sourced.
#[derive(Debug)]
pub struct Library {
    /// The name that `.` gets.
    pub name: String,
    /// The line of the script from which it is sourced, from 1; `None` if the shell reads it before the script.
    pub line: Option<usize>,
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
    let Some(dialect) = request.shell.dialect else { return Ok(Sourced::default()) };
    let first = match dialect {
        Dialect::Zsh => zsh::startup_files(&request.shell_flags, environment)?,
        Dialect::Bash | Dialect::Posix => vec![],
    };
    let has_sources =
        || found.iter().flat_map(|one| &one.pipeline.stages).any(|stage| sources(stage, dialect).is_some());
    if first.is_empty() && !has_sources() {
        return Ok(Sourced::default());
    }
    let path = request.script.as_deref();
    let name = path.and_then(Path::to_str).map(str::to_owned);
    let path = path.and_then(|path| path.canonicalize().ok()).unwrap_or_default();
    let first: String = first.iter().map(|file| format!(". {}; ", quoted(file))).collect();
    let main = match first.len() {
        0 => Text::new(name, path, text.to_owned(), script.clone(), dialect),
        _ => {
            let text = first.clone() + text;
            let script = parse("the script", &text, dialect)?;
            Text::new(name, path, text, script, dialect)
        }
    };
    Follower::new(request, environment, dialect).follow(main, first.len())
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

/// Returns the place of the command's name if it is `.` or, in bash and zsh, `source`.
fn sources(stage: &Stage, dialect: Dialect) -> Option<Span> {
    let word = stage.simple()?.words.first()?;
    let name = word.static_text()?;
    (name == "." || name == "source" && dialect != Dialect::Posix).then_some(word.span)
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

/// Whether a line holds nothing but a comment, even if a string begins before it.
pub fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#') && !line.contains(['"', '\'', '`'])
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
