//! Queries: an expression, and the options for all of it.

use crate::format::Format;
use crate::message::NameStyle;
use crate::pattern::Pattern;
use crate::stamp::Stamp;
use pelton_sys::directories::{Kind, Time};
use pelton_sys::libc_patterns::Regex;
use std::ffi::CString;

/// A query.
#[derive(Debug)]
pub struct Query {
    /// The starting points, in order.
    pub starts: Vec<CString>,
    /// Which symbolic links are followed.
    pub follow: Follow,
    pub(crate) expression: Expr,
    /// Minimum depth of entries that are evaluated.
    pub(crate) min_depth: u32,
    /// Maximum depth: directories there are not opened.
    pub(crate) max_depth: u32,
    /// Whether a directory comes after its contents (-depth).
    pub(crate) contents_first: bool,
    pub(crate) one_file_system: bool,
    /// The commands of -exec; expressions refer to them by index.
    pub(crate) commands: Vec<CommandLine>,
    /// Whether an action does more than print: then entries are evaluated one by one, in order, when it is
    /// their turn.
    pub(crate) acts: bool,
    /// Whether -quit may end the search early.
    pub(crate) quits: bool,
    pub(crate) manner: NameStyle,
}

impl Query {
    /// Whether -quit may end the search early.
    pub fn may_quit(&self) -> bool {
        self.quits
    }

    /// Checks that the query means the same at any time and in any locale. It may only print names, ended by
    /// newlines or NULs, and run one command.
    ///
    /// # Errors
    /// The reason in words.
    pub fn is_portable(&self) -> Result<(), &'static str> {
        match &self.commands[..] {
            _ if self.contents_first => Err("it wants directories last"),
            [_, _, ..] => Err("it runs several commands"),
            [_] if self.quits => Err("it runs a command, and may end before its end"),
            [line] if !line.gathers && self.expression.asks_commands(false) => {
                Err("its actions depend on the command's exit status")
            }
            _ => self.expression.is_portable(),
        }
    }

    /// Returns the command of a portable query, if there is one.
    pub fn command(&self) -> Option<&CommandLine> {
        self.commands.first()
    }

    /// Whether the command runs for untested entries, and so for directories too.
    pub fn commands_everything(&self) -> bool {
        self.expression.commands_everything()
    }

    /// Whether it prints names.
    pub fn prints_names(&self) -> bool {
        self.expression.prints_names()
    }

    /// Returns the pattern that a name must match before any other test or action.
    pub(crate) fn first_asks(&self) -> Option<&Pattern> {
        self.expression.first_asks()
    }

    /// Whether one thread must process the entries in order: the query runs commands, removes files, or wants
    /// directories after their contents.
    pub fn is_serial(&self) -> bool {
        self.acts || self.contents_first
    }
}

/// Which symbolic links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// -P
    Never,
    /// -H: only starting points.
    Starts,
    /// -L
    Always,
}

/// An expression.
#[derive(Debug)]
pub(crate) enum Expr {
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// `a , b`: evaluates both; the result is the last one's.
    List(Vec<Expr>),
    Not(Box<Expr>),
    Test(Test),
    Action(Action),
}

impl Expr {
    /// Whether any command's success matters. `wanted`: whether the result of this expression matters.
    fn asks_commands(&self, wanted: bool) -> bool {
        let all = |parts: &[Expr], before: bool| {
            let Some((last, rest)) = parts.split_last() else { return false };
            rest.iter().any(|part| part.asks_commands(before)) || last.asks_commands(wanted)
        };
        match self {
            Expr::And(parts) | Expr::Or(parts) => all(parts, true),
            Expr::List(parts) => all(parts, false),
            Expr::Not(part) => part.asks_commands(wanted),
            Expr::Action(Action::Run(_)) => wanted,
            Expr::Test(_) | Expr::Action(_) => false,
        }
    }

    fn first_asks(&self) -> Option<&Pattern> {
        match self {
            Expr::And(parts) => parts.first()?.first_asks(),
            Expr::Test(Test::Name(pattern)) => Some(pattern),
            _ => None,
        }
    }

