//! Values of variables and words, as far as they are known before the script runs.

use super::Text;
use crate::environ::{self, Environment};
use crate::plan::Request;
use crate::script::stages::inside_substitution;
use pelton_commands::directory_of_path;
use pelton_record::Span;
use pelton_syntax::{
    self as syntax, Connector, Dialect, Reason, Redirect, RedirectKind, Simple, Word, WordPart,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Whether a name is a function.
pub type IsFunction<'f> = dyn Fn(&str) -> bool + 'f;

/// Variables and the working directory.
#[derive(Debug)]
pub struct Values<'a> {
    request: &'a Request,
    environment: &'a Environment,
    dialect: Dialect,
    /// Variables that are assigned to; `None` if the value is not known.
    variables: BTreeMap<String, Option<String>>,
    /// Variables to which a later assignment may fail.
    frozen: BTreeSet<String>,
    /// Whether a command may have removed files.
    removed: bool,
    /// Whether any variable may have been assigned to.
    forgotten: bool,
    directory: Option<PathBuf>,
    /// Whether `pwd` prints that directory.
    is_physical: bool,
}

impl<'a> Values<'a> {
    pub fn new(request: &'a Request, environment: &'a Environment, dialect: Dialect) -> Self {
        let directory = std::env::current_dir().ok();
        // The shell takes the inherited `PWD` if that is the directory.
        let is_physical = environment.get("PWD").is_none_or(|pwd| {
            directory.as_deref().is_some_and(|own| own.as_os_str() == pwd)
                || !Path::new(pwd).is_absolute()
                || !is_same(Path::new(pwd), Path::new("."))
        });
        let variables = BTreeMap::new();
        Values {
            request,
            environment,
            dialect,
            variables,
            frozen: BTreeSet::new(),
            removed: false,
            forgotten: false,
            directory,
            is_physical,
        }
    }

    /// Sets a variable. `None`: its value is not known.
    pub fn set(&mut self, name: &str, value: Option<String>) {
        let is_usual =
            !self.frozen.contains(name) && !environ::is_special(name) && !syntax::is_set_by_shell(name, true);
        self.variables.insert(name.to_owned(), value.filter(|_| is_usual));
    }

    /// Notes that a word declares a variable, perhaps for good.
    pub fn freeze(&mut self, word: &str) {
        self.frozen.insert(word.split('=').next().unwrap_or_default().to_owned());
    }

    /// Forgets the value of a variable.
    pub fn forget(&mut self, name: &str) {
        self.set(name, None);
    }

    /// Forgets the values of all variables.
    pub fn forget_all(&mut self) {
        self.variables.clear();
        self.forgotten = true;
    }

    /// Follows `cd`. `None`: it is not known where to.
    pub fn change_directory(&mut self, to: Option<&str>) {
        self.directory = to.and_then(|to| self.entered(self.directory.as_deref(), to));
        self.is_physical = true;
    }

    /// Notes that a command may have removed files.
    pub fn note_removal(&mut self) {
        self.removed = true;
    }

    /// Whether a command may have removed files.
    pub fn may_be_removed(&self) -> bool {
        self.removed
    }

