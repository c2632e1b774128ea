//! `unexpand`: GNU coreutils. Columns are bytes in this version.

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::{COREUTILS_8_32_TO_9_0, COREUTILS_TO_9_7, COREUTILS_TO_9_10, OtherVersions};
use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::bytes::tab_stops::Stops;
use crate::tool::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::{Accept, Command, Context, Declined, Facts, Input, Lines, OutputFacts, OverParts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    All,
    FirstOnly,
    Tabs,
    Obsolete,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::All, b'a', "all", Takes::Nothing),
    long(Id::FirstOnly, "first-only", Takes::Nothing),
    opt(Id::Tabs, b't', "tabs", Takes::Value),
    short(Id::Obsolete, b'0', Takes::MaybeValue),
    short(Id::Obsolete, b',', Takes::MaybeValue),
];

#[derive(Debug)]
struct Unexpand {
    stops: Stops,
    whole_lines: bool,
    inputs: Vec<Input>,
}

/// The tool row of `unexpand`.
pub(crate) static TOOL: Tool = Tool {
    name: "unexpand",
    family: Family::GnuCoreutils,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: false },
    only_prints: always,
    io_errors: IoErrors { write: io_errors::write_error_twice_if_early, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-at4"], "é  x\n", "é\tx\n".as_bytes())],
    cost: |_| Rate::both(2.2, 0.3, 0.9),
    other_versions: &[
        OtherVersions::alike(COREUTILS_8_32_TO_9_0),
        OtherVersions::alike(COREUTILS_TO_9_7),
        OtherVersions::but(COREUTILS_TO_9_10, difference),
    ],
    verifiable: true,
    grammar: Grammar::reader(
        &[],
        &[
            "-a",
            "--first-only",
            "-t@p",
            "-t @p",
            "-t 3,@p",
            "-t 2,9,20",
            "-@p",
            "--tabs=@p",
            "-at@p",
            "-t /4",
        ],
    ),
};

/// 9.9 no longer writes past its buffer with the tab stops /N and +N.
fn difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let is_stop = |arg: &Vec<u8>| arg.starts_with(b"-") || !arg.iter().any(u8::is_ascii_alphabetic);
    let repeats = |arg: &&Vec<u8>| is_stop(arg) && arg.iter().any(|byte| b"/+".contains(byte));
    args.iter().any(|arg| repeats(&arg)).then_some("tab stops that repeat")
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    if parsed.has(Id::Obsolete) {
        return Declined::because("an obsolete tab list");
    }
    if parsed.options().filter(|(id, _)| *id == Id::Tabs).count() > 1 {
        return Declined::because("several tab lists");
    }
    let stops = parsed.last_value(Id::Tabs).map_or(Ok(Stops::USUAL), Stops::parse)?;
    // A tab list implies whole lines, unless --first-only.
    let whole_lines = (parsed.has(Id::All) || parsed.has(Id::Tabs)) && !parsed.has(Id::FirstOnly);
    let inputs = Input::from_operands(&parsed.operands());
    Ok(Box::new(Unexpand { stops, whole_lines, inputs }))
}

impl Command for Unexpand {
    fn facts(&self) -> Facts {
        Facts {
            lines: Lines::Kept,
            over_parts: OverParts::Concatenated,
            output: OutputFacts::of_input(),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let (stops, whole_lines) = (self.stops.clone(), self.whole_lines);
        Ok(Box::new(UnexpandKernel { stops, whole_lines, line: Line::start() }))
    }
}

struct UnexpandKernel {
    stops: Stops,
    whole_lines: bool,
    line: Line,
}

/// The position in a line. A line may continue from one file into the next.
struct Line {
    /// Whether blanks may still become tabs.
    converting: bool,
    column: u64,
    /// Whether the previous byte was a blank; the beginning of a line counts as one.
    after_blank: bool,
    /// Pending blanks that may become a tab.
    pending: usize,
    /// Whether the first pending one is a single blank that ends at a stop: it becomes a tab only if more
    /// blanks follow.
    lone: bool,
}

impl Line {
    fn start() -> Self {
        Line { converting: true, column: 0, after_blank: true, pending: 0, lone: false }
    }

    fn space(&mut self, stops: &Stops, out: &mut Vec<u8>) {
        let Some(stop) = stops.after(self.column) else {
            self.end_conversion(out);
            out.push(b' ');
            return;
        };
        self.column += 1;
        if self.after_blank && self.column == stop {
            self.put_tab(out);
            return;
        }
        self.lone |= self.column == stop;
        self.pending += 1;
        self.after_blank = true;
    }

