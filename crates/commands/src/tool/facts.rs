//! Facts about a command for the planner.

use super::interface::{Copies, Ending, FileNames, TemporaryFiles};
use crate::{ByteMap, ByteSet};

/// Facts that hold for a command with these arguments, for any data.
///
/// The default is a command of which nothing is known but that it reads all its input, prints as it
/// reads, and prints no diagnostics. A command states what deviates from that.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The kind of work.
    pub class: Class,
    /// The effect on the number of lines.
    pub lines: Lines,
    /// The record terminator: `\n`, or NUL for `-z`.
    pub record_end: u8,
    /// How it reads its input.
    pub input: InputFacts,
    /// What it prints.
    pub output: OutputFacts,
    /// How its outputs over parts of its input become its output over all of it.
    pub over_parts: OverParts,
    /// How it prints diagnostics.
    pub diagnostics: Diagnostics,
    /// The program that it starts for its input and whose work its kernel does as well (`xargs grep`).
    pub child: Option<ChildProgram>,
    /// The files that continue its arguments. They were read when the command was accepted.
    pub scripts: Vec<Vec<u8>>,
    /// Where the real command spills, if it does not hold all input in memory.
    pub temporary_files: TemporaryFiles,
    /// For a user's program (awk): whether threads can share its records, or why they are processed in
    /// order.
    pub sharing: Option<String>,
    /// Why its kernel gains nothing without another kernel to fuse with, if so: the real command then
    /// runs.
    pub no_gain_alone: Option<&'static str>,
}

impl Default for Facts {
    fn default() -> Self {
        Facts {
            class: Class::default(),
            lines: Lines::default(),
            record_end: b'\n',
            input: InputFacts::default(),
            output: OutputFacts::default(),
            over_parts: OverParts::default(),
            diagnostics: Diagnostics::default(),
            child: None,
            scripts: Vec::new(),
            temporary_files: TemporaryFiles::default(),
            sharing: None,
            no_gain_alone: None,
        }
    }
}

impl Facts {
    /// Returns the facts of a byte map.
    pub fn of_map(map: &ByteMap) -> Self {
        Facts { class: Class::ByteMap(Box::new(map.clone())), ..Facts::default() }
    }

    /// Whether it may stop before its input ends, for any reason.
    pub fn stops_early(&self) -> bool {
        self.input.stops_early.is_some()
    }

    /// Whether its kind of work treats each line by itself, whatever stands around it.
    pub fn treats_lines_alike(&self) -> bool {
        let alike = matches!(self.class, Class::Copy | Class::ByteMap(_) | Class::LineFilter);
        alike && !self.stops_early()
    }

    /// Returns which bytes its output can hold if its input holds these.
    pub fn content_after(&self, input: Content) -> Content {
        match (&self.class, self.output.content, input) {
            (Class::LineFilter | Class::Copy, _, Content::Text) => Content::Text,
            (Class::LineFilter | Class::Copy, Content::Bytes, _) => input,
            (Class::ByteMap(map), ..) if map.creates().contains(0) => Content::Bytes,
            (Class::ByteMap(map), ..) if map.removes().contains(0) => Content::NoNul,
            (Class::ByteMap(_), ..) | (_, Content::NoNewNul, _) => match input {
                Content::Bytes | Content::NoNewNul => Content::Bytes,
                Content::NoNul | Content::Text => Content::NoNul,
            },
            (_, own, _) => own,
        }
    }

    /// Whether it only copies its input.
    pub fn only_copies(&self) -> bool {
        match &self.class {
            Class::Copy => true,
            Class::ByteMap(map) => **map == ByteMap::identity(),
            _ => false,
        }
    }
}

/// The kind of a command's work.
#[derive(Clone, Debug, Default)]
pub enum Class {
    /// Prints its inputs unchanged, one after another (`cat FILE`).
    Copy,
    /// Maps each byte to a fixed byte or nothing, independent of position (`tr a b`, `tr -d`). Its input
    /// may be cut anywhere.
    ByteMap(Box<ByteMap>),
    /// Keeps or drops whole lines, each independently (`grep`).
    LineFilter,
    /// Reads several inputs in parallel (`paste`, `comm`, `join`).
    Join,
    /// Anything else: no rule distinguishes further.
    #[default]
    Other,
}

