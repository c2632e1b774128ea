//! The tokens of the language. Only the parser knows whether a slash divides or begins an expression, and
//! requests one or the other.

use crate::{Accept, Declined};

use super::Dialect;
use super::tree::Builtin;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    End,
    Newline,
    Number(f64),
    Text(Vec<u8>),
    /// A name; a function's if a parenthesis follows directly.
    Name(String),
    Function(String),
    /// Keywords, operators and punctuation.
    Sign(&'static str),
}

const KEYWORDS: &[&str] = &[
    "BEGIN", "END", "function", "if", "else", "while", "for", "do", "break", "continue", "next", "nextfile",
    "exit", "return", "delete", "in", "getline", "print", "printf",
];

/// Whether the language reserves this name.
pub(super) fn is_taken(name: &str) -> bool {
    KEYWORDS.contains(&name) || name == "ENVIRON" || Builtin::named(name).is_some()
}

/// Prefixes come after longer signs.
const SIGNS: &[&str] = &[
    "**=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", "==", "<=", ">=", "!=", "!~",
    ">>", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|", "?", ":",
    "~", "$", "=",
];

pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    /// The number of the line, from 1 on.
    line: usize,
    pub(super) dialect: Dialect,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Lexer { text, at: 0, line: 1, dialect }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// Returns the number of the line, from 1 on, at the end of the last token.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Whether the program has more than one line.
    pub(super) fn has_lines(&self) -> bool {
        memchr::memchr(b'\n', self.text).is_some()
    }

    /// Counts the lines up to a place behind the last one.
    fn move_to(&mut self, at: usize) {
        let end = at.min(self.text.len());
        self.line += memchr::memchr_iter(b'\n', &self.text[self.at.min(end)..end]).count();
        self.at = at;
    }

    /// Returns the next token.
    pub(super) fn token(&mut self) -> Accept<Token> {
        self.skip_blanks()?;
        let Some(&byte) = self.rest().first() else { return Ok(Token::End) };
        match byte {
            b'\n' => {
                self.move_to(self.at + 1);
                Ok(Token::Newline)
            }
            b'"' => self.text(),
            b'0'..=b'9' => self.number(),
            b'.' if self.rest().get(1).is_some_and(u8::is_ascii_digit) => self.number(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Ok(self.word()),
            _ => self.sign(),
        }
    }

    fn skip_blanks(&mut self) -> Accept<()> {
        loop {
            match self.rest() {
                [b' ' | b'\t', ..] => self.move_to(self.at + 1),
                [b'\\', b'\n', ..] => self.move_to(self.at + 2),
                [b'#', ..] => {
                    let end = memchr::memchr(b'\n', self.rest()).unwrap_or(self.rest().len());
                    if self.rest()[..end].ends_with(b"\\") {
                        return Declined::because("a backslash at the end of a comment");
                    }
                    self.move_to(self.at + end);
                }
                [b'\r' | b'\x0b' | b'\x0c', ..] => {
                    return Declined::because("control characters in the program");
                }
                _ => return Ok(()),
            }
        }
    }

    fn word(&mut self) -> Token {
        let rest = self.rest();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let word = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.move_to(self.at + length);
        if let Some(keyword) = KEYWORDS.iter().find(|keyword| **keyword == word) {
            return Token::Sign(keyword);
        }
        if self.rest().first() == Some(&b'(') { Token::Function(word) } else { Token::Name(word) }
    }

    fn sign(&mut self) -> Accept<Token> {
        let rest = self.rest();
        let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(sign.as_bytes())) else {
            return Declined::because(format!("the character {:?} in the program", char::from(rest[0])));
        };
        self.move_to(self.at + sign.len());
        Ok(Token::Sign(match *sign {
            "**" if self.dialect.is_gawk() => "^",
            "**=" if self.dialect.is_gawk() => "^=",
            "**" | "**=" => return Declined::because("** for ^"),
            sign => sign,
        }))
    }

    /// Parses digits, a point, an exponent. Declines ambiguous forms (`0x1A`, `1e`).
    fn number(&mut self) -> Accept<Token> {
        let rest = self.rest();
        let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut length = digits(0);
        if rest.get(length) == Some(&b'.') {
            length += 1 + digits(length + 1);
        }
        if let Some(b'e' | b'E') = rest.get(length) {
            let sign = usize::from(matches!(rest.get(length + 1), Some(b'+' | b'-')));
            let exponent = digits(length + 1 + sign);
            if exponent > 0 {
                length += 1 + sign + exponent;
            }
        }
        if rest.get(length).is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')) {
            return Declined::because("a number with something at its end");
        }
        self.move_to(self.at + length);
        let text = String::from_utf8_lossy(&rest[..length]);
        // `010` and the like; one with an 8 or a 9, a point or an exponent is decimal.
        if self.dialect.is_gawk()
            && length > 1
            && rest[0] == b'0'
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'))
        {
            return match u32::from_str_radix(&text, 8) {
                Ok(value) => Ok(Token::Number(value.into())),
                Err(_) => Declined::because("a number that is too large"),
            };
        }
        let value: f64 = text.parse().map_err(|_| Declined::new("a number that cannot be read"))?;
        if !value.is_finite() {
            return Declined::because("a number that is too large");
        }
        let is_zero = text
            .bytes()
            .take_while(|byte| !matches!(byte, b'e' | b'E'))
            .all(|byte| !matches!(byte, b'1'..=b'9'));
        if !value.is_normal() && !is_zero {
            return Declined::because("a number that is too small");
        }
        Ok(Token::Number(value))
    }

    fn text(&mut self) -> Accept<Token> {
        let rest = &self.rest()[1..];
        let mut end = 0;
        loop {
            match rest.get(end) {
                None | Some(b'\n') => return Declined::because("a string without end"),
                Some(b'"') => break,
                Some(b'\\') if rest.get(end + 1) == Some(&b'\n') => {
                    return Declined::because("a string that goes on in the next line");
                }
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        self.move_to(self.at + end + 2);
        Ok(Token::Text(unescape(&rest[..end], self.dialect)?))
    }

    /// Parses the expression after its first slash; `begun` is what was already read of it.
    pub(super) fn regex(&mut self, begun: &[u8]) -> Accept<Vec<u8>> {
        let rest = self.rest();
        let mut in_brackets = false;
        let mut end = 0;
        loop {
            match rest.get(end) {
                None | Some(b'\n') => return Declined::because("an expression without end"),
                Some(b'/') if in_brackets => return Declined::because("a slash in brackets"),
                Some(b'/') => break,
                Some(b'\\') => {
                    end += 2;
                    continue;
                }
                // A bracket first in the list is a member of it.
                Some(b'[') if !in_brackets => {
                    in_brackets = true;
                    end += usize::from(rest.get(end + 1) == Some(&b'^'));
                    end += usize::from(rest.get(end + 1) == Some(&b']'));
                }
                Some(b'[') if matches!(rest.get(end + 1), Some(b':')) => {
                    let Some(close) = memchr::memmem::find(&rest[end..], b":]") else {
                        return Declined::because("a class without end");
                    };
                    end += close + 1;
                }
                Some(b']') => in_brackets = false,
                Some(_) => {}
            }
            end += 1;
        }
        self.move_to(self.at + end + 1);
        Ok([begun, &rest[..end]].concat())
    }
}

/// Expands a string's escapes. Declines those that differ between awks.
pub(super) fn unescape(text: &[u8], dialect: Dialect) -> Accept<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        bytes.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(&escape) = rest.first() else {
            return Declined::because("a backslash at the end of a string");
        };
        let mut length = 1;
        let byte = match escape {
            b'"' | b'\\' => escape,
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => {
                length = rest.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let value =
                    rest[..length].iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                match u8::try_from(value) {
                    Ok(0) | Err(_) => return Declined::because("a NUL, or more than a byte, in octal"),
                    Ok(byte) => byte,
                }
            }
            // mawk keeps the backslash of an unknown escape.
            _ if dialect.is_mawk() && escape.is_ascii_punctuation() => {
                bytes.push(b'\\');
                escape
            }
            _ if dialect.is_one_true() && escape.is_ascii_punctuation() => escape,
            _ => return Declined::because(format!("the escape \\{}", escape.escape_ascii())),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    bytes.extend_from_slice(rest);
    Ok(bytes)
}
