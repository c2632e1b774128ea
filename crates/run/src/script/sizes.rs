//! Guesses how much data commands of a script read, before it runs: for commands that would be alone in a call, which are
//! worth one only if their input is large.
//!
//! A wrong guess costs a millisecond, or a gain; either way the same command runs. So assignments are followed in the
//! order written, without regard to branches, and what a command writes is estimated from what it reads.

use crate::plan::Request;
use pelton_commands::cost::Rate;
use pelton_record::Span;
use pelton_syntax::{Command, Nested, Redirect, RedirectKind, Simple, Stage, Word, WordPart};
use std::collections::BTreeMap;

/// The values of a variable that are tried.
const VALUES_MAX: usize = 3;
/// A call takes this much longer to start than most commands, with a margin, in ns.
const CALL_NS: f64 = 1_800_000.0;
/// Reading a byte in large blocks, in ns.
const READ_NS: f64 = 0.3;

/// What is known of variables and files.
pub struct Sizes<'a> {
    text: &'a str,
    variables: BTreeMap<String, Vec<String>>,
    /// Sizes of files that the script writes, by their names as far as these are known.
    written: BTreeMap<String, u64>,
    /// What stages get from the stages before them, by where they start.
    piped: BTreeMap<usize, u64>,
}

impl<'a> Sizes<'a> {
    /// Follows the text from its beginning to its end.
    pub fn new(text: &'a str, found: &[Nested], request: &Request) -> Self {
        let mut sizes =
            Sizes { text, variables: BTreeMap::new(), written: BTreeMap::new(), piped: BTreeMap::new() };
        let mut found: Vec<&Nested> = found.iter().collect();
        // The pipelines within a compound command come before it.
        found.sort_by_key(|one| one.pipeline.span.end);
        for stage in found.iter().flat_map(|one| &one.pipeline.stages) {
            sizes.assign(stage, request);
        }
        let mut outputs: Vec<(Span, u64)> = Vec::new();
        for one in found {
            let output = sizes.pass(&one.pipeline.stages, &outputs);
            outputs.push((one.pipeline.span, output));
        }
        sizes
    }

    /// Whether the command reads so much that it gains more by its kernel than a call costs.
    pub fn is_worth_a_call(&self, stage: &Stage) -> bool {
        let Some(rate) = stage.simple().and_then(|simple| self.rate(simple)) else { return false };
        let native = rate.native.unwrap_or(rate.real / 2.0) + READ_NS;
        let piped = self.piped.get(&stage.span.start).copied().unwrap_or(0);
        (self.input(stage) + piped) as f64 * (rate.real - native) > CALL_NS
    }

    fn rate(&self, simple: &Simple) -> Option<Rate> {
        let name = simple.words.first()?.static_text()?;
        let tool = pelton_commands::lookup(name.as_bytes())?;
        let argument = |word: &Word| word.static_text().unwrap_or_default().into_bytes();
        (tool.cost)(&simple.words[1..].iter().map(argument).collect::<Vec<_>>())
    }

    /// Notes the values that a command assigns.
    fn assign(&mut self, stage: &Stage, request: &Request) {
        let Some(simple) = stage.simple() else { return };
        let declares = matches!(
            simple.words.first().and_then(Word::static_text).as_deref(),
            Some("export" | "local" | "readonly" | "declare")
        );
        let assignments = simple.assignments.iter().filter(|_| simple.words.is_empty()).map(|one| one.span);
        let declared = simple.words.iter().skip(1).filter(|_| declares).map(|word| word.span);
        for span in assignments.chain(declared) {
            let Some((name, value)) = span.of(self.text).split_once('=') else { continue };
            let values = self.variables.entry(name.to_owned()).or_default();
            values.extend(possible_values(value, request));
            values.truncate(VALUES_MAX);
        }
    }