    /// Returns the working directory.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the path of the file that `.` opens; `None` if there is none.
    ///
    /// # Errors
    /// The reason why it is not known.
    pub fn path(&self, name: &str) -> Result<Option<PathBuf>, &'static str> {
        let path = Path::new(name);
        if path.is_absolute() {
            return Ok(Some(path.to_owned()));
        }
        if !name.contains('/') {
            return self.found_in_path(name);
        }
        let directory = self.directory().ok_or("its name is relative to a directory that is not known")?;
        Ok(Some(directory.join(path)))
    }

    /// Returns the file of a name without `/`: the first in PATH, and in bash otherwise that in the working directory.
    fn found_in_path(&self, name: &str) -> Result<Option<PathBuf>, &'static str> {
        const UNKNOWN: &str = "its name has no `/`, and where it is in PATH is not known";
        let path = self.variable("PATH").filter(|_| !self.removed).ok_or(UNKNOWN)?;
        for folder in path.split(':') {
            let file = Path::new(folder).join(name);
            match std::fs::metadata(&file) {
                _ if !folder.starts_with('/') || folder.contains('%') => return Err(UNKNOWN),
                // By that path bash names it, unless it is that of the directory.
                Ok(data)
                    if data.is_file()
                        && data.mode() & 0o444 == 0o444
                        && self.directory() != Some(Path::new(folder)) =>
                {
                    return Ok(Some(file));
                }
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                _ => return Err(UNKNOWN),
            }
        }
        match self.dialect {
            Dialect::Bash => Ok(Some(self.directory().ok_or(UNKNOWN)?.join(name))),
            Dialect::Posix => Ok(None),
            Dialect::Zsh => Err(UNKNOWN),
        }
    }

    /// Returns what a word expands to; `None` if that is not known. `splits`: whether an expansion outside of quotes is split
    /// and matched with names of files.
    pub fn of(&self, word: &Word, text: &Text, splits: bool, functions: &IsFunction<'_>) -> Option<String> {
        let script = Names { source: text.name.as_deref(), text: &text.text, functions };
        self.word(word, &script, splits)
    }

    fn word(&self, word: &Word, names: &Names<'_>, splits: bool) -> Option<String> {
        let mut value = String::new();
        for part in &word.parts {
            let (piece, may_split) = match part {
                WordPart::Bare(text) | WordPart::Quoted(text) => (text.clone(), false),
                WordPart::Variable { name, quoted } => (self.named(name, names)?, !quoted),
                WordPart::Tilde => (self.variable("HOME")?, false),
                WordPart::Opaque { reason: Reason::SpecialParameter | Reason::ParameterOperator, span } => {
                    (self.parameter(span.of(names.text), names)?, !is_quoted(word, *span, names.text))
                }
                WordPart::Opaque { reason: Reason::CommandSubstitution, span } => {
                    (self.substituted(span.of(names.text), names)?, !is_quoted(word, *span, names.text))
                }
                _ => return None,
            };
            let separators = self.forgotten || self.variables.contains_key("IFS");
            let is_odd = |c: char| c.is_whitespace() || "*?[\\".contains(c);
            if splits && may_split && (separators || piece.contains(is_odd)) {
                return None;
            }
            value += &piece;
        }
        (!value.contains(['\n', '\0'])).then_some(value)
    }

    /// Returns the value of a variable.
    fn named(&self, name: &str, names: &Names<'_>) -> Option<String> {
        match (name, self.dialect) {
            ("BASH_SOURCE", Dialect::Bash) => names.source.map(str::to_owned),
            _ => self.variable(name),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        match self.variables.get(name) {
            Some(value) => value.clone(),
            None if self.forgotten || environ::is_special(name) => None,
            None if syntax::is_set_by_shell(name, true) => None,
            None => self.environment.get(name).and_then(OsStr::to_str).map(str::to_owned),
        }
    }

    /// Returns what `$0`, `${BASH_SOURCE[0]}`, `${NAME%/*}` or `${NAME:-VALUE}` expand to.
    fn parameter(&self, written: &str, names: &Names<'_>) -> Option<String> {
        let inner = written.strip_prefix('$')?;
        let inner = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(inner);
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
        let (name, operation) = inner.split_at(end);
        let operation = match name {
            "BASH_SOURCE" => operation.strip_prefix("[0]").unwrap_or(operation),
            _ => operation,
        };
        let value = match name {
            // In a file that zsh sources, it is the name of that.
            "0" if self.dialect == Dialect::Zsh => None,
            "0" => self.request.name.to_str().map(str::to_owned),
            _ if name.starts_with(|first: char| first.is_ascii_digit()) => return None,
            _ => self.named(name, names),
        };
        match operation {
            "" => value,
            "%/*" => value
                .map(|value| value.rsplit_once('/').map_or(value.clone(), |(folder, _)| folder.to_owned())),
            _ => {
                let default = operation.strip_prefix(":-")?;
                let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
                let is_unset = !self.variables.contains_key(name)
                    && !self.forgotten
                    && !environ::is_special(name)
                    && self.environment.get(name).is_none_or(OsStr::is_empty);
                match value.filter(|value| !value.is_empty()) {
                    Some(value) => Some(value),
                    None if is_unset && default.chars().all(plain) => Some(default.to_owned()),
                    None => None,
                }
            }
        }
    }

    /// Returns what `$(dirname "$0")`, `$(cd FOLDER && pwd)` and the like print.
    fn substituted(&self, written: &str, names: &Names<'_>) -> Option<String> {
        let inner = inside_substitution(written)?;
        let script = syntax::parse(inner, self.dialect).ok()?;
        let names = Names { text: inner, ..*names };
        let mut directory = self.directory.clone().filter(|_| self.is_physical);
        let pipelines = script.items.iter().flat_map(|item| {
            let joined = |connector: &Connector| *connector == Connector::And;
            let fits = !item.background && item.and_or.rest.iter().all(|(connector, _)| joined(connector));
            item.and_or.pipelines().map(move |one| Some(one).filter(|one| fits && !one.negated && !one.timed))
        });
        let pipelines: Vec<_> = pipelines.collect::<Option<_>>()?;
        let (last, before) = pipelines.split_last()?;
        for one in before {
            let [stage] = one.stages.as_slice() else { return None };
            let (command, arguments) = self.command(stage.simple()?, &names)?;
            if command != "cd" || !stage.redirects.iter().all(is_silent) {
                return None;
            }
            let [to] = arguments.as_slice() else { return None };
            directory = Some(self.entered(directory.as_deref(), to)?);
        }
        let [stage] = last.stages.as_slice() else { return None };
        let (command, arguments) =
            self.command(stage.simple()?, &names).filter(|_| stage.redirects.is_empty())?;
        self.printed(&command, &arguments, directory.as_deref())
    }

    /// Returns a command and its arguments.
    fn command(&self, simple: &Simple, names: &Names<'_>) -> Option<(String, Vec<String>)> {
        let words = simple.words.iter().map(|word| self.word(word, names, true));
        let mut words: Vec<String> = words.collect::<Option<_>>()?;
        if !simple.assignments.is_empty() || words.is_empty() || (names.functions)(&words[0]) {
            return None;
        }
        let command = words.remove(0);
        if words.first().is_some_and(|word| word == "--") {
            words.remove(0);
        }
        Some((command, words))
    }

    fn printed(&self, command: &str, arguments: &[String], directory: Option<&Path>) -> Option<String> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let path = |path: &Path| path.to_str().map(str::to_owned);
        match (command, arguments.as_slice()) {
            ("pwd", [] | ["-P" | "-L"]) => path(directory?),
            ("dirname", [name]) if !name.starts_with('-') => {
                String::from_utf8(directory_of_path(name.as_bytes()).to_vec()).ok()
            }
            ("readlink", ["-f", name]) | ("realpath", [name])
                if !name.starts_with('-') && !name.is_empty() && !self.removed =>
            {
                path(&directory?.join(name).canonicalize().ok()?)
            }
            _ => None,
        }
    }

    /// Returns where `cd` leads, if its path has no symbolic links: these would be named in one way by the shell, and in
    /// another by the system.
    fn entered(&self, from: Option<&Path>, to: &str) -> Option<PathBuf> {
        let by_path = self.variables.contains_key("CDPATH") || self.environment.get("CDPATH").is_some();
        if by_path || self.forgotten || self.removed || to.is_empty() || to.starts_with('-') {
            return None;
        }
        let path = if to.starts_with('/') { PathBuf::from(to) } else { from?.join(to) };
        let mut plain = PathBuf::new();
        for component in path.components() {
            match component {
                Component::ParentDir => drop(plain.pop()),
                Component::CurDir => {}
                other => plain.push(other),
            }
        }
        (plain.join(".").is_dir()
            && path.canonicalize().ok()? == plain
            && plain.canonicalize().ok()? == plain)
            .then_some(plain)
    }
}

