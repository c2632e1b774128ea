//! Errors and their positions.

use std::fmt;
use std::io;

/// Why reading ended early.
#[derive(Debug)]
pub enum Failure {
    /// The text violates RFC 4180.
    Syntax(SyntaxError),
    /// A missing column, or an invalid condition.
    Columns(String),
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
    /// Record number, from 1, including the header.
    pub record: u64,
    /// Line number of the error, from 1; a record may span lines.
    pub line: u64,
    /// Byte in that line, from 1.
    pub column: u64,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}, record {}: {}", self.line, self.column, self.record, self.fault)
    }
}

impl std::error::Error for SyntaxError {}

/// Kinds of syntax errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A quote inside an unquoted field, or text after a closing quote.
    Quote,
    /// The input ends within quotes that open here.
    Unclosed,
    /// A record exceeds the limit. An unclosed quote turns the rest of the input into one record.
    TooLong {
        /// Maximum length of a record in bytes.
        limit: usize,
        /// Whether the position is that of an opening quote; otherwise it is the start of the record.
        quoted: bool,
    },
    /// A record has a different number of fields than the first.
    Fields {
        /// Number of fields of the record.
        found: usize,
        /// Number of fields of the first record.
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
