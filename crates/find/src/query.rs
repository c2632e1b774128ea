//! What is searched for: the expression, and the options that hold for all of it.

use crate::format::Format;
use crate::pattern::Pattern;
use pelton_sys::directories::{Kind, Time};
use pelton_sys::patterns::Regex;
use std::ffi::CString;

/// A search.
#[derive(Debug)]
pub struct Query {
    /// Where it starts, in order.
    pub starts: Vec<CString>,
    /// Which links are followed.
    pub follow: Follow,
    pub(crate) expression: Expr,
    /// Entries above this are not looked at.
    pub(crate) min_depth: u32,
    /// Directories at this depth are not opened.
    pub(crate) max_depth: u32,
    /// A directory comes after what is in it.
    pub(crate) contents_first: bool,
    pub(crate) one_file_system: bool,
    /// What -exec runs; expressions name them by their place.
    pub(crate) commands: Vec<CommandLine>,
    /// Something is done beside printing: entries are taken one by one, in order, when their turn has come.
    pub(crate) acts: bool,
    /// It may end before its end.
    pub(crate) quits: bool,
    pub(crate) manner: NameStyle,
}

impl Query {
    /// Whether -quit may end it early.
    pub fn may_quit(&self) -> bool {
        self.quits
    }

    /// Whether it means the same whenever it was read, in a process of any locale, and does nothing but print names with
    /// newlines or NULs behind them, and run one command; or what of it does not.
    ///
    /// # Errors
    /// In words.
    pub fn is_portable(&self) -> Result<(), &'static str> {
        match &self.commands[..] {
            _ if self.contents_first => Err("it wants directories last"),
            [_, _, ..] => Err("it runs several commands"),
            [_] if self.quits => Err("it runs a command, and may end before its end"),
            [line] if !line.gathers && self.expression.asks_commands(false) => {
                Err("what it does goes by how its command ends")
            }
            _ => self.expression.is_portable(),
        }
    }

    /// The one command that it runs, if it is portable and runs any.
    pub fn command(&self) -> Option<&CommandLine> {
        self.commands.first()
    }

    /// Whether that is run for entries of which nothing is asked: for directories as well, then.
    pub fn commands_everything(&self) -> bool {
        self.expression.commands_everything()
    }

    /// Whether it prints names.
    pub fn prints_names(&self) -> bool {
        self.expression.prints_names()
    }

    /// What the name of an entry has to match before anything else is asked of it, or done.
    pub(crate) fn first_asks(&self) -> Option<&Pattern> {
        self.expression.first_asks()
    }

    /// Whether it must be done entry by entry, in order, by one thread: it runs commands, removes something, or wants
    /// directories after what is in them.
    pub fn is_serial(&self) -> bool {
        self.acts || self.contents_first
    }
}

/// Which symbolic links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// -P
    Never,
    /// -H: those that are starting points.
    Starts,
    /// -L
    Always,
}

/// How names are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameStyle {
    /// Characters are encoded in UTF-8; else they are ASCII.
    pub utf8: bool,
    /// Output goes to a terminal, which must not be sent what it would obey.
    pub terminal: bool,
}

/// An expression.
#[derive(Debug)]
pub(crate) enum Expr {
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// `a , b`: both are evaluated, the last one counts.
    List(Vec<Expr>),
    Not(Box<Expr>),
    Test(Test),
    Action(Action),
}

impl Expr {
    /// Whether anything goes by how a command ends, `wanted` being whether anything goes by whether all of this holds.
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
                let reason = "a pattern with more than `*` at its ends goes by the locale";
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
            Expr::Test(Test::Regex(_)) => Err("a regular expression goes by the locale"),
            Expr::Test(Test::Age(_) | Test::Newer { .. } | Test::Same { .. }) => {
                Err("a test goes by the moment, or by another file")
            }
            Expr::Test(Test::User(_) | Test::Group(_)) => Err("a test goes by who has an account"),
            Expr::Action(Action::Print { .. } | Action::Prune | Action::Quit | Action::Run(_)) => Ok(()),
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
    Prune,
    Quit,
    Delete,
    /// Runs the command of this number.
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

/// Which of a file's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    Accessed,
    Changed,
    Modified,
}

/// -mtime and its kin, as a moment and what is wanted of it.
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

/// What -exec runs.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// Its name, and its words; without the last `{}` if it gathers.
    pub words: Vec<Vec<u8>>,
    /// `+`: with as many files as fit. Else once for each, with its name in place of each `{}`.
    pub gathers: bool,
}