/// What names mean in a text.
#[derive(Clone, Copy)]
struct Names<'n> {
    /// What `$BASH_SOURCE` is.
    source: Option<&'n str>,
    text: &'n str,
    functions: &'n IsFunction<'n>,
}

/// Whether a redirection only silences a command.
fn is_silent(redirect: &Redirect) -> bool {
    match &redirect.kind {
        RedirectKind::Write(word) | RedirectKind::WriteBoth(word) => {
            word.static_text().is_some_and(|word| word == "/dev/null")
        }
        RedirectKind::Duplicate(..) => true,
        _ => false,
    }
}

/// Whether two paths lead to the same directory.
fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| std::fs::metadata(path).map(|data| (data.dev(), data.ino())).ok();
    place(one).is_some() && place(one) == place(other)
}

/// Whether a part of a word is within double quotes.
fn is_quoted(word: &Word, part: Span, text: &str) -> bool {
    let within = |at: usize| {
        word.parts.iter().any(|other| match other {
            WordPart::Opaque { span, .. } => span.start <= at && at < span.end,
            _ => false,
        })
    };
    let (mut quote, mut escaped) = (None, false);
    let before = Span::new(word.span.start, part.start).of(text);
    let outside = before.char_indices().filter(|(at, _)| !within(word.span.start + at));
    for (_, character) in outside {
        match (quote, character) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    quote == Some('"')
}