    /// Estimates what the stages print, and notes what they write to files.
    fn pass(&mut self, stages: &[Stage], within: &[(Span, u64)]) -> u64 {
        let mut bytes = 0;
        for stage in stages {
            self.piped.insert(stage.span.start, bytes);
            bytes = match &stage.command {
                Command::Simple(simple) => {
                    let rate = self.rate(simple);
                    self.copy(simple);
                    let passes = rate.map_or(0.0, |rate| rate.passes);
                    ((bytes + self.input(stage)) as f64 * passes) as u64
                }
                Command::Compound(_) => {
                    let inside = within
                        .iter()
                        .filter(|(span, _)| span.start >= stage.span.start && span.end <= stage.span.end);
                    inside.map(|(_, output)| *output).max().unwrap_or(0)
                }
                Command::Function { .. } => 0,
            };
            for redirect in &stage.redirects {
                if let RedirectKind::Write(to) | RedirectKind::Append(to) | RedirectKind::Clobber(to) =
                    &redirect.kind
                {
                    self.write(to, bytes);
                }
            }
        }
        bytes
    }

    /// Notes the copy that `cp A B` or `mv A B` makes.
    fn copy(&mut self, simple: &Simple) {
        let [command, from, to] = simple.words.as_slice() else { return };
        if matches!(command.static_text().as_deref(), Some("cp" | "mv")) {
            let bytes = self.size(from);
            self.write(to, bytes);
        }
    }

    fn write(&mut self, to: &Word, bytes: u64) {
        for name in self.names(to) {
            let size = self.written.entry(name).or_default();
            *size = (*size).max(bytes);
        }
    }

    /// Estimates what a command reads of the files that its words and redirections name.
    fn input(&self, stage: &Stage) -> u64 {
        let words = stage.simple().into_iter().flat_map(|simple| simple.words.iter().skip(1));
        let read = |redirect: &'_ Redirect| match &redirect.kind {
            RedirectKind::Read(from) => Some(self.size(from)),
            _ => None,
        };
        words.map(|word| self.size(word)).chain(stage.redirects.iter().filter_map(read)).sum()
    }

    /// Returns the size of the largest file that the word may name; 0 if there is none.
    fn size(&self, word: &Word) -> u64 {
        let on_disk = |name: &str| {
            let metadata = std::fs::metadata(name).ok().filter(std::fs::Metadata::is_file);
            metadata.map_or(0, |metadata| metadata.len())
        };
        let size = |name: String| self.written.get(&name).copied().unwrap_or_else(|| on_disk(&name));
        self.names(word).into_iter().map(size).max().unwrap_or(0)
    }

    /// Returns what the word may be. Unknown variables stay as written.
    fn names(&self, word: &Word) -> Vec<String> {
        let values = |part: &WordPart| match part {
            WordPart::Variable { name, .. } => self.variables.get(name).map_or(0, Vec::len),
            _ => 0,
        };
        let variants = word.parts.iter().map(values).max().unwrap_or(0).max(1);
        (0..variants).map(|at| word.parts.iter().map(|part| self.part(part, at)).collect()).collect()
    }

    fn part(&self, part: &WordPart, at: usize) -> String {
        match part {
            WordPart::Bare(text) | WordPart::Quoted(text) => text.clone(),
            WordPart::Variable { name, .. } => {
                let values = self.variables.get(name).filter(|values| !values.is_empty());
                values.map_or_else(|| format!("${name}"), |values| values[at.min(values.len() - 1)].clone())
            }
            WordPart::Opaque { span, .. } => span.of(self.text).to_owned(),
            WordPart::Tilde | WordPart::AnyText | WordPart::AnyChar => "*".to_owned(),
        }
    }
}

/// Returns the values of an assignment that are known: a literal, an argument of the script, or the default of either.
fn possible_values(written: &str, request: &Request) -> Vec<String> {
    let written = written.trim_matches('"').trim_matches('\'');
    let Some(expansion) = written.strip_prefix('$') else {
        return if written.contains(['$', '`']) { vec![] } else { vec![written.to_owned()] };
    };
    let expansion = expansion.trim_start_matches('{').trim_end_matches('}');
    let (name, default) = expansion
        .split_once('-')
        .map_or((expansion, None), |(name, default)| (name.trim_end_matches(':'), Some(default.to_owned())));
    let number = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let argument = number.and_then(|number| request.args.get(number)).and_then(|argument| argument.to_str());
    argument.map(str::to_owned).or(default).into_iter().collect()
}
