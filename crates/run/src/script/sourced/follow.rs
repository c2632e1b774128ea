//! Follows a script from its beginning to its last `.`, as the shell runs it.

use super::effects::{disturbance, hides_commands, is_harmless, may_assign};
use super::values::Values;
use super::{Library, Sourced, Text, holds, parse, sources, zsh};
use crate::environ::Environment;
use crate::plan::Request;
use pelton_record::Span;
use pelton_syntax::{Assigned, Command, CompoundKind, Dialect, Item, Pipeline, Simple, Stage, Word};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

/// Files up to this length are read.
const BYTES_MAX: u64 = 256 * 1024;
/// Files in files, up to this depth.
const DEPTH_MAX: usize = 8;

/// How a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    /// In a copy of the shell, perhaps.
    Subshell,
    /// Perhaps, or several times.
    Maybe,
    /// Once.
    Certain,
}
use Certainty::{Certain, Maybe, Subshell};

/// A function: its text and where it stands there.
type Body = (Rc<Text>, Span);

/// The state of the shell while it runs the script, as far as it is known.
pub struct Follower<'a> {
    dialect: Dialect,
    values: Values<'a>,
    functions: BTreeMap<String, Vec<Body>>,
    /// Functions that are being followed.
    called: BTreeSet<String>,
    /// What may have changed a file, or have waited.
    disturbed: Option<String>,
    /// Whether the current text may have returned.
    returned: bool,
    /// Whether a copy of the shell, within the current command, may be in another directory.
    moved: bool,
    /// Texts that are being sourced, the script first.
    open: Vec<Rc<Text>>,
    /// The position of the script from which a file is being sourced.
    position: usize,
    files: Vec<(Rc<Text>, usize)>,
}

impl<'a> Follower<'a> {
    pub fn new(request: &'a Request, environment: &'a Environment, dialect: Dialect) -> Self {
        Follower {
            dialect,
            values: Values::new(request, environment, dialect),
            functions: BTreeMap::new(),
            called: BTreeSet::new(),
            disturbed: None,
            returned: false,
            moved: false,
            open: vec![],
            position: 0,
            files: vec![],
        }
    }

    /// Follows the script, which begins at `from`, behind what the shell does first. Returns the reason if a file that it sources
    /// is not known.
    pub fn follow(mut self, main: Text, from: usize) -> Result<Sourced, String> {
        let main = Rc::new(main);
        let assigned = self.text(&main, Certain)?;
        let library = |(text, position): &(Rc<Text>, usize)| Library {
            name: text.name.clone().unwrap_or_default(),
            line: (*position >= from).then(|| 1 + main.text[..*position].matches('\n').count()),
            text: text.masked(),
            found: text.found.clone(),
        };
        Ok(Sourced { files: self.files.iter().map(library).collect(), text: Some(main.masked()), assigned })
    }

    /// Follows a text. Returns the variables that are certainly set after commands of it, and where that holds in it.
    fn text(&mut self, text: &Rc<Text>, certainty: Certainty) -> Result<Vec<Assigned>, String> {
        // When a function is called, the file may be another.
        if text.functions.iter().any(|body| text.sources_within(*body)) {
            return Err("`.` in a function, whose file is read when it is called".into());
        }
        self.open.push(text.clone());
        let returned = std::mem::replace(&mut self.returned, false);
        let mut assigned = vec![];
        // What follows the last `.` of the script does not matter.
        let last = text.sources.iter().map(|place| place.start).max().unwrap_or(0);
        for item in &text.script.items {
            if self.open.len() == 1 && item.span.start > last {
                break;
            }
            assigned.extend(self.item(item, text, certainty)?);
        }
        if self.returned {
            assigned.clear();
        }
        self.returned = returned;
        self.open.pop();
        Ok(assigned)
    }

    fn item(&mut self, item: &Item, text: &Rc<Text>, certainty: Certainty) -> Result<Vec<Assigned>, String> {
        let mut assigned = vec![];
        for (at, pipeline) in item.and_or.pipelines().enumerate() {
            let own = match () {
                () if item.background || pipeline.stages.len() > 1 => Subshell,
                () if at > 0 || self.returned => Maybe.min(certainty),
                () => certainty,
            };
            if item.background {
                self.disturb("`&`");
            }
            for (at, stage) in pipeline.stages.iter().enumerate() {
                assigned.extend(self.stage(stage, text, own, at > 0)?);
            }
        }
        Ok(assigned)
    }

