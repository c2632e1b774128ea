//! Facts about a command for the planner.

use crate::{ByteMap, ByteSet};

/// Facts that hold for a command with these arguments, for any data.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The kind of work.
    pub class: Class,
    /// Whether it prints nothing before the end of its input (P8).
    pub blocks_until_eof: bool,
    /// How it can change bytes and lines.
    pub touches: Touches,
    /// The record terminator: `\n`, or NUL for `-z`. Input of a byte map may be cut anywhere.
    pub record_end: u8,
    /// Whether it may stop before its input ends (`Flow::Done`): `head`, `grep -q`, `sed q`. The position
    /// where it stops shows to the next reader of the input, and to its writer.
    pub stops_early: bool,
    /// Whether it then stops because it is done, not because of a problem with its input.
    pub has_enough: bool,
}

/// The kind of a command's work.
#[derive(Clone, Debug)]
pub enum Class {
    /// Reads files or generates data, and passes it on unchanged (`cat FILE`, `seq`).
    Source,
    /// Maps each byte to a fixed byte or nothing, independent of position (`tr a b`, `tr -d`).
    ByteMap(Box<ByteMap>),
    /// Keeps or drops whole lines, each independently (`grep`).
    LineFilter,
    /// Maps each line to zero or more lines, each independently (`cut`, `sed s`).
    LineMap,
    /// Works line by line, but needs the line number (`nl`, `tail -n +2`). Cheap, serial.
    LineNumbered,
    /// Keeps the beginning and then stops (`head`).
    Prefix,
    /// Reads several inputs in parallel (`paste`, `comm`, `join`).
    Join,
    /// Passes bytes with a state that crosses lines (`tr -s`); serial.
    Opaque,
    /// Anything else (`tail`, `sort`, `uniq`, `wc`, `tee`): no rule distinguishes them further.
    Other,
}

/// How the number of lines changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Each line becomes exactly one line, in order.
    Kept,
    /// Whole lines are kept, in order, or dropped.
    Fewer,
    /// Line boundaries and order may change in any way.
    Any,
}

/// The effect on a last line without terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLine {
    /// It still lacks its terminator.
    Kept,
    /// It gets a terminator.
    Completed,
    /// Unspecified.
    Any,
}

/// What a rule needs to prove that two stages commute.
#[derive(Clone, Debug)]
pub struct Touches {
    /// Bytes that can appear in a line where they were not.
    pub creates: ByteSet,
    /// Bytes that can disappear from a line while the rest of it stays.
    pub removes: ByteSet,
    /// How the number of lines changes.
    pub lines: Lines,
    /// The effect on a last line without terminator.
    pub last_line: LastLine,
}

impl Touches {
    /// Returns the effects of a command that changes no byte.
    pub fn nothing() -> Self {
        Touches {
            creates: ByteSet::none(),
            removes: ByteSet::none(),
            lines: Lines::Kept,
            last_line: LastLine::Kept,
        }
    }

    /// Returns the effects of a command of which nothing is known.
    pub fn anything() -> Self {
        Touches {
            creates: ByteSet::all(),
            removes: ByteSet::all(),
            lines: Lines::Any,
            last_line: LastLine::Any,
        }
    }
}

impl Facts {
    /// Makes the facts of a class that treats lines independently: parts can run anywhere and be
    /// concatenated.
    pub fn stateless(class: Class, touches: Touches) -> Self {
        Facts {
            class,
            blocks_until_eof: false,
            touches,
            record_end: b'\n',
            stops_early: false,
            has_enough: false,
        }
    }

    /// Makes the facts of a class that must process everything in order.
    pub fn serial(class: Class, touches: Touches) -> Self {
        let stops_early = matches!(class, Class::Prefix);
        Facts {
            class,
            blocks_until_eof: false,
            touches,
            record_end: b'\n',
            stops_early,
            has_enough: stops_early,
        }
    }

    /// Sets the record terminator.
    pub fn with_record_end(mut self, record_end: u8) -> Self {
        self.record_end = record_end;
        self
    }

    /// Marks it as possibly done before the end of input.
    pub fn stopping_early(mut self) -> Self {
        self.stops_early = true;
        self.has_enough = true;
        self
    }

    /// Marks it as possibly stopping because of a problem with its input (`sort -c`), or because the other
    /// input has ended (`join`).
    pub fn giving_up_early(mut self) -> Self {
        self.stops_early = true;
        self
    }

    /// Marks it as printing nothing before the end of input.
    pub fn blocking(mut self) -> Self {
        self.blocks_until_eof = true;
        self
    }
}