    fn commands_everything(&self) -> bool {
        let asks = |part: &Expr| !matches!(part, Expr::Action(_) | Expr::Test(Test::Always(_)));
        match self {
            Expr::And(parts) => {
                let first_question = parts.iter().position(asks).map_or(parts.len(), |at| at + 1);
                parts[..first_question].iter().any(Expr::commands_everything)
            }
            Expr::Or(parts) | Expr::List(parts) => parts.iter().any(Expr::commands_everything),
            Expr::Not(part) => part.commands_everything(),
            Expr::Action(action) => matches!(action, Action::Run(_)),
            Expr::Test(_) => false,
        }
    }

    fn prints_names(&self) -> bool {
        match self {
            Expr::And(parts) | Expr::Or(parts) | Expr::List(parts) => parts.iter().any(Expr::prints_names),
            Expr::Not(part) => part.prints_names(),
            Expr::Action(action) => matches!(action, Action::Print { .. } | Action::Format(_)),
            Expr::Test(_) => false,
        }
    }

    fn is_portable(&self) -> Result<(), &'static str> {
        match self {
            Expr::And(parts) | Expr::Or(parts) | Expr::List(parts) => {
                parts.iter().try_for_each(Expr::is_portable)
            }
            Expr::Not(inner) => inner.is_portable(),
            Expr::Test(Test::Name(pattern) | Test::Path(pattern) | Test::LinkName(pattern)) => {
                let reason = "a pattern with more than `*` at its ends depends on the locale";
                if pattern.is_bytes() { Ok(()) } else { Err(reason) }
            }
            Expr::Test(
                Test::Always(_)
                | Test::Type(_)
                | Test::Size { .. }
                | Test::Empty
                | Test::Permissions { .. }
                | Test::Links(_),
            ) => Ok(()),
            Expr::Test(Test::Regex(_)) => Err("a regular expression depends on the locale"),
            Expr::Test(Test::Age(_) | Test::Newer { .. } | Test::Same { .. }) => {
                Err("a test depends on the current time or on another file")
            }
            Expr::Test(Test::User(_) | Test::Group(_)) => Err("a test depends on the user database"),
            Expr::Action(Action::Print { .. } | Action::Prune { .. } | Action::Quit | Action::Run(_)) => {
                Ok(())
            }
            Expr::Action(Action::Format(_) | Action::Delete) => Err("it does more than print names"),
        }
    }
}

#[derive(Debug)]
pub(crate) enum Test {
    Always(bool),
    Name(Pattern),
    Path(Pattern),
    LinkName(Pattern),
    Regex(Regex),
    Type(Vec<Kind>),
    Size { unit: u64, number: Number },
    Age(Age),
    Newer { which: Stamp, than: Time },
    Empty,
    Permissions { bits: u32, all: Match },
    User(Number),
    Group(Number),
    Links(Number),
    Same { device: u64, inode: u64 },
}

#[derive(Debug)]
pub(crate) enum Action {
    Print {
        end: u8,
    },
    Format(Format),
    /// Does not enter the directory.
    Prune {
        /// Whether it is false for an entry whose stat(2) fails, as in GNU find unless a -depth precedes it.
        needs_status: bool,
    },
    Quit,
    Delete,
    /// Runs the command with this index.
    Run(usize),
}

/// How permissions are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Exactly,
    All,
    Any,
}

/// `n`, `-n` or `+n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub compare: Compare,
    pub value: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Less,
    Equal,
    More,
}

impl Number {
    pub fn holds(self, figure: u64) -> bool {
        match self.compare {
            Compare::Less => figure < self.value,
            Compare::Equal => figure == self.value,
            Compare::More => figure > self.value,
        }
    }
}

/// A test of -mtime or similar, as a moment and a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Age {
    pub which: Stamp,
    pub compare: Compare,
    /// Less: younger than this. More: older. Equal: at most `window` seconds younger.
    pub moment: Time,
    pub window: i64,
}

impl Age {
    pub fn holds(&self, time: Time) -> bool {
        match self.compare {
            Compare::Less => time > self.moment,
            Compare::More => time < self.moment,
            Compare::Equal => {
                let end = Time { seconds: self.moment.seconds + self.window, ..self.moment };
                time > self.moment && time <= end
            }
        }
    }
}

/// A command of -exec.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// The program and its arguments; without the last `{}` if it gathers.
    pub words: Vec<Vec<u8>>,
    /// `+`: runs with as many files as fit. Otherwise once per file, with the name in place of each `{}`.
    pub gathers: bool,
}
