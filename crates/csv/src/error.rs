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
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, record {}: {}", self.line, self.record, self.fault)
    }
}

impl std::error::Error for SyntaxError {}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A quote stands in a field without quotes around it, or something behind a closing quote.
    Quote,
    /// The input ends within quotes that were opened in this record.
    Unclosed,
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
            Fault::Unclosed => write!(f, "the input ends within quotes"),
            Fault::Fields { found, wanted } => write!(f, "{found} fields, and the first record has {wanted}"),
        }
    }
}
