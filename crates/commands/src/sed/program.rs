//! A script with compiled expressions and global properties.

use super::flow;
use super::script::{Action, Address, End, Lines, Pattern, Script, Substitute};
use crate::regex::{self, Flavour, Judges, Newline, Regex};
use crate::{Accept, Context, Declined, Family};

/// The settings of compilation.
#[derive(Clone, Debug)]
pub(super) struct Settings<'a> {
    pub(super) context: &'a Context,
    /// `-E`
    pub(super) extended: bool,
    /// The line terminator: newline, or NUL with `-z`.
    pub(super) line_end: u8,
}

/// An executable script. Clones are cheap; each kernel needs its own.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Instruction>,
    /// The data that all its expressions support.
    pub(super) judges: Judges,
    /// Whether it may fail on a line: besides unsupported data, a search may give up.
    pub(super) may_stop: bool,
    /// Whether its effect on a line depends on earlier lines, or on the end of the input.
    pub(super) counts: bool,
    /// Whether it must know if a line is the last.
    pub(super) wants_last: bool,
    /// Whether lines never contain a newline, neither read nor made.
    pub(super) plain_lines: bool,
    /// Whether its output for one line may be infinite.
    pub(super) may_print_for_ever: bool,
}

/// A command.
#[derive(Clone, Debug)]
pub(super) struct Instruction {
    pub(super) lines: Select,
    pub(super) negated: bool,
    pub(super) work: Work,
}

/// The lines of a command.
#[derive(Clone, Debug)]
pub(super) enum Select {
    All,
    At(At),
    Range { start: At, end: Until, state: State },
}

#[derive(Clone, Debug)]
pub(super) enum At {
    Number(u64),
    Instruction(u64, u64),
    Last,
    Matching(Box<Regex>),
}

#[derive(Clone, Debug)]
pub(super) enum Until {
    Number(u64),
    Plus(u64),
    Multiple(u64),
    Last,
    Matching(Box<Regex>),
}

/// The state of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Before,
    /// Inside, up to this line if it ends at a number.
    Inside(u64),
    /// After the end: a range that starts at a number does not start again.
    Behind,
}

/// The work of a command.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Substitute(Box<Substitution>),
    /// A command without an expression.
    Plain(Action),
}

/// `s` with its expression.
#[derive(Clone, Debug)]
pub(super) struct Substitution {
    pub(super) regex: Regex,
    pub(super) says: Substitute,
    /// The constant replacement, if any.
    pub(super) fixed: Option<Vec<u8>>,
    pub(super) traced: bool,
}

impl Program {
    /// Compiles a script.
    pub(super) fn new(script: &Script, settings: &Settings) -> Accept<Program> {
        let plain_lines = settings.line_end == b'\n' && !script.makes(b'\n');
        let compiler = Compiler { settings, plain_lines };
        let steps = script
            .commands
            .iter()
            .map(|command| {
                let work = match &command.action {
                    Action::Substitute(substitute) => {
                        Work::Substitute(Box::new(compiler.substitution(substitute)?))
                    }
                    Action::Unserved(what) => return Declined::because(*what),
                    other => Work::Plain(other.clone()),
                };
                Ok(Instruction { lines: compiler.select(&command.lines)?, negated: command.negated, work })
            })
            .collect::<Accept<Vec<Instruction>>>()?;
        let mut program = Program {
            judges: Judges::AnyBytes,
            may_stop: false,
            counts: flow::connection(script).is_some(),
            may_print_for_ever: flow::may_print_for_ever(script),
            wants_last: script.commands.iter().any(|command| wants_last(&command.lines, &command.action)),
            plain_lines,
            steps,
        };
        program.weigh();
        program.check(script)?;
        Ok(program)
    }

    /// Combines the properties of all its expressions.
    fn weigh(&mut self) {
        for step in &self.steps {
            for regex in step.lines.regexes() {
                self.judges = self.judges.max(regex.judges());
            }
            let Work::Substitute(substitution) = &step.work else { continue };
            self.judges = self.judges.max(substitution.judges());
            self.may_stop |= substitution.may_stop();
        }
        self.may_stop |= self.judges != Judges::AnyBytes || self.may_print_for_ever;
    }

    fn check(&self, script: &Script) -> Accept<()> {
        let made_ascii =
            script.substitutes().all(|substitute| substitute.texts().all(|byte| byte.is_ascii()));
        if self.judges == Judges::Ascii && !made_ascii {
            return Declined::because("expressions that judge ASCII only, beside a replacement that is not");
        }
        Ok(())
    }

    /// Prepares a script that cannot fall back: no search may give up. Declines what might then be wrong or
    /// not linear.
    pub(super) fn stay(&mut self) -> Accept<()> {
        if self.judges != Judges::AnyBytes {
            return Declined::because(
                "an expression that does not judge every byte, in a script that cannot be left to sed midway",
            );
        }
        if self.may_print_for_ever {
            return Declined::because("a loop that prints, in a script that cannot be left to sed midway");
        }
        for step in &mut self.steps {
            let Work::Substitute(substitution) = &mut step.work else { continue };
            let many = substitution.says.global || substitution.says.nth > 1;
            if many && substitution.regex.may_look_far() {
                return Declined::because(
                    "an expression that may look far ahead, in a script that cannot be left to sed midway",
                );
            }
            if substitution.says.changes_case() {
                return Declined::because("a change of case, in a script that cannot be left to sed midway");
            }
            substitution.regex.be_patient();
        }
        self.may_stop = false;
        Ok(())
    }
}

