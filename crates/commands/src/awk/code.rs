//! A program as it is run: names are places, constants are ready.

use super::array::Array;
use super::format::Piece;
use super::record::Separator;
use super::tree::{Arith, Order};
use super::value::{Text, Value};

/// Places of variables that the language knows, among the global ones.
pub(super) const FS: usize = 0;
pub(super) const OFS: usize = 1;
pub(super) const ORS: usize = 2;
pub(super) const SUBSEP: usize = 4;
pub(super) const RSTART: usize = 5;
pub(super) const RLENGTH: usize = 6;

/// What they are called, and what they hold at first.
pub(super) const KNOWN: &[(&str, &str)] = &[
    ("FS", " "),
    ("OFS", " "),
    ("ORS", "\n"),
    ("RS", "\n"),
    ("SUBSEP", "\x1c"),
    ("RSTART", ""),
    ("RLENGTH", ""),
    ("CONVFMT", "%.6g"),
    ("OFMT", "%.6g"),
];

/// A program, ready.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) begin: Vec<Do>,
    pub(super) rules: Vec<Rule>,
    pub(super) end: Vec<Do>,
    pub(super) functions: Vec<Function>,
    /// What the global variables hold before anything runs.
    pub(super) globals: Vec<Value>,
    pub(super) arrays: usize,
    pub(super) ranges: usize,
    pub(super) fields: Separator,
    pub(super) record_end: u8,
}

#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) when: When,
    pub(super) action: Vec<Do>,
}

#[derive(Clone, Debug)]
pub(super) enum When {
    Always,
    If(Get),
    /// With the number of its state.
    Range(usize, Get, Get),
}

#[derive(Clone, Debug)]
pub(super) struct Function {
    /// Which parameters are arrays.
    pub(super) arrays: Vec<bool>,
    pub(super) body: Vec<Do>,
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Do {
    Run(Get),
    Print(Vec<Get>),
    PrintRecord,
    Printf(Vec<Piece>, Vec<Get>),
    If(Get, Vec<Do>, Vec<Do>),
    /// Test before, body, step.
    Loop(Option<Get>, Vec<Do>, Vec<Do>),
    /// `do … while`.
    Again(Vec<Do>, Get),
    Each(Place, Table, Vec<Do>),
    Delete(Table, Vec<Get>),
    Clear(Table),
    Next,
    Exit(Option<Get>),
    Return(Option<Get>),
    Break,
    Continue,
}

/// An array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Global(usize),
    /// A parameter's place among the arrays of the call.
    Local(usize),
}

/// What can be assigned.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Global(usize),
    Local(usize),
    Record,
    Field(usize),
    FieldAt(Box<Get>),
    FieldCount,
    Element(Table, Vec<Get>),
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Get {
    Number(f64),
    Text(Text),
    Of(Place),
    RecordNumber,
    FileRecordNumber,
    FileName,
    In(Table, Vec<Get>),
    Assign(Box<Place>, Box<Get>),
    Update(Arith, Box<Place>, Box<Get>),
    Step {
        place: Box<Place>,
        by: f64,
        before: bool,
    },
    Negate(Box<Get>),
    Plus(Box<Get>),
    Not(Box<Get>),
    Arith(Arith, Box<Get>, Box<Get>),
    Compare(Order, Box<Get>, Box<Get>),
    /// The number of a pattern.
    Match {
        negated: bool,
        text: Box<Get>,
        pattern: usize,
    },
    And(Box<Get>, Box<Get>),
    Or(Box<Get>, Box<Get>),
    If(Box<Get>, Box<Get>, Box<Get>),
    Concat(Vec<Get>),
    Length(Box<Get>),
    Size(Table),
    Substr(Box<Get>, Box<Get>, Option<Box<Get>>),
    Index(Box<Get>, Box<Get>),
    /// With the number of a separator.
    Split(Box<Get>, Table, usize),
    Substitute {
        all: bool,
        pattern: usize,
        by: Replacement,
        place: Box<Place>,
    },
    Find(Box<Get>, usize),
    Sprintf(Vec<Piece>, Vec<Get>),
    ToLower(Box<Get>),
    ToUpper(Box<Get>),
    Math(fn(f64) -> f64, Box<Get>),
    Call(usize, Vec<Argument>),
}

#[derive(Clone, Debug)]
pub(super) enum Argument {
    Value(Get),
    Table(Table),
}

/// What is put in the place of a match.
#[derive(Clone, Debug)]
pub(super) enum Replacement {
    /// Read already.
    Fixed(Vec<Part>),
    Made(Box<Get>),
}

/// A piece of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(Vec<u8>),
    /// What matched.
    Match,
}

impl Code {
    /// Arrays, empty.
    pub(super) fn tables(&self) -> Vec<Array> {
        let seed = super::array::Seed::new();
        (0..self.arrays).map(|_| Array::new(seed)).collect()
    }
}

/// Reads a replacement: `&` is what matched, a backslash before it or before itself takes its meaning away.
pub(super) fn replacement(text: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut plain = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match (byte, text.get(at)) {
            (b'\\', Some(next @ (b'&' | b'\\'))) => {
                plain.push(*next);
                at += 1;
            }
            (b'&', _) => {
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Match);
            }
            _ => plain.push(byte),
        }
    }
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    parts
}