    /// Follows a stage and all commands inside of it.
    fn stage(
        &mut self,
        stage: &Stage,
        text: &Rc<Text>,
        certainty: Certainty,
        piped: bool,
    ) -> Result<Vec<Assigned>, String> {
        self.moved = false;
        self.redirects(stage);
        if !matches!(stage.command, Command::Function { .. }) {
            self.inside(stage.span, text, certainty)?;
            self.refuse_loops(stage, text)?;
        }
        self.command(stage, text, certainty, piped)
    }

    /// Follows the commands inside of a part of a text, except for those of functions that it defines.
    fn inside(&mut self, span: Span, text: &Rc<Text>, certainty: Certainty) -> Result<(), String> {
        if hides_commands(text, span) {
            self.disturb("a substitution");
        }
        may_assign(span.of(&text.text)).into_iter().for_each(|name| self.values.forget(name));
        let in_function = |inner: Span| {
            let mut functions = text.functions.iter().filter(|body| holds(span, **body) && **body != span);
            functions.any(|body| holds(*body, inner) && *body != inner)
        };
        let of_span = |pipeline: &Pipeline| {
            holds(span, pipeline.span) && pipeline.span != span && !in_function(pipeline.span)
        };
        let nested = || text.script.nested.iter().filter(|one| of_span(&one.pipeline));
        // In a loop, a function may be called before it is defined.
        for stage in nested().flat_map(|one| &one.pipeline.stages) {
            self.define(stage, text);
        }
        for one in nested() {
            one.loop_variables.iter().for_each(|name| self.values.forget(name));
            if one.background {
                self.disturb("`&`");
            }
            let in_copy = one.is_substituted() || one.background || one.pipeline.stages.len() > 1;
            let own = if in_copy { Subshell } else { Maybe.min(certainty) };
            for (at, stage) in one.pipeline.stages.iter().enumerate() {
                self.command(stage, text, own, at > 0)?;
            }
        }
        Ok(())
    }

    /// Refuses a loop that sources a file and may change it for the next time.
    fn refuse_loops(&self, stage: &Stage, text: &Text) -> Result<(), String> {
        let is_loop = |stage: &Stage| match &stage.command {
            Command::Compound(compound) => {
                matches!(compound.kind, CompoundKind::For | CompoundKind::While | CompoundKind::Until)
            }
            _ => false,
        };
        let nested = text.script.nested.iter().filter(|one| holds(stage.span, one.pipeline.span));
        let loops = is_loop(stage) || nested.flat_map(|one| &one.pipeline.stages).any(is_loop);
        match &self.disturbed {
            Some(why) if loops && text.sources_within(stage.span) => {
                Err(format!("`.` in a loop with {why}, which may change its file"))
            }
            _ => Ok(()),
        }
    }

    /// Follows one command, without those inside of it.
    fn command(
        &mut self,
        stage: &Stage,
        text: &Rc<Text>,
        certainty: Certainty,
        piped: bool,
    ) -> Result<Vec<Assigned>, String> {
        self.redirects(stage);
        match &stage.command {
            Command::Function { .. } => self.define(stage, text),
            Command::Compound(compound) => {
                if matches!(compound.kind, CompoundKind::Select | CompoundKind::Coproc) {
                    self.disturb("a command");
                }
            }
            Command::Simple(simple) => return self.simple(stage, simple, text, certainty, piped),
        }
        Ok(vec![])
    }

    /// Notes a definition of a function.
    fn define(&mut self, stage: &Stage, text: &Rc<Text>) {
        if let Command::Function { name } = &stage.command {
            self.functions.entry(name.clone()).or_default().push((text.clone(), stage.span));
        }
    }

    fn redirects(&mut self, stage: &Stage) {
        if !stage.redirects.iter().all(is_harmless) {
            self.disturb("a redirection");
        }
    }

