//! Evaluates expressions: tests entries and performs actions.

use crate::command::Commands;
use crate::message;
use crate::query::{Action, Expr, Match, Query, Test};
use crate::sink::Sink;
use crate::subject::{Evaluation, Subject};
use pelton_sys::directories::{self, Kind, Status};
use std::ffi::CStr;

/// -quit: evaluation ends.
#[derive(Debug)]
pub(crate) struct Quits;

/// Evaluates a query's expression for one entry after another.
pub(crate) struct Evaluator<'q> {
    query: &'q Query,
    pub said: Evaluation,
    pub commands: Commands<'q>,
    /// A reused buffer for the path.
    path: Vec<u8>,
}

impl<'q> Evaluator<'q> {
    pub fn new(query: &'q Query, sink: &'q dyn Sink) -> Self {
        Evaluator {
            query,
            said: Evaluation::default(),
            commands: Commands::new(&query.commands, query.manner, sink),
            path: Vec::new(),
        }
    }

    /// Evaluates the expression. Returns whether it holds.
    pub fn holds(&mut self, subject: &mut Subject<'_>) -> Result<bool, Quits> {
        self.expr(&self.query.expression, subject)
    }

    fn expr(&mut self, expr: &'q Expr, subject: &mut Subject<'_>) -> Result<bool, Quits> {
        match expr {
            Expr::And(parts) => {
                for part in parts {
                    if !self.expr(part, subject)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expr::Or(parts) => {
                for part in parts {
                    if self.expr(part, subject)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expr::List(parts) => {
                let mut last = true;
                for part in parts {
                    last = self.expr(part, subject)?;
                }
                Ok(last)
            }
            Expr::Not(part) => Ok(!self.expr(part, subject)?),
            Expr::Test(test) => Ok(self.test(test, subject)),
            Expr::Action(action) => self.act(action, subject),
        }
    }

    fn test(&mut self, test: &Test, subject: &mut Subject<'_>) -> bool {
        match test {
            Test::Always(answer) => *answer,
            Test::Name(pattern) => pattern.matches(subject.base),
            Test::Path(pattern) => {
                self.take_path(subject);
                self.path.push(0);
                CStr::from_bytes_until_nul(&self.path).is_ok_and(|path| pattern.matches(path))
            }
            Test::Regex(regex) => {
                self.take_path(subject);
                regex.matches_all(&self.path)
            }
            Test::LinkName(pattern) => {
                subject.kind == Kind::Link
                    && directories::read_link(subject.location.at, subject.name)
                        .is_ok_and(|target| pattern.matches(&target))
            }
            Test::Type(kinds) => kinds.contains(&subject.kind),
            Test::Empty => self.is_empty(subject),
            other => {
                let status = subject.status(&mut self.said, self.query.manner);
                status.is_some_and(|status| status_test(other, &status))
            }
        }
    }

    fn is_empty(&mut self, subject: &mut Subject<'_>) -> bool {
        match subject.kind {
            Kind::Directory => {
                let answer = directories::is_empty(subject.location.at, subject.name);
                answer.unwrap_or_else(|error| {
                    subject.complain(&error, &mut self.said, self.query.manner);
                    false
                })
            }
            Kind::File => {
                subject.status(&mut self.said, self.query.manner).is_some_and(|status| status.size == 0)
            }
            _ => false,
        }
    }

    fn act(&mut self, action: &'q Action, subject: &mut Subject<'_>) -> Result<bool, Quits> {
        match action {
            Action::Print { end } => {
                self.take_path(subject);
                if self.query.manner.terminal && *end != 0 {
                    message::for_terminal(&self.path, &mut self.said.text);
                } else {
                    self.said.text.extend(&self.path);
                }
                self.said.text.push(*end);
            }
            Action::Format(format) => {
                return Ok(format.print(subject, &mut self.said, self.query.manner));
            }
            Action::Prune { needs_status } => {
                if *needs_status && subject.status(&mut self.said, self.query.manner).is_none() {
                    return Ok(false);
                }
                subject.pruned = !self.query.contents_first;
            }
            Action::Quit => return Err(Quits),
            Action::Delete => return Ok(self.delete(subject)),
            Action::Run(number) => {
                self.take_path(subject);
                return Ok(self.commands.run(*number, &self.path, &mut self.said));
            }
        }
        Ok(true)
    }

    fn delete(&mut self, subject: &mut Subject<'_>) -> bool {
        self.take_path(subject);
        // The working directory cannot be removed by this name.
        if self.path == b"." {
            return true;
        }
        match directories::remove(subject.location.at, subject.name, subject.kind == Kind::Directory) {
            Ok(()) => true,
            Err(error) => {
                self.said.failed = true;
                message::cannot("delete", &self.path, &error, self.query.manner, &mut self.said.errors);
                false
            }
        }
    }

    fn take_path(&mut self, subject: &Subject<'_>) {
        self.path.clear();
        subject.path(&mut self.path);
    }
}

/// Evaluates a test of stat(2) data.
fn status_test(test: &Test, status: &Status) -> bool {
    match test {
        Test::Size { unit, number } => number.holds(status.size.div_ceil(*unit)),
        Test::Age(age) => age.holds(age.which.of(status)),
        Test::Newer { which, than } => which.of(status) > *than,
        Test::Permissions { bits, all } => match all {
            Match::Exactly => status.mode & 0o7777 == *bits,
            Match::All => status.mode & bits == *bits,
            Match::Any => status.mode & bits != 0,
        },
        Test::User(number) => number.holds(u64::from(status.user)),
        Test::Group(number) => number.holds(u64::from(status.group)),
        Test::Links(number) => number.holds(status.links),
        Test::Same { device, inode } => status.device == *device && status.inode == *inode,
        // The other tests need no status.
        _ => false,
    }
}
