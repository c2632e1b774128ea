//! A position in the text, as the shell's reader sees it.
//!
//! A backslash before a newline vanishes wherever the shell looks for a token or a double-quoted byte, even
//! in the middle of a name or an operator. [`Cursor::peek`] therefore steps over such pairs; the quoting that
//! keeps them (single quotes, comments, bodies of here-documents) reads through [`Cursor::raw`].

use pelton_record::Span;

/// A position in a text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'t> {
    /// The whole text.
    pub text: &'t str,
    /// Offset of the next byte.
    pub pos: usize,
}

impl<'t> Cursor<'t> {
    /// Makes a cursor at the beginning.
    pub fn new(text: &'t str) -> Self {
        Cursor { text, pos: 0 }
    }

    /// Returns the next byte as written.
    pub fn raw(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    /// Returns the byte `ahead` of the next one, as written.
    pub fn raw_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.pos + ahead).copied()
    }

    /// Steps over line continuations, and returns the next byte.
    pub fn peek(&mut self) -> Option<u8> {
        while self.raw() == Some(b'\\') && self.raw_at(1) == Some(b'\n') {
            self.pos += 2;
        }
        self.raw()
    }

    /// Returns the byte after the next one, ignoring line continuations. Steps over nothing beyond the next
    /// byte.
    pub fn peek_second(&mut self) -> Option<u8> {
        self.peek()?;
        let mut ahead = self.clone();
        ahead.pos += 1;
        ahead.peek()
    }

    /// Steps over `byte` if it is next.
    pub fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.pos += 1;
        }
        found
    }

    /// Steps over one character and returns it.
    pub fn take_char(&mut self) -> Option<char> {
        let next = self.text.get(self.pos..)?.chars().next()?;
        self.pos += next.len_utf8();
        Some(next)
    }

    /// Returns the span from `start` to here.
    pub fn since(&self, start: usize) -> Span {
        Span::new(start, self.pos)
    }

    /// Steps over spaces, tabs and line continuations.
    pub fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.pos += 1;
        }
    }

    /// Steps over a comment, if one begins here. The newline that ends it stays.
    pub fn skip_comment(&mut self) {
        if self.peek() == Some(b'#') {
            let rest = &self.text.as_bytes()[self.pos..];
            self.pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        }
    }
}

/// Whether this byte ends a word when unquoted.
pub(crate) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// Whether the byte may begin a name.
pub(crate) fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}
