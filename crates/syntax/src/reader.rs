//! The reader's state, and what every production of the grammar does with tokens.

use crate::cursor::{Cursor, ends_word};
use crate::error::{Read, Stop};
use crate::{Assigned, Dialect, Nested, Unmodelled, Word};
use pelton_record::Span;

/// Maximum nesting depth of compounds and substitutions.
const DEPTH_MAX: usize = 150;

/// A here-document whose body has not been read yet.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The line that ends it.
    pub(crate) delimiter: String,
    /// Whether the delimiter was quoted: the body is then literal.
    pub(crate) literal: bool,
    /// Whether the operator is `<<-`: leading tabs are stripped.
    pub(crate) strips_tabs: bool,
}

/// The reader: a cursor and its state.
pub(crate) struct Reader<'t> {
    pub(crate) c: Cursor<'t>,
    pub(crate) dialect: Dialect,
    /// Here-documents whose bodies begin after the next newline.
    pub(crate) pending: Vec<Pending>,
    /// The bodies read so far, by number.
    pub(crate) bodies: Vec<Word>,
    /// Number of open `$(…)` and `<(…)`.
    pub(crate) substitutions: usize,
    /// Spans of the text between single quotes.
    pub(crate) single_quoted_spans: Vec<Span>,
    /// Nested pipelines read so far.
    pub(crate) nested: Vec<Nested>,
    /// The variables of the open `for` loops.
    pub(crate) loop_variables: Vec<String>,
    /// Assignments so far. The scope of those in open lists has no end yet.
    pub(crate) assigned: Vec<Assigned>,
    /// Where the assignments of the function begin whose body is being read.
    pub(crate) function_from: Option<usize>,
    depth: usize,
    /// Whether a complete line of commands has been read: the shell would have run it by now.
    pub(crate) line_done: bool,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str, dialect: Dialect) -> Self {
        Reader {
            c: Cursor::new(text),
            dialect,
            pending: Vec::new(),
            bodies: Vec::new(),
            substitutions: 0,
            single_quoted_spans: Vec::new(),
            nested: Vec::new(),
            loop_variables: Vec::new(),
            assigned: Vec::new(),
            function_from: None,
            depth: 0,
            line_done: false,
        }
    }

    /// Returns the word that begins here, if nothing in it is quoted or expanded: it may be a keyword.
    pub(crate) fn keyword(&self) -> Option<String> {
        let mut ahead = self.c.clone();
        let mut word = String::new();
        while let Some(byte) = ahead.peek() {
            if matches!(byte, b'<' | b'>') && ahead.peek_second() == Some(b'(') {
                return None;
            }
            if ends_word(byte) {
                break;
            }
            if !byte.is_ascii_lowercase() && !b"{}![]-".contains(&byte) || word.len() > 8 {
                return None;
            }
            word.push(char::from(byte));
            ahead.pos += 1;
        }
        (!word.is_empty()).then_some(word)
    }

    /// Steps over `word` if it is the keyword here.
    pub(crate) fn take_keyword(&mut self, word: &str) -> bool {
        if self.keyword().as_deref() != Some(word) {
            return false;
        }
        for byte in word.bytes() {
            self.c.eat(byte);
        }
        true
    }

    /// Rejects the token here.
    pub(crate) fn unexpected<T>(&mut self) -> Read<T> {
        if self.c.peek().is_none() {
            let end = self.c.text.len();
            return Stop::wrong("a command is missing at the end", Span::new(end, end), "");
        }
        let help = match self.c.peek() {
            Some(b')') => "no `(` is open here; quote it if it is meant literally",
            Some(b'(') => "quote it if it is meant literally: '('",
            Some(b'|' | b'&' | b';') => "a command is missing before it",
            _ => {
                "a keyword counts only where a command may begin, and needs its partner; quote it to mean the word itself"
            }
        };
        Stop::wrong(format!("unexpected {}", self.token_name()), self.token_span(), help)
    }

    /// Describes the token here, for messages.
    pub(crate) fn token_name(&mut self) -> String {
        match self.c.peek() {
            None => "end".to_owned(),
            Some(b'\n') => "end of the line".to_owned(),
            Some(_) => format!("`{}`", self.token_span().of(self.c.text)),
        }
    }

    /// Returns the span of the operator here, or of the bytes up to the next one that ends an unquoted word: quotes are
    /// ignored, as a message needs no more.
    pub(crate) fn token_span(&mut self) -> Span {
        self.c.peek();
        let start = self.c.pos;
        let rest = &self.c.text[start..];
        let operator = [
            ";;&", "&>>", "<<<", "<<-", ";;", ";&", "&&", "||", "|&", "&>", "<<", ">>", "<&", ">&", "<>",
            ">|",
        ];
        let length = operator.iter().find(|op| rest.starts_with(**op)).map(|op| op.len());
        let length = length.unwrap_or_else(|| match rest.bytes().next() {
            Some(b) if ends_word(b) => 1,
            _ => rest.bytes().position(ends_word).unwrap_or(rest.len()),
        });
        Span::new(start, start + length)
    }

    /// Enters a nesting level.
    pub(crate) fn enter(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Stop::unsure(Unmodelled::Size);
        }
        Ok(())
    }

    /// Enters the nesting levels of another reader, whose text holds this one's, and one more.
    pub(crate) fn nest_as_deep_as(&mut self, outer: &Reader<'_>) -> Read<()> {
        self.depth = outer.depth;
        self.enter()
    }

    /// Leaves a nesting level.
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Stops if the shell is not bash: the text is left to it.
    pub(crate) fn bash_only(&self) -> Read<()> {
        match self.dialect {
            Dialect::Bash | Dialect::Zsh => Ok(()),
            Dialect::Posix => Stop::unsure(Unmodelled::Dialect),
        }
    }

    /// Makes a rejection uncertain unless the shell is bash.
    pub(crate) fn only_bash_refuses<T>(&self, read: Read<T>) -> Read<T> {
        match read {
            Err(Stop::Wrong { .. }) if self.dialect == Dialect::Posix => Stop::unsure(Unmodelled::Dialect),
            other => other,
        }
    }
}
