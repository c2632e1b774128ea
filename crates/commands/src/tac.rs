//! `tac`: GNU coreutils, for separators of one byte.
//!
//! Each input is reversed by itself, so all of it must be held.

use pelton_stream::{BLOCK_BYTES, Flow, Framing, Kernel, Outcome};

use crate::argv::{Opt, Order, Takes, opt, parse};
use crate::{Accept, Class, Command, Context, Declined, Facts, Input, Lines, Touches};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Before,
    Regex,
    Separator,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Before, b'b', "before", Takes::Nothing),
    opt(Id::Regex, b'r', "regex", Takes::Nothing),
    opt(Id::Separator, b's', "separator", Takes::Value),
];

#[derive(Debug)]
struct Tac {
    separator: u8,
    before: bool,
    inputs: Vec<Input>,
}

/// Reads the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    if parsed.has(Id::Regex) {
        return Declined::because("a separator that is a regular expression");
    }
    let separator = match parsed.last_value(Id::Separator) {
        None => b'\n',
        Some([]) => 0,
        Some([byte]) => *byte,
        Some(_) => return Declined::because("a separator of several bytes"),
    };
    let inputs = Input::stdin_once(Input::from_operands(&parsed.operands()))?;
    Ok(Box::new(Tac { separator, before: parsed.has(Id::Before), inputs }))
}

/// `tac` of one input, by lines.
pub fn reverses_lines(args: &[Vec<u8>]) -> bool {
    let Ok(parsed) = parse(args, OPTIONS, Order::Anywhere) else { return false };
    parsed.options().next().is_none() && parsed.operands().len() <= 1
}

impl Command for Tac {
    fn facts(&self) -> Facts {
        let mut touches = Touches::nothing();
        touches.lines = Lines::Any;
        touches.last_line = crate::LastLine::Any;
        Facts::serial(Class::Order, touches).blocking()
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(TacKernel {
            separator: self.separator,
            before: self.before,
            held: Vec::new(),
            inputs_left: self.inputs.len(),
        }))
    }
}

struct TacKernel {
    separator: u8,
    before: bool,
    held: Vec<u8>,
    inputs_left: usize,
}

impl TacKernel {
    /// Prints records from the end of what is held, until `out` has grown by about `most` bytes, and forgets them.
    /// Returns whether nothing is left.
    fn print(&mut self, most: usize, out: &mut Vec<u8>) -> bool {
        let enough = out.len().saturating_add(most);
        let mut end = self.held.len();
        for at in memchr::memrchr_iter(self.separator, &self.held) {
            // A record starts behind a separator, or with it.
            let start = if self.before { at } else { at + 1 };
            out.extend_from_slice(&self.held[start..end]);
            end = start;
            if out.len() >= enough {
                self.held.truncate(end);
                return false;
            }
        }
        out.extend_from_slice(&self.held[..end]);
        self.held.clear();
        true
    }
}

impl Kernel for TacKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        self.held.extend_from_slice(block);
        Ok(Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.inputs_left -= 1;
        // The last input is printed block by block, in `finish`.
        if self.inputs_left > 0 {
            self.print(usize::MAX, out);
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        Ok(if self.print(BLOCK_BYTES, out) { Flow::Done } else { Flow::More })
    }
}