/// The effect of a command on the number of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lines {
    /// Unknown, or its status is not 0 for all data.
    #[default]
    Unknown,
    /// Each line becomes exactly one line. A last line without terminator still lacks it.
    Kept,
    /// Each line becomes exactly one line. A last line without terminator gets one.
    Completed,
    /// The number may change.
    Changed,
}

/// How the outputs of a command over consecutive parts of its input, cut at ends of lines, become its output over
/// all of it: what several machines need to share its work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OverParts {
    /// In no way that is known. A command that [treats lines alike](Facts::treats_lines_alike) needs none: its outputs
    /// follow one another.
    #[default]
    Unknown,
    /// They follow one another; each is of whole lines, and has no NULs if the input has none.
    Concatenated,
    /// Likewise, if each part ends with a byte of the first set and begins with one of the second, wherever lines end: no run
    /// that is one to the command lies in two parts (`tr -s`).
    ConcatenatedBetween(ByteSet, ByteSet),
    /// They are numbers, one on a line, and are added (`wc -l`).
    Added,
    /// The same command reads them, one after another (`head -n 3`, `uniq`).
    ReadAgain,
    /// Behind a sort that breaks all ties, they are lines with the numbers of their occurrences, which are added (`uniq -c`).
    Counted,
    /// The same command with these arguments merges them as files, in the order of the parts (`sort -m`).
    Merged(Vec<Vec<u8>>),
    /// They follow one another up to this many lines, behind which nothing more is read (`grep -m 3`).
    FirstLines(u64),
    /// Its kernels for [`Special::Part`](crate::Special::Part) print what one for [`Special::PartSums`](crate::Special::PartSums) reads
    /// (`awk '{s += $1} END {print s}'`).
    Folded,
    /// They are empty, and a part that ends with status 0 decides the whole (`grep -q`).
    AnySuccess,
    /// They follow one another, and each line begins with the number of its line of the input, as wide as this (`grep -n`,
    /// `cat -n`).
    Numbered(usize),
    /// They follow one another, if the first part has at least `lines` lines and the same command reads the others with
    /// `options` before its arguments (`awk 'NR > 1'`). `None`: the others are copied (`tail -n +2`).
    AfterFirst {
        /// Lines of the input.
        lines: u64,
        /// Arguments, or nothing at all.
        options: Option<Vec<Vec<u8>>>,
    },
}

/// How much head, tail and tr of coreutils read at a time, in bytes: `BUFSIZ` of the C library.
pub(crate) const BUFSIZ_BYTES: usize = 8192;

/// How a command reads its input.
#[derive(Clone, Debug, Default)]
pub struct InputFacts {
    /// Why it may stop before its input ends (`Flow::Done`), if it may. The position where it stops shows
    /// to the next reader of the input, and to its writer.
    pub stops_early: Option<EarlyStop>,
    /// How much it reads from a pipe at a time, in bytes, if not the C library's buffer. What feeds it can tell how much
    /// it has taken before it stops.
    pub pipe_read_bytes: Option<usize>,
    /// How much of the end of its input determines its output (`tail -n 5`): nothing before it need be
    /// read from a file.
    pub needed_end: Option<Ending>,
    /// How many lines of the beginning of standard input determine all that it does (`head -n 3`, `sed 3q`,
    /// `awk 'NR <= 3'`): what follows them changes nothing, not even its status. Lines end as
    /// [`record_end`](Facts::record_end) says.
    pub needed_lines: Option<u64>,
    /// Whether the output depends on where its reads of a pipe end (grep checks each for NULs), if NULs
    /// come. Its kernel then reads a pipe itself, never pieces from another kernel.
    pub depends_on_reads: bool,
    /// The program that reads its inputs again, from their beginning, where its kernel does not support what they hold:
    /// its own, or the one that its script becomes. It then reads regular files only.
    pub reads_again: Option<&'static str>,
    /// Whether its output depends only on the set of input lines, not their order (`sort`).
    pub ignores_order: bool,
    /// Likewise if its input is UTF-8 without NULs: in a locale's order, bytes that are no characters may be equal to others,
    /// and then stay in the order in which they came.
    pub ignores_order_of_text: bool,
    /// Whether a NUL ends a line of its input, as a newline does (busybox). Its kernel takes care of that; a kernel that a
    /// rule makes in its place has to ([`with_nul_line_ends`](crate::with_nul_line_ends)).
    pub nul_ends_lines: bool,
    /// A string without which a line changes neither the output nor the status: `grep key` ignores lines
    /// without `key`.
    pub required_substring: Option<Vec<u8>>,
}

