//! What a command tells the planner.

use crate::{ByteMap, ByteSet};

/// What is true of a command with these arguments, whatever its data.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What kind of work it does.
    pub class: Class,
    /// It prints nothing before the end of its input (P8).
    pub blocks_until_eof: bool,
    /// What it can do to the bytes and lines that pass.
    pub touches: Touches,
    /// The byte that ends its records: `\n`, or NUL for `-z`. What it reads need not be cut there if the class is a
    /// byte map.
    pub record_end: u8,
    /// It may want no more before its input ends (`Flow::Done`): `head`, `grep -q`, `sed q`. How far it has read
    /// then shows to whoever reads on, and to whoever feeds it.
    pub stops_early: bool,
    /// It then ends because it has what it wants, and not because something is wrong with its input.
    pub has_enough: bool,
}

/// What kind of work a command does.
#[derive(Clone, Debug)]
pub enum Class {
    /// Reads files or makes data, and passes it on unchanged (`cat FILE`, `seq`).
    Source,
    /// Each byte becomes a fixed byte or nothing, wherever it stands (`tr a b`, `tr -d`).
    ByteMap(Box<ByteMap>),
    /// Keeps or drops whole lines, each by itself (`grep`).
    LineFilter,
    /// Each line becomes zero or more lines, each by itself (`cut`, `sed s`).
    LineMap,
    /// Works line by line, but must know how many came before (`nl`, `tail -n +2`). Cheap, serial.
    LineNumbered,
    /// Keeps the beginning and then needs no more (`head`).
    Prefix,
    /// Reads several inputs side by side (`paste`, `comm`, `join`).
    Join,
    /// Passes bytes with a state that crosses lines (`tr -s`); serial.
    Opaque,
    /// Anything else (`tail`, `sort`, `uniq`, `wc`, `tee`): no rule asks more of it.
    Other,
}

/// What happens to the number of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Each line gives exactly one line, in order.
    Kept,
    /// Whole lines are kept, in order, or dropped.
    Fewer,
    /// Anything may happen to line boundaries or to order.
    Any,
}

/// What happens to a last line that lacks its terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLine {
    /// It still lacks it.
    Kept,
    /// It gets one.
    Completed,
    /// No promise.
    Any,
}

/// What a rule needs to prove that two stages commute.
#[derive(Clone, Debug)]
pub struct Touches {
    /// Bytes that can stand where they did not stand in the line.
    pub creates: ByteSet,
    /// Bytes that can go from where they stood, while the rest of their line stays.
    pub removes: ByteSet,
    /// What happens to the number of lines.
    pub lines: Lines,
    /// What happens to a last line without terminator.
    pub last_line: LastLine,
}

impl Touches {
    /// Every byte passes unchanged.
    pub fn nothing() -> Self {
        Touches {
            creates: ByteSet::none(),
            removes: ByteSet::none(),
            lines: Lines::Kept,
            last_line: LastLine::Kept,
        }
    }

    /// Nothing is known.
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
    /// For a class whose lines are treated alone: parts can run anywhere and be concatenated.
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

    /// For a class that must see everything in order.
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

    /// The same with another record terminator.
    pub fn with_record_end(mut self, record_end: u8) -> Self {
        self.record_end = record_end;
        self
    }

    /// The same, possibly wanting no more before the end of input.
    pub fn stopping_early(mut self) -> Self {
        self.stops_early = true;
        self.has_enough = true;
        self
    }

    /// The same, possibly wanting no more where something is wrong with its input (`sort -c`), or the other one has
    /// ended (`join`).
    pub fn giving_up_early(mut self) -> Self {
        self.stops_early = true;
        self
    }

    /// The same, printing nothing before the end of input.
    pub fn blocking(mut self) -> Self {
        self.blocks_until_eof = true;
        self
    }
}
