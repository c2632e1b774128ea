//! Pieces of text with the part they play, and the SGR sequences for it.
//!
//! Only the sixteen colours of the user's own theme, and never as the only sign of anything.

use anstyle::{AnsiColor, Style as Sgr};

use crate::text;

/// The part that a piece of text plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing special.
    Plain,
    /// What to look at first.
    Strong,
    /// The mark at the bottleneck.
    Mark,
    /// What most readers can skip.
    Dim,
    /// A status that is neither 0 nor SIGPIPE's.
    Failed,
    /// Time on a CPU.
    Running,
    /// Time ready, but without a CPU.
    NoCpu,
    /// Time waiting for input.
    Input,
    /// Time waiting for room.
    Room,
    /// Time waiting for anything else.
    Other,
    /// Something to try.
    Hint,
}

impl Role {
    fn sgr(self) -> Sgr {
        match self {
            Role::Plain => Sgr::new(),
            Role::Strong => Sgr::new().bold(),
            Role::Mark => AnsiColor::Yellow.on_default().bold(),
            Role::Dim | Role::Other => Sgr::new().dimmed(),
            Role::Failed | Role::NoCpu => AnsiColor::Red.on_default(),
            Role::Running | Role::Hint => AnsiColor::Green.on_default(),
            Role::Input => AnsiColor::Cyan.on_default(),
            Role::Room => AnsiColor::Magenta.on_default(),
        }
    }
}

/// A text of pieces that play different parts: a cell, or a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces(Vec<(Role, String)>);

impl Pieces {
    /// One piece.
    pub fn one(role: Role, text: impl Into<String>) -> Self {
        Pieces(vec![(role, text.into())])
    }

    /// Adds a piece at the end.
    pub fn push(&mut self, role: Role, text: impl Into<String>) {
        self.0.push((role, text.into()));
    }

    /// Adds blanks at the end.
    pub fn blanks(&mut self, n: usize) {
        self.push(Role::Plain, " ".repeat(n));
    }

    /// Adds all pieces of `other` at the end.
    pub fn append(&mut self, other: &Pieces) {
        self.0.extend_from_slice(&other.0);
    }

    /// Columns it takes.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text::width(text)).sum()
    }

    /// Its text, without roles.
    pub fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The same with `role` in place of [`Role::Plain`].
    pub fn lift(mut self, role: Role) -> Self {
        for (own, _) in self.0.iter_mut().filter(|(own, _)| *own == Role::Plain) {
            *own = role;
        }
        self
    }

    /// The line to print: no blanks at its end, a newline, and SGR sequences if `color`.
    pub fn line(&self, color: bool) -> String {
        let text = self.text();
        let mut room = text.trim_end().len();
        let mut out = String::with_capacity(text.len() + 1);
        for (role, piece) in &self.0 {
            let piece = &piece[..piece.len().min(room)];
            room -= piece.len();
            let sgr = if color && !piece.is_empty() { role.sgr() } else { Sgr::new() };
            out.push_str(&format!("{sgr}{piece}{sgr:#}"));
        }
        out.push('\n');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_wraps_pieces_and_the_end_is_bare() {
        let mut line = Pieces::one(Role::Plain, "a ");
        line.push(Role::Strong, "b");
        line.blanks(3);
        assert_eq!(line.line(false), "a b\n");
        assert_eq!(line.line(true), "a \x1b[1mb\x1b[0m\n");
        assert_eq!(line.lift(Role::Dim).line(true), "\x1b[2ma \x1b[0m\x1b[1mb\x1b[0m\n");
    }
}
