//! Pieces of text with roles, and the SGR sequences for roles.
//!
//! Uses only the sixteen colours of the user's theme, and never colour alone.

use anstyle::{AnsiColor, Style as Sgr};

use crate::text;

/// The role of a piece of text.
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
    /// Time runnable, without a CPU.
    Runnable,
    /// Time blocked on read.
    BlockedOnRead,
    /// Time blocked on write.
    BlockedOnWrite,
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
            Role::Failed | Role::Runnable => AnsiColor::Red.on_default(),
            Role::Running | Role::Hint => AnsiColor::Green.on_default(),
            Role::BlockedOnRead => AnsiColor::Cyan.on_default(),
            Role::BlockedOnWrite => AnsiColor::Magenta.on_default(),
        }
    }
}

/// Text made of pieces with different roles: a cell, or a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces(Vec<(Role, String)>);

impl Pieces {
    /// Makes one piece.
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

    /// Returns its width.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text::width(text)).sum()
    }

    /// Returns the prefix that `width` columns hold.
    pub fn first(&self, width: usize) -> Pieces {
        let mut left = width;
        let mut cut = Pieces::default();
        for (role, text) in &self.0 {
            let part = text::first(text, left);
            left -= text::width(part);
            cut.push(*role, part);
            if part.len() < text.len() {
                break;
            }
        }
        cut
    }

    /// Returns the plain text.
    pub fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Replaces [`Role::Plain`] by `role`.
    pub fn lift(mut self, role: Role) -> Self {
        for (own, _) in self.0.iter_mut().filter(|(own, _)| *own == Role::Plain) {
            *own = role;
        }
        self
    }

    /// Renders the line: no trailing blanks, a newline, and SGR sequences if `color`.
    pub fn line(&self, color: bool) -> String {
        let text = self.text();
        let text = text.trim_end();
        if !color {
            return format!("{text}\n");
        }
        let mut out = String::with_capacity(2 * text.len());
        let mut rest = text;
        for (role, length) in self.stretches() {
            let (now, later) = rest.split_at(length.min(rest.len()));
            let sgr = if now.is_empty() { Sgr::new() } else { role.sgr() };
            out.push_str(&format!("{sgr}{now}{sgr:#}"));
            rest = later;
        }
        out.push('\n');
        out
    }

    /// Returns runs of one role, each with its length in bytes. Blanks take the role before them; leading
    /// ones are plain.
    fn stretches(&self) -> Vec<(Role, usize)> {
        let mut out: Vec<(Role, usize)> = vec![];
        for (role, text) in &self.0 {
            match out.last_mut() {
                Some((last, length)) if last == role || text.trim().is_empty() => *length += text.len(),
                _ if text.trim().is_empty() => out.push((Role::Plain, text.len())),
                _ => out.push((*role, text.len())),
            }
        }
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
        line.push(Role::Strong, "c");
        assert_eq!(line.line(true), "a \x1b[1mb   c\x1b[0m\n");
        assert_eq!(line.lift(Role::Dim).line(true), "\x1b[2ma \x1b[0m\x1b[1mb   c\x1b[0m\n");
    }
}
