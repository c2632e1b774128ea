//! What can go wrong, and where.

use std::fmt;
use std::io;

/// Why reading ended early.
#[derive(Debug)]
pub enum Failure {
    /// The text is not what RFC 4180 has it.
    Syntax(SyntaxError),
    /// There is no such column, or a condition makes no sense.
    Columns(String),
    /// The input cannot be read.
    Read(io::Error),
    /// The output cannot be written.
    Write(io::Error),
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub fault: Fault,
    /// The record, from 1, the header among them.
    pub record: u64,
    /// The line on which it is wrong, from 1; a record may have several.
    pub line: u64,
    /// The byte of that line, from 1.
    pub column: u64,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}, record {}: {}", self.line, self.column, self.record, self.fault)
    }
}

impl std::error::Error for SyntaxError {}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A quote stands in a field without quotes around it, or something behind a closing quote.
    Quote,
    /// The input ends within quotes that were opened here.
    Unclosed,
    /// A record is longer than records may be; quotes that are never closed make one of all that follows.
    TooLong {
        /// How many bytes a record may have.
        limit: usize,
        /// Quotes were opened here; otherwise it begins here.
        quoted: bool,
    },
    /// A record has more or fewer fields than the first.
    Fields {
        /// How many it has.
        found: usize,
        /// How many the first has.
        wanted: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Quote => {
                write!(f, "a quote within a field: a field with quotes has them around it, and doubled in it")
            }
            Fault::Unclosed => write!(f, "the input ends within the quotes that are opened here"),
            Fault::TooLong { limit, quoted } => {
                let what = if *quoted {
                    "the quotes that are opened here are not closed"
                } else {
                    "the record goes on"
                };
                write!(f, "{what} within {limit} bytes, and no record may be longer")
            }
            Fault::Fields { found, wanted } => write!(f, "{found} fields, and the first record has {wanted}"),
        }
    }
}
