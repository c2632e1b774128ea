//! Decides which stages may be part of a call.
//!
//! In a pipeline each stage's words are expanded in a copy of the shell; in a call, in the shell itself.
//! Refuses what could show the difference: an expansion that assigns, fails, counts, or runs a command.

use crate::environ::Environment;
use crate::lookup::Programs;
use crate::script::{ShellEffects, traced};
use pelton_record::Span;
use pelton_syntax::{
    Assigned, Command, Nested, Reason, Redirect, RedirectKind, Simple, Stage, Word, WordPart, is_set_by_shell,
};

/// The context of a stage.
pub struct Judge<'a> {
    pub text: &'a str,
    pub environment: &'a Environment,
    pub programs: &'a Programs<'a>,
    pub manner: &'a ShellEffects,
    /// Names that are functions anywhere in the text.
    pub functions: &'a [String],
    /// Assignments to variables that the text does not unset.
    pub assigned: &'a [Assigned],
}

impl Judge<'_> {
    /// Checks whether the stage may be in a call. The error is the reason, to follow 'because of'. Only the
    /// first and the last stage of a pipeline may redirect: its input, its output.
    pub fn stage(&self, stage: &Stage, first: bool, last: bool, of: &Nested) -> Result<(), String> {
        let simple = match &stage.command {
            Command::Simple(simple) => simple,
            Command::Compound(_) => return Err("a compound command as a stage".into()),
            Command::Function { .. } => return Err("a function's definition as a stage".into()),
        };
        self.command(simple)?;
        if stage.pipes_stderr {
            return Err("`|&`".into());
        }
        for word in &simple.words[1..] {
            self.word(word, of)?;
        }
        for redirect in &stage.redirects {
            self.redirect(redirect, first, last, of)?;
        }
        let reads = |redirect: &&Redirect| matches!(redirect.kind, RedirectKind::Read(_));
        let inputs = stage.redirects.iter().filter(reads).count();
        match (inputs, stage.redirects.len() - inputs) {
            (0 | 1, 0 | 1) => Ok(()),
            _ => Err("several redirections".into()),
        }
    }

    /// Checks whether a command that stands alone may be a call. The shell expands its words and opens its files, so these
    /// need no check, but for descriptors that only some commands would get.
    pub fn single(&self, stage: &Stage, of: &Nested) -> Result<(), String> {
        let simple = stage.simple().ok_or("a compound command")?;
        self.command(simple)?;
        if self.manner.xtrace {
            // What the shell says while it expands words would be lost with the trace of the call.
            simple.words[1..].iter().try_for_each(|word| self.word(word, of))?;
            if stage.redirects.iter().any(traced::redirects_errors) {
                return Err("tracing, and where standard error goes".into());
            }
        }
        let substitutes =
            |part: &WordPart| matches!(part, WordPart::Opaque { reason: Reason::ProcessSubstitution, .. });
        let usual = |redirect: &Redirect| {
            redirect.fd.is_none_or(|fd| fd <= 2)
                && matches!(
                    redirect.kind,
                    RedirectKind::Read(_)
                        | RedirectKind::Write(_)
                        | RedirectKind::Append(_)
                        | RedirectKind::Clobber(_)
                        | RedirectKind::Duplicate(..)
                )
        };
        if stage.words().flat_map(|word| &word.parts).any(substitutes) || !stage.redirects.iter().all(usual) {
            return Err("a redirection".into());
        }
        Ok(())
    }

    /// Accepts the name of a program with a kernel, if the word can mean nothing else.
    fn command(&self, simple: &Simple) -> Result<(), String> {
        if simple.assignments.iter().any(|assignment| assignment.value.static_text().is_none()) {
            return Err("an assignment before a command".into());
        }
        let Some(name) = simple.words.first().filter(|word| word.is_plain_name()).and_then(Word::static_text)
        else {
            return Err("a command whose name is quoted or expands".into());
        };
        if self.functions.contains(&name) {
            return Err(format!("`{name}`, which is a function"));
        }
        if !pelton_commands::lookup(name.as_bytes()).is_some_and(|tool| tool.has_kernel()) {
            return Err(format!("`{name}`: pelton has no native {name}"));
        }
        if crate::is_builtin(&name) {
            return Err(format!("`{name}`, which the shell has built in"));
        }
        match self.programs.find(name.as_bytes()) {
            Some(_) => Ok(()),
            None => Err(format!("`{name}`, which is not installed")),
        }
    }

    /// Checks whether a word is expanded in a call as in a stage.
    pub fn word(&self, word: &Word, of: &Nested) -> Result<(), String> {
        word.parts.iter().try_for_each(|part| match part {
            WordPart::Bare(_) | WordPart::Quoted(_) | WordPart::AnyText | WordPart::AnyChar => Ok(()),
            WordPart::Tilde => Ok(()),
            WordPart::Variable { name, .. } => self.variable(name, of),
            WordPart::Opaque { reason, span } => self.opaque(*reason, span.of(self.text)),
        })
    }

    fn variable(&self, name: &str, of: &Nested) -> Result<(), String> {
        let looped = of.loop_variables.iter().any(|variable| variable == name);
        if !looped && is_set_by_shell(name, self.environment.get(name).is_some()) {
            return Err(format!("`${name}`, which the shell computes"));
        }
        if self.manner.nounset && !looped && !self.is_certainly_set(name, of) {
            return Err(format!("`${name}` under `set -u`: were it unset, only the stage would end"));
        }
        Ok(())
    }

    /// Whether an earlier command assigns to the variable, and none unsets it.
    fn is_certainly_set(&self, name: &str, of: &Nested) -> bool {
        let holds = |scope: Span| scope.start <= of.pipeline.span.start && of.pipeline.span.end <= scope.end;
        self.assigned.iter().any(|one| one.name == name && holds(one.scope))
    }

    /// Accepts an expansion that is not modelled, if the shell expands it the same way everywhere.
    fn opaque(&self, reason: Reason, written: &str) -> Result<(), String> {
        let plain = !["$(", "`", "<(", ">(", "=", "++", "--"].iter().any(|sign| written.contains(sign));
        let fails = written.contains('?') || self.manner.nounset;
        let harmless = match reason {
            Reason::ParameterOperator => {
                plain && !fails && !written.contains("RANDOM") && !written.contains("LINENO")
            }
            Reason::SpecialParameter => {
                matches!(written.trim_matches(['$', '{', '}']), "@" | "*" | "#" | "$" | "?")
            }
            Reason::BracketPattern | Reason::BraceExpansion | Reason::NamedHome => {
                plain && !written.contains('$')
            }
            Reason::AnsiString => true,
            _ => false,
        };
        let positional = reason == Reason::SpecialParameter
            && !self.manner.nounset
            && written.trim_matches(['$', '{', '}']).bytes().all(|byte| byte.is_ascii_digit());
        if harmless || positional { Ok(()) } else { Err(reason.describe().into()) }
    }

    fn redirect(&self, redirect: &Redirect, first: bool, last: bool, of: &Nested) -> Result<(), String> {
        if self.manner.noclobber && matches!(redirect.kind, RedirectKind::Write(_)) {
            return Err("`>` under `set -C`".into());
        }
        let (target, fd, here) = match &redirect.kind {
            RedirectKind::Read(target) => (target, 0, first),
            RedirectKind::Write(target) | RedirectKind::Append(target) | RedirectKind::Clobber(target) => {
                (target, 1, last)
            }
            _ => return Err("a redirection".into()),
        };
        // A pattern as target would fail the stage alone; of a variable, see `Writer::guarded`.
        let one_word = |part: &WordPart| {
            matches!(part, WordPart::Bare(_) | WordPart::Quoted(_) | WordPart::Variable { .. })
        };
        let simple = here && redirect.fd.is_none_or(|own| own == fd) && target.parts.iter().all(one_word);
        if !simple {
            return Err("a redirection".into());
        }
        let written = target.span.of(self.text);
        if expands_unquoted(written) && (self.manner.odd_separators || written.contains(['"', '\'', '\\'])) {
            return Err("a redirection".into());
        }
        self.word(target, of)
    }
}

/// Whether a word, as written, has an expansion outside quotes. As an argument it may then become several words.
pub fn expands_unquoted(written: &str) -> bool {
    let (mut quote, mut characters) = (None, written.chars());
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, '$') => return true,
            (None, '"' | '\'') => quote = Some(character),
            (Some(begun), character) if begun == character => quote = None,
            (None | Some('"'), '\\') => drop(characters.next()),
            _ => {}
        }
    }
    false
}