    fn simple(
        &mut self,
        stage: &Stage,
        simple: &Simple,
        text: &Rc<Text>,
        certainty: Certainty,
        piped: bool,
    ) -> Result<Vec<Assigned>, String> {
        for one in &simple.assignments {
            let known = certainty == Certain && !one.span.of(&text.text).contains("+=");
            let value = known.then(|| self.values.of(&one.value, text, false, &self.names())).flatten();
            if certainty != Subshell {
                self.values.set(&one.name, value.filter(|_| simple.words.is_empty()));
            }
        }
        let Some(first) = simple.words.first() else { return Ok(vec![]) };
        let Some(name) = first.static_text() else {
            self.disturb("a command whose name it computes");
            return Ok(vec![]);
        };
        if self.functions.contains_key(&name) {
            if crate::is_builtin(&name) {
                self.disturb("a function with the name of a builtin");
            }
            self.call(&name)?;
        }
        if sources(stage, self.dialect).is_some() {
            return self.source(stage, simple, text, certainty);
        }
        if self.functions.contains_key(&name) {
            return Ok(vec![]);
        }
        if let Some(why) = disturbance(stage, &name, &simple.words, piped) {
            self.disturb(&why);
        }
        self.returned |= name == "return";
        if name == "rm" {
            self.values.note_removal();
        }
        match certainty {
            Subshell if name == "cd" => self.moved = true,
            _ => self.builtin(&name, &simple.words[1..], text, certainty),
        }
        Ok(vec![])
    }

    /// Follows what a builtin does to variables and to the working directory.
    fn builtin(&mut self, name: &str, words: &[Word], text: &Text, certainty: Certainty) {
        match name {
            "cd" => {
                let to = match words {
                    [to] if certainty == Certain => self.values.of(to, text, true, &self.names()),
                    _ => None,
                };
                self.values.change_directory(to.as_deref());
            }
            "export" | "readonly" | "local" | "declare" | "typeset" => {
                let has_it = self.dialect != Dialect::Posix || matches!(name, "export" | "readonly");
                for word in words {
                    self.declared(word, text, if has_it && name != "local" { certainty } else { Maybe });
                    if name != "export" {
                        self.values.freeze(word.span.of(&text.text));
                    }
                }
            }
            "unset" | "getopts" => {
                for word in words {
                    self.declare(word.span.of(&text.text), None);
                }
            }
            "printf"
                if words
                    .first()
                    .is_some_and(|word| word.static_text().is_none_or(|it| it.starts_with("-v"))) =>
            {
                self.values.forget_all();
            }
            _ => {}
        }
    }

    /// Follows `NAME`, `NAME=VALUE` or an option behind `export`, `local` and the like.
    fn declared(&mut self, word: &Word, text: &Text, certainty: Certainty) {
        let written = word.span.of(&text.text);
        if written.starts_with(['-', '+']) {
            return;
        }
        let name = written.split_once('=').map_or(written, |(name, _)| name);
        let known = certainty == Certain && name.len() < written.len();
        let value = known.then(|| self.values.of(word, text, true, &self.names())).flatten();
        match value.as_deref().and_then(|value| value.split_once('=')) {
            Some((_, value)) => self.declare(name, Some(value.to_owned())),
            // `export NAME` leaves the value as it is.
            None if !known && certainty == Certain => {}
            None => self.declare(name, None),
        }
    }

