//! Decides which stages may be part of a call.
//!
//! In a pipeline each stage's words are expanded in a copy of the shell; in a call, in the shell itself.
//! Refuses what could show the difference: an expansion that assigns, fails, counts, or runs a command.

use crate::environ::Environment;
use crate::lookup::Programs;
use crate::script::{ShellEffects, traced, zsh};
use pelton_record::Span;
use pelton_syntax::{
    Assigned, Command, Dialect, Nested, Reason, Redirect, RedirectKind, Simple, Stage, Word, WordPart,
    is_set_by_shell,
};
use std::collections::BTreeSet;

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
    pub dialect: Dialect,
    /// The text with those that it sources, and whatever in them may be a name.
    pub all: &'a str,
    /// Whether commands run whose names are computed.
    pub computes: bool,
    pub names: &'a [&'a str],
}

impl Judge<'_> {
    /// Checks whether the stage may be in a call, and returns the parameters that must be set for that. The error is the
    /// reason, to follow 'because of'. Only the first and the last stage of a pipeline may redirect: its input, its output.
    pub fn stage(
        &self,
        stage: &Stage,
        first: bool,
        last: bool,
        of: &Nested,
    ) -> Result<BTreeSet<String>, String> {
        let simple = match &stage.command {
            Command::Simple(simple) => simple,
            Command::Compound(_) => return Err("a compound command as a stage".into()),
            Command::Function { .. } => return Err("a function's definition as a stage".into()),
        };
        self.command(simple)?;
        if stage.pipes_stderr {
            return Err("`|&`".into());
        }
        let mut needed = BTreeSet::new();
        for word in &simple.words[1..] {
            if self.dialect == Dialect::Zsh {
                zsh::check_word(word, self.text)?;
            }
            needed.extend(self.parameters(word, of)?);
        }
        for redirect in &stage.redirects {
            needed.extend(self.redirect(redirect, first, last, of)?);
        }
        let others = || stage.redirects.iter().filter(|redirect| !redirect.drops_messages());
        let inputs = others().filter(|redirect| matches!(redirect.kind, RedirectKind::Read(_))).count();
        let drops = stage.redirects.iter().rposition(Redirect::drops_messages);
        // What is said of a file that cannot be opened is dropped if messages were before. A trace is not.
        let only_first = drops.is_none_or(|at| at == 0 && !self.manner.xtrace);
        match (inputs, others().count() - inputs) {
            _ if !only_first => Err("a redirection".into()),
            (0 | 1, 0 | 1) => Ok(needed),
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
        // Others may be the shell's own.
        let is_usual = |name: &str| name.starts_with("LC_") || ["LANG", "LANGUAGE", "TZ"].contains(&name);
        if self.dialect == Dialect::Zsh && !simple.assignments.iter().all(|one| is_usual(&one.name)) {
            return Err("an assignment before a command".into());
        }
        if !simple.assignments.is_empty() && self.manner.has_readonly {
            return Err("an assignment before a command, in a script with read-only variables".into());
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

    /// Checks whether a word is expanded in a call as in a stage, whatever is set.
    pub fn word(&self, word: &Word, of: &Nested) -> Result<(), String> {
        match self.parameters(word, of)?.first() {
            None => Ok(()),
            Some(name) => Err(unset_ends_stage(name)),
        }
    }

    /// Checks whether a word is expanded in a call as in a stage, and returns the parameters that must be set for that:
    /// under `set -u` any other ends the stage, but would end the script in a call.
    fn parameters(&self, word: &Word, of: &Nested) -> Result<BTreeSet<String>, String> {
        let mut needed = BTreeSet::new();
        for part in &word.parts {
            needed.extend(match part {
                WordPart::Bare(_)
                | WordPart::Quoted(_)
                | WordPart::AnyText
                | WordPart::AnyChar
                | WordPart::Tilde => None,
                WordPart::Variable { name, .. } => self.variable(name, of)?,
                WordPart::Opaque { reason, span } => self.opaque(*reason, span.of(self.text), of)?,
            });
        }
        Ok(needed)
    }

    fn variable(&self, name: &str, of: &Nested) -> Result<Option<String>, String> {
        let looped = of.loop_variables.iter().any(|variable| variable == name);
        if !looped && is_set_by_shell(name, self.environment.get(name).is_some()) {
            return Err(format!("`${name}`, which the shell computes"));
        }
        Ok(if looped { None } else { self.needed(name, of) })
    }

    /// Returns the parameter if it must be set, and may not be.
    fn needed(&self, name: &str, of: &Nested) -> Option<String> {
        (self.manner.nounset && !self.is_certainly_set(name, of)).then(|| name.to_owned())
    }

    /// Whether an earlier command assigns to the variable, and none unsets it.
    fn is_certainly_set(&self, name: &str, of: &Nested) -> bool {
        let holds = |scope: Span| scope.start <= of.pipeline.span.start && of.pipeline.span.end <= scope.end;
        self.assigned.iter().any(|one| one.name == name && holds(one.scope))
    }

    /// Accepts an expansion that is not modelled, if the shell expands it the same way everywhere. Returns the parameter that
    /// must be set for that.
    fn opaque(&self, reason: Reason, written: &str, of: &Nested) -> Result<Option<String>, String> {
        let plain = !["$(", "`", "<(", ">(", "=", "++", "--"].iter().any(|sign| written.contains(sign));
        let computed = written.contains("RANDOM") || written.contains("LINENO");
        let refused = || Err(reason.describe().to_owned());
        match reason {
            Reason::ParameterOperator if plain && !computed && !written.contains('?') => {
                let nests = written[1..].contains('$');
                match Needs::of(written) {
                    _ if nests && self.manner.nounset => refused(),
                    Needs::Nothing => Ok(None),
                    Needs::Parameter(name) => Ok(self.needed(name, of)),
                    Needs::Elements if !self.manner.nounset => Ok(None),
                    Needs::Elements | Needs::Unknown => refused(),
                }
            }
            Reason::SpecialParameter => match (written.trim_matches(['$', '{', '}']), positional(written)) {
                ("@" | "*" | "#" | "$" | "?", _) => Ok(None),
                (_, Some(number)) => Ok(self.manner.nounset.then(|| number.to_owned())),
                _ => refused(),
            },
            Reason::BracketPattern | Reason::BraceExpansion | Reason::NamedHome
                if plain && !written.contains('$') =>
            {
                Ok(None)
            }
            Reason::AnsiString => Ok(None),
            Reason::CommandSubstitution if self.substitutes_alike(written, of) => Ok(None),
            _ => refused(),
        }
    }

    /// Whether a command substitution gives in a call what it gives in a stage: one command that reads no standard input, which
    /// would be a pipe there, and changes nothing. It runs in a shell of its own in both. It changes `$?`, and its messages name its
    /// line.
    fn substitutes_alike(&self, written: &str, of: &Nested) -> bool {
        let whole = of.pipeline.span.of(self.text);
        if whole.contains(['\n', '?']) {
            return false;
        }
        if self.dialect == Dialect::Zsh || self.manner.xtrace {
            return false;
        }
        let Some(inside) = inside_substitution(written) else { return false };
        let Ok(script) = pelton_syntax::parse(inside, self.dialect) else { return false };
        let [item] = script.items.as_slice() else { return false };
        let mut pipelines = item.and_or.pipelines();
        let (Some(only), None) = (pipelines.next(), pipelines.next()) else { return false };
        let [stage] = only.stages.as_slice() else { return false };
        let Some(simple) = stage.simple() else { return false };
        let name = simple.words.first().filter(|word| word.is_plain_name()).and_then(Word::static_text);
        let is_known = |name: String| match name.as_str() {
            _ if self.functions.contains(&name) => false,
            // `date -f -`
            "date" => simple.words[1..].iter().all(|word| {
                word.static_text()
                    .is_some_and(|text| text.starts_with('+') || ["-u", "-I"].contains(&text.as_str()))
            }),
            name => READ_NO_INPUT.contains(&name),
        };
        let is_plain = |part: &WordPart| match part {
            WordPart::Bare(_) | WordPart::Quoted(_) => true,
            WordPart::Variable { name, .. } => !is_set_by_shell(name, self.environment.get(name).is_some()),
            WordPart::Opaque { reason: Reason::SpecialParameter, span } => {
                positional(span.of(inside)).is_some()
            }
            WordPart::Opaque { reason: Reason::AnsiString, .. } => true,
            _ => false,
        };
        !item.background
            && !only.negated
            && !only.timed
            && !stage.pipes_stderr
            && stage.redirects.is_empty()
            && simple.assignments.is_empty()
            && name.is_some_and(is_known)
            && simple.words.iter().flat_map(|word| &word.parts).all(is_plain)
    }

    fn redirect(
        &self,
        redirect: &Redirect,
        first: bool,
        last: bool,
        of: &Nested,
    ) -> Result<BTreeSet<String>, String> {
        if redirect.drops_messages() {
            return Ok(BTreeSet::new());
        }
        let appends = self.dialect == Dialect::Zsh && matches!(redirect.kind, RedirectKind::Append(_));
        if self.manner.noclobber && (appends || matches!(redirect.kind, RedirectKind::Write(_))) {
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
        let one_word = |part: &WordPart| match part {
            WordPart::Bare(_) | WordPart::Quoted(_) | WordPart::Variable { .. } => true,
            WordPart::Opaque { reason: Reason::SpecialParameter, span } => {
                positional(span.of(self.text)).is_some()
            }
            WordPart::Opaque { reason: Reason::ParameterOperator, span } => {
                matches!(Needs::of(span.of(self.text)), Needs::Nothing | Needs::Parameter(_))
            }
            _ => false,
        };
        let simple = here && redirect.fd.is_none_or(|own| own == fd) && target.parts.iter().all(one_word);
        if !simple {
            return Err("a redirection".into());
        }
        if self.dialect == Dialect::Zsh {
            zsh::check_word(target, self.text)?;
            if !zsh::is_one_file(target, self) {
                return Err("a redirection, perhaps of several files".into());
            }
        }
        let written = target.span.of(self.text);
        // A tilde stands for a folder unless it is quoted.
        let unusual = ['"', '\'', '\\', '~'];
        if expands_unquoted(written) && (self.manner.odd_separators || written.contains(unusual)) {
            return Err("a redirection".into());
        }
        self.parameters(target, of)
    }
}

/// Returns the text of a command substitution, unless it is between backquotes with backslashes, which the shell reads first.
pub fn inside_substitution(written: &str) -> Option<&str> {
    match written.strip_prefix("$(") {
        Some(rest) => rest.strip_suffix(')'),
        None => written.strip_prefix('`')?.strip_suffix('`').filter(|inside| !inside.contains('\\')),
    }
}

/// Commands that read no standard input, whatever their arguments, and change nothing.
const READ_NO_INPUT: [&str; 12] = [
    "basename", "dirname", "echo", "getconf", "hostname", "id", "nproc", "printf", "pwd", "realpath",
    "uname", "whoami",
];

/// Describes a parameter that may be unset under `set -u`.
pub fn unset_ends_stage(name: &str) -> String {
    format!("`${name}` under `set -u`: were it unset, only the stage would end")
}

/// Returns the number of a positional parameter.
pub fn positional(written: &str) -> Option<&str> {
    let number = written.trim_matches(['$', '{', '}']);
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// What must be set under `set -u` for an expansion of the form `${…}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs<'t> {
    Nothing,
    Parameter(&'t str),
    /// Elements of an array.
    Elements,
    /// It computes, and may fail, or is not known.
    Unknown,
}

impl<'t> Needs<'t> {
    fn of(written: &'t str) -> Self {
        let Some(inside) = written.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
            return Needs::Unknown;
        };
        let (length, inside) = inside.strip_prefix('#').map_or((false, inside), |rest| (true, rest));
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, operator) = inside.split_at(inside.find(|c| !is_part(c)).unwrap_or(inside.len()));
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) && !is_number {
            return Needs::Unknown;
        }
        if ["[@]", "[*]"].contains(&operator) {
            return Needs::Elements;
        }
        let cuts = operator.starts_with(['%', '#', '/', '^', ',']);
        let slices = operator.strip_prefix(':').is_some_and(|range| range.split(':').all(is_plain_number));
        match operator {
            "" => Needs::Parameter(name),
            _ if length => Needs::Unknown,
            _ if [":-", "-", ":+", "+"].iter().any(|one| operator.starts_with(one)) => Needs::Nothing,
            _ if cuts || slices => Needs::Parameter(name),
            _ => Needs::Unknown,
        }
    }
}

/// Whether bash takes it for a decimal number.
fn is_plain_number(written: &str) -> bool {
    let digits = written.trim_start_matches(' ');
    digits == "0"
        || digits.starts_with(|c: char| ('1'..='9').contains(&c))
            && digits.len() < 10
            && digits.bytes().all(|byte| byte.is_ascii_digit())
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