/// Why a command stops before its input ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyStop {
    /// It is done: `head`, `grep -q`, `sed q`.
    Done,
    /// A problem with its input (`sort -c`), or the end of its other input (`join`).
    Problem,
}

/// What a command prints.
#[derive(Clone, Debug, Default)]
pub struct OutputFacts {
    /// Whether it prints nothing before the end of its input (P8).
    pub blocks_until_eof: bool,
    /// The size of its output in bytes, if it is a source and the size is known.
    pub bytes: Option<u64>,
    /// Whether an option (`sed -u`) lets it write at once what its tool keeps in a buffer.
    pub is_unbuffered: bool,
    /// Which bytes can occur.
    pub content: Content,
    /// Whether its lines come in an order that only the real command knows (`for (k in a)` in awk). Its
    /// kernel prints them in another order, and may run only before a command that ignores order.
    pub order_is_unspecified: bool,
    /// The files that get a copy of the output (`tee`). Such a command has no kernel: a driver that can
    /// write the files passes the bytes on itself.
    pub copies: Option<Copies>,
    /// The files that its kernel writes.
    pub files: Option<FileNames>,
}

impl OutputFacts {
    /// Returns the facts of what is printed as the input is read, with no NUL but the input's.
    pub fn of_input() -> Self {
        OutputFacts { content: Content::NoNewNul, ..OutputFacts::default() }
    }

    /// Whether files get something beside the standard output: how much that is when the reader of the output leaves early
    /// is a race.
    pub fn goes_to_files_too(&self) -> bool {
        self.copies.is_some() || self.files.as_ref().is_some_and(|files| !files.only)
    }

    /// Returns the names of the files that it surely writes.
    pub fn known_files(&self) -> impl Iterator<Item = &[u8]> {
        let copies = self.copies.iter().flat_map(|copies| &copies.paths);
        copies.chain(self.files.iter().flat_map(|files| &files.known)).map(Vec::as_slice)
    }

    /// Whether it writes files.
    pub fn writes_files(&self) -> bool {
        self.copies.is_some() || self.files.is_some()
    }
}

/// Which bytes can occur in a command's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Any bytes.
    #[default]
    Bytes,
    /// Any bytes, NUL only if the input holds it.
    NoNewNul,
    /// Any bytes but NUL.
    NoNul,
    /// UTF-8 without NULs.
    Text,
}

/// How a command's kernel prints diagnostics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Diagnostics {
    /// Whether they begin with the name by which the command was called.
    pub show_name: bool,
    /// Whether they are written at once while the output is still buffered. If both go to the same file,
    /// their order shows, and the real command must run.
    pub overtake_output: bool,
}

/// A program that a command starts for its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildProgram {
    /// Its name.
    pub name: String,
    /// Whether it is started for each file, or for a few: output then comes in pieces, delayed by process
    /// starts.
    pub starts_often: bool,
}

/// Whether an escape in a script of sed or awk may stand for a NUL: `\0`, `\o0`, `\d000`, `\x00`, `\u0`, `\c@`.
pub(crate) fn may_escape_nul(arguments: &[Vec<u8>]) -> bool {
    let stands_for_nul =
        |pair: &[u8]| pair[0] == b'\\' && (pair[1].is_ascii_digit() || b"odxuc".contains(&pair[1]));
    arguments.iter().any(|argument| argument.windows(2).any(stands_for_nul))
}