    /// Sets a variable of this name, as written.
    fn declare(&mut self, name: &str, value: Option<String>) {
        match name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            true => self.values.set(name, value),
            false if name.contains(['$', '`']) => self.values.forget_all(),
            false => {}
        }
    }

    /// Follows the body of a function.
    fn call(&mut self, name: &str) -> Result<(), String> {
        if !self.called.insert(name.to_owned()) {
            return Ok(());
        }
        let returned = self.returned;
        for (text, span) in self.functions.get(name).cloned().unwrap_or_default() {
            self.inside(span, &text, Maybe)?;
        }
        self.returned = returned;
        self.called.remove(name);
        Ok(())
    }

    /// Reads the file of a `.`, and follows it.
    fn source(
        &mut self,
        stage: &Stage,
        simple: &Simple,
        text: &Rc<Text>,
        certainty: Certainty,
    ) -> Result<Vec<Assigned>, String> {
        if !simple.assignments.is_empty() || !stage.redirects.iter().all(is_harmless) {
            return Err("an assignment or a redirection beside `.`".into());
        }
        if let Some(why) = &self.disturbed {
            return Err(format!("`.` after {why}, which may change its file"));
        }
        if self.moved {
            return Err("`.` after `cd` in a copy of the shell".into());
        }
        let Some(word) = simple.words.get(1) else { return Ok(vec![]) };
        let Some(name) =
            self.values.of(word, text, true, &self.names()).filter(|name| !name.starts_with('-'))
        else {
            let written = word.span.of(&text.text).to_owned();
            return Err(format!("`.` with a name that is not known before ({written})"));
        };
        if self.open.len() == 1 {
            self.position = stage.span.start;
        }
        let Some(file) = self.read(&name)? else { return Ok(vec![]) };
        // A file that is gone by then sets nothing.
        let certainty = if self.values.may_be_removed() { Maybe.min(certainty) } else { certainty };
        if !self.files.iter().any(|(known, _)| known.path == file.path && known.name == file.name) {
            self.files.push((file.clone(), self.position));
        }
        let inner = self.text(&file, certainty)?;
        if certainty < Certain || may_return(&file) {
            return Ok(vec![]);
        }
        let length = file.text.len();
        let own = file.script.assigned.iter().filter(|one| one.scope.end >= length);
        let names = own.chain(&inner).map(|one| one.name.clone());
        let scope = Span::new(stage.span.end, text.text.len());
        Ok(names.map(|name| Assigned { name, scope }).collect())
    }

    /// Reads a file; `None` if there is none.
    fn read(&self, name: &str) -> Result<Option<Rc<Text>>, String> {
        let unreadable = |why: &str| format!("`{name}`, which it sources: {why}");
        let Some(path) = self.values.path(name).map_err(&unreadable)? else { return Ok(None) };
        let in_path = !name.contains('/') && path.parent() != self.values.directory();
        let data = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            data => data.map_err(|error| unreadable(&error.to_string()))?,
        };
        if !data.is_file() || data.len() > BYTES_MAX {
            return Err(unreadable("it is no file of a usual size"));
        }
        if is_written_by_this_process(&data) {
            return Err(unreadable("the script writes to it"));
        }
        // bash names the file where it found it.
        let named = if in_path { path.to_string_lossy().into_owned() } else { name.to_owned() };
        let path = path.canonicalize().map_err(|error| unreadable(&error.to_string()))?;
        if self.open.len() > DEPTH_MAX || self.open.iter().any(|open| open.path == path) {
            return Err(unreadable("it sources itself"));
        }
        if self.dialect == Dialect::Zsh && zsh::is_compiled(&path) {
            return Err(unreadable("zsh may read its compiled form"));
        }
        let bytes = std::fs::read(&path).map_err(|error| unreadable(&error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8"))?;
        let script = parse(name, &text, self.dialect)?;
        Ok(Some(Rc::new(Text::new(Some(named), path, text, script, self.dialect))))
    }

    fn names(&self) -> impl Fn(&str) -> bool + use<'_, 'a> {
        |name| self.functions.contains_key(name)
    }

    fn disturb(&mut self, why: &str) {
        self.disturbed.get_or_insert_with(|| why.to_owned());
    }
}

/// Whether a text may return before its end.
fn may_return(text: &Text) -> bool {
    let stages = text.found.iter().flat_map(|one| &one.pipeline.stages);
    let outside = stages.filter(|stage| !text.functions.iter().any(|body| holds(*body, stage.span)));
    let mut names = outside.filter_map(|stage| stage.simple()?.words.first().map(Word::static_text));
    names.any(|name| name.is_none_or(|name| name == "return"))
}

/// Whether standard output or standard error goes to this file.
fn is_written_by_this_process(file: &Metadata) -> bool {
    let is_it = |path: &str| {
        std::fs::metadata(Path::new(path)).is_ok_and(|own| (own.dev(), own.ino()) == (file.dev(), file.ino()))
    };
    is_it("/proc/self/fd/1") || is_it("/proc/self/fd/2")
}
