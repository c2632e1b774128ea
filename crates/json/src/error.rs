//! Errors and their positions.

use std::fmt;
use std::io;

/// Why reading ended early.
#[derive(Debug)]
pub enum Failure {
    /// The text is not JSON.
    Syntax(Box<SyntaxError>),
    /// The input cannot be read.
    Read(io::Error),
    /// The output cannot be written.
    Write(io::Error),
}

/// A syntax error and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The kind of error.
    pub fault: Fault,
    /// Offset in bytes from the start of the input.
    pub offset: u64,
    /// Line number, from 1.
    pub line: u64,
    /// Byte in that line, from 1.
    pub column: u64,
    /// Path of the value that was being read, in the notation of the output. For an error inside a skipped
    /// value, the path of the whole skipped value.
    pub path: Vec<u8>,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = String::from_utf8_lossy(&self.path);
        write!(f, "line {}, column {}, at {}: {}", self.line, self.column, shortened(&path), self.fault)
    }
}

impl std::error::Error for SyntaxError {}

/// Cuts out the middle of a long path.
fn shortened(path: &str) -> String {
    const ENDS: usize = 60;
    let characters = path.chars().count();
    if characters <= 2 * ENDS + 3 {
        return path.to_owned();
    }
    let start: String = path.chars().take(ENDS).collect();
    let end: String = path.chars().skip(characters - ENDS).collect();
    format!("{start} … {end}")
}

/// Kinds of syntax errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Unexpected text.
    Expected {
        /// What was expected.
        wanted: &'static str,
        /// What was found, in words.
        found: String,
    },
    /// The input ends within a document.
    Ends {
        /// What was expected.
        wanted: &'static str,
    },
    /// The input ends within a string.
    UnclosedString,
    /// A string holds a character that must be escaped.
    ControlCharacter(u8),
    /// A backslash before a character that cannot be escaped.
    Escape,
    /// A malformed number, with the reason.
    Number(&'static str),
    /// A word that is not `true`, `false` or `null`.
    Word(String),
    /// Invalid UTF-8.
    NotUtf8,
    /// More nesting levels than allowed.
    TooDeep(usize),
    /// A second document where one is expected.
    SecondDocument,
    /// No document where one is expected.
    NoDocument,
    /// A line ends within a document, in line mode.
    LineEnds,
    /// Too many nesting levels of values with conditions.
    TooManyHeld(usize),
}

/// An error, and its offset in the text.
pub(crate) type Flaw = (usize, Fault);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Expected { wanted, found } => write!(f, "{wanted} is expected, not {found}"),
            Fault::Ends { wanted } => write!(f, "the input ends where {wanted} is expected"),
            Fault::UnclosedString => write!(f, "the input ends within the string that begins here"),
            Fault::ControlCharacter(b'\n') => write!(f, "a line ends within a string: \\n is expected"),
            Fault::ControlCharacter(byte) => {
                write!(f, "a string holds the control character {byte:#04x}: \\u{byte:04x} is expected")
            }
            Fault::Escape => {
                write!(f, "a backslash escapes \" \\ / b f n r t, or u with four hexadecimal digits")
            }
            Fault::Number(reason) => write!(f, "this is no number of JSON: {reason}"),
            Fault::Word(word) => write!(f, "true, false or null is expected, not `{word}`"),
            Fault::NotUtf8 => write!(f, "these bytes are no UTF-8"),
            Fault::TooDeep(limit) => write!(f, "more than {limit} levels of objects and arrays"),
            Fault::SecondDocument => write!(f, "a second document begins here, and one is wanted"),
            Fault::TooManyHeld(limit) => {
                write!(f, "values that conditions judge lie within such values, more than {limit} levels")
            }
            Fault::LineEnds => write!(f, "a line ends within a document, and each is wanted on one line"),
            Fault::NoDocument => write!(f, "the input holds no document"),
        }
    }
}

/// Describes the character at `at` in words.
pub(crate) fn found(text: &[u8], at: usize) -> String {
    match text.get(at) {
        None => "the end of the input".to_owned(),
        Some(b'"') => "a string".to_owned(),
        Some(byte) if b"{}[]:,".contains(byte) => format!("`{}`", char::from(*byte)),
        Some(b'-' | b'0'..=b'9') => "a number".to_owned(),
        Some(_) => {
            // A character cut off by the end of the text cannot occur here: such text is not examined.
            let rest = &text[at..text.len().min(at + 4)];
            let first = String::from_utf8_lossy(rest).chars().next().unwrap_or_default();
            format!("`{}`", first.escape_debug())
        }
    }
}

/// Maximum length of a quoted word in a message.
const SHOWN: usize = 20;

/// Returns the run of bytes that could be a word; `None` if it may continue beyond `text`.
pub(crate) fn word_at(text: &[u8], at: usize, whole: bool) -> Option<String> {
    let rest = &text[at..];
    let end = rest.iter().take(SHOWN + 4).position(|byte| *byte <= b' ' || b"{}[]:,\"".contains(byte));
    if end.is_none() && rest.len() < SHOWN + 4 && !whole {
        return None;
    }
    let word = String::from_utf8_lossy(&rest[..end.unwrap_or(rest.len().min(SHOWN + 4))]);
    let shown: String = word.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    Some(if word.chars().count() > SHOWN { shown + "…" } else { shown })
}