    fn tab(&mut self, stops: &Stops, out: &mut Vec<u8>) {
        match stops.after(self.column) {
            Some(stop) => {
                self.column = stop;
                self.put_tab(out);
            }
            None => {
                self.end_conversion(out);
                out.push(b'\t');
            }
        }
    }

    /// Prints a tab for the pending blanks; a single blank before a stop gets its own.
    fn put_tab(&mut self, out: &mut Vec<u8>) {
        if self.lone {
            out.push(b'\t');
        }
        out.push(b'\t');
        (self.pending, self.lone, self.after_blank) = (0, false, true);
    }

    /// Ends the conversion: after the last stop everything is unchanged.
    fn end_conversion(&mut self, out: &mut Vec<u8>) {
        self.put_pending(out);
        self.converting = false;
    }

    /// Prints the pending blanks as blanks.
    fn put_pending(&mut self, out: &mut Vec<u8>) {
        if self.pending == 0 {
            return;
        }
        out.push(if self.lone && self.pending > 1 { b'\t' } else { b' ' });
        out.resize(out.len() + self.pending - 1, b' ');
        (self.pending, self.lone) = (0, false);
    }

    /// Prints text without blanks, line ends and backspaces.
    fn text(&mut self, text: &[u8], whole_lines: bool, out: &mut Vec<u8>) {
        self.put_pending(out);
        out.extend_from_slice(text);
        self.column += text.len() as u64;
        self.after_blank = false;
        self.converting = whole_lines;
    }

    fn backspace(&mut self, whole_lines: bool, out: &mut Vec<u8>) {
        let column = self.column.saturating_sub(1);
        self.text(b"\x08", whole_lines, out);
        self.column = column;
    }
}

impl Kernel for UnexpandKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let mut rest = block;
        while let Some(&byte) = rest.first() {
            let length = match byte {
                b'\n' => {
                    self.line.put_pending(out);
                    out.push(b'\n');
                    self.line = Line::start();
                    1
                }
                _ if !self.line.converting => {
                    let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    out.extend_from_slice(&rest[..length]);
                    length
                }
                b' ' | b'\t' | 0x08 => {
                    self.special(byte, out);
                    1
                }
                _ => {
                    let special = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | 0x08);
                    let length = rest.iter().position(special).unwrap_or(rest.len());
                    self.line.text(&rest[..length], self.whole_lines, out);
                    length
                }
            };
            rest = &rest[length..];
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.line.put_pending(out);
        Ok(Flow::Done)
    }
}

impl UnexpandKernel {
    fn special(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b' ' => self.line.space(&self.stops, out),
            b'\t' => self.line.tab(&self.stops, out),
            _ => self.line.backspace(self.whole_lines, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    fn unexpand(args: &[&str], text: &[u8]) -> Vec<u8> {
        let context =
            Context { locale: Locale::C, implementation: Implementation::tested(Family::GnuCoreutils) };
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        let mut kernel = accept(&args, &context).unwrap().kernel().unwrap();
        let mut out = Vec::new();
        kernel.push(text, &mut out).unwrap();
        kernel.finish(&mut out).unwrap();
        out
    }

    #[test]
    fn only_leading_blanks_unless_asked() {
        let text = b"        a        b\n  \tc  \td";
        assert_eq!(unexpand(&[], text), b"\ta        b\n\tc  \td");
        assert_eq!(unexpand(&["-a"], text), b"\ta\t b\n\tc\td");
        assert_eq!(unexpand(&["-t4"], b"a   b    c"), b"a\tb\t c");
        assert_eq!(unexpand(&["-t4", "--first"], b"a   b    c"), b"a   b    c");
    }

    #[test]
    fn a_lone_blank_before_a_stop_stays_one_unless_more_follow() {
        assert_eq!(unexpand(&["-a"], b"1234567 b"), b"1234567 b");
        assert_eq!(unexpand(&["-a"], b"1234567  b"), b"1234567\t b");
        assert_eq!(unexpand(&["-a"], b"1234567 \tb"), b"1234567\t\tb");
    }

    #[test]
    fn behind_the_last_stop_nothing_changes() {
        assert_eq!(unexpand(&["-t2,4"], b"      x  y"), b"\t\t  x  y");
    }
}