fn wants_last(lines: &Lines, action: &Action) -> bool {
    let last = match lines {
        Lines::All => false,
        Lines::At(address) => *address == Address::Last,
        Lines::Range(start, end) => *start == Address::Last || *end == End::Last,
    };
    last || matches!(action, Action::Next | Action::Join)
}

impl Select {
    fn regexes(&self) -> Vec<&Regex> {
        let mut found = Vec::new();
        if let Select::At(At::Matching(regex)) | Select::Range { start: At::Matching(regex), .. } = self {
            found.push(&**regex);
        }
        if let Select::Range { end: Until::Matching(regex), .. } = self {
            found.push(&**regex);
        }
        found
    }
}

impl Substitution {
    fn judges(&self) -> Judges {
        let many = self.says.global || self.says.nth > 1;
        if many { self.regex.judges_all().max(self.regex.judges()) } else { self.regex.judges() }
    }

    fn may_stop(&self) -> bool {
        let many = self.says.global || self.says.nth > 1;
        many && !self.regex.never_gives_up() || self.traced || self.says.changes_case()
    }
}

struct Compiler<'a> {
    settings: &'a Settings<'a>,
    plain_lines: bool,
}

impl Compiler<'_> {
    /// Compiles an address, which only tests for a match.
    fn address(&self, pattern: &Pattern) -> Accept<Box<Regex>> {
        if pattern.many_lines && !self.plain_lines {
            return Declined::because("the flag M of an address where lines hold newlines");
        }
        self.regex(pattern, &[]).map(Box::new)
    }

    fn regex(&self, pattern: &Pattern, groups: &[usize]) -> Accept<Regex> {
        let context = self.settings.context;
        // A possible match of a newline differs with that flag.
        let one_line = self.plain_lines || pattern.many_lines;
        if one_line && !self.plain_lines && (self.settings.line_end == 0 || asks_for_newlines(&pattern.text))
        {
            return Declined::because("the flag M where lines hold newlines");
        }
        let flavour = if self.settings.extended { Flavour::SedExtended } else { Flavour::SedBasic };
        let options = regex::Options {
            charset: context.locale.charset_for(pattern.ignore_case),
            ranges: regex::Ranges::of(&context.locale, &[&pattern.text]),
            ignore_case: pattern.ignore_case,
            newline: if one_line { Newline::EndsLine } else { Newline::IsCharacter },
            dot_misses_late: context.implementation.is_one_of(Family::GnuSed, &["4.8"]),
            spans: true,
            groups,
            ..regex::Options::new(flavour)
        };
        regex::compile(&[&pattern.text], &options)
    }

    fn select(&self, lines: &Lines) -> Accept<Select> {
        Ok(match lines {
            Lines::All => Select::All,
            Lines::At(address) => Select::At(self.at(address)?),
            Lines::Range(start, end) => {
                let end = self.until(end)?;
                Select::Range { start: self.at(start)?, end, state: State::at_start(start) }
            }
        })
    }

    fn at(&self, address: &Address) -> Accept<At> {
        Ok(match address {
            Address::Number(line) => At::Number(*line),
            Address::Instruction(first, step) => At::Instruction(*first, *step),
            Address::Last => At::Last,
            Address::Matching(pattern) => At::Matching(self.address(pattern)?),
        })
    }

    fn until(&self, end: &End) -> Accept<Until> {
        Ok(match end {
            End::Number(line) => Until::Number(*line),
            End::Plus(lines) => Until::Plus(*lines),
            End::Multiple(multiple) => Until::Multiple(*multiple),
            End::Last => Until::Last,
            End::Matching(pattern) => Until::Matching(self.address(pattern)?),
        })
    }

    fn substitution(&self, substitute: &Substitute) -> Accept<Substitution> {
        let groups = substitute.groups();
        let regex = self.regex(&substitute.pattern, &groups)?;
        if groups.last().is_some_and(|last| *last > regex.groups()) {
            return Declined::because("a group that the expression does not have");
        }
        if substitute.changes_case() && !self.settings.context.locale.plain_case {
            return Declined::because("upper and lower case in this locale");
        }
        Ok(Substitution {
            regex,
            fixed: substitute.fixed().map(<[u8]>::to_vec),
            says: substitute.clone(),
            traced: !groups.is_empty(),
        })
    }
}

/// Whether the expression could match a newline, or an end of the whole pattern space.
fn asks_for_newlines(text: &[u8]) -> bool {
    text.windows(2).any(|pair| {
        pair == b"[:"
            || pair[0] == b'\\' && (pair[1].is_ascii_alphabetic() || matches!(pair[1], b'`' | b'\''))
    })
}

impl State {
    fn at_start(start: &Address) -> State {
        if *start == Address::Number(0) { State::Inside(u64::MAX) } else { State::Before }
    }
}
