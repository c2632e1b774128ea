//! `shuf --random-source=FILE`: GNU coreutils, of all lines of one input.
//!
//! The permutation follows from the bytes of FILE alone. Numbers are drawn from them as gnulib's `randint` does, which
//! keeps what randomness a draw has left over; lines are swapped as Fisher and Yates do. Without that option the order is
//! random, and the real shuf runs.

use memchr::memchr_iter;
use pelton_stream::{BLOCK_BYTES, Flow, Framing, HandOver, Kernel, Outcome};

use crate::Family;
use crate::tool::argv::{Opt, Order, Takes, long, opt, parse};
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{IoErrors, StandardOutput, fatal_read_error};
use crate::tool::row::{Acceptor, InProcess, Tool, without_output_file};
use crate::{Accept, Command, Context, Declined, Facts, Input, Lookup, OutputFacts};

/// All that pelton knows of `shuf`.
pub(crate) static TOOL: Tool = Tool {
    name: "shuf",
    family: Family::GnuCoreutils,
    alternatives: &[],
    accept: Acceptor::WithLookup(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: without_output_file,
    io_errors: IoErrors { read: fatal_read_error, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-i3-3"], "", b"3\n")],
    cost: |_| Rate::both(6.0, 4.0, 1.0),
    other_versions: &[],
    verifiable: false,
    grammar: Grammar {
        role: Role::Filter,
        needs: &["--random-source=a", "--random-source=sorted", "--random-source=b -z", "-n 0"],
        options: &["-", "-z"],
        operands: &[""],
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    RandomSource,
    ZeroTerminated,
}

const OPTIONS: &[Opt<Id>] = &[
    long(Id::RandomSource, "random-source", Takes::Value),
    opt(Id::ZeroTerminated, b'z', "zero-terminated", Takes::Nothing),
];

/// Reads the arguments.
fn accept(args: &[Vec<u8>], _context: &Context, lookup: &dyn Lookup) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let sources = parsed.options().filter(|(id, _)| *id == Id::RandomSource).count();
    let (Some(name), 1) = (parsed.last_value(Id::RandomSource), sources) else {
        return Declined::because("an order that is random");
    };
    if Input::from_operands(&parsed.operands()) != [Input::Stdin] {
        return Declined::because("a file, with which it cannot go on as the real one");
    }
    let terminator = if parsed.has(Id::ZeroTerminated) { 0 } else { b'\n' };
    let random = lookup.script(name)?;
    Ok(Box::new(Shuf { terminator, random, scripts: vec![name.to_vec()], args: args.to_vec() }))
}

#[derive(Debug)]
struct Shuf {
    terminator: u8,
    /// What the random source holds.
    random: Vec<u8>,
    scripts: Vec<Vec<u8>>,
    args: Vec<Vec<u8>>,
}

impl Command for Shuf {
    fn facts(&self) -> Facts {
        Facts {
            record_end: self.terminator,
            output: OutputFacts { blocks_until_eof: true, ..OutputFacts::default() },
            scripts: self.scripts.clone(),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &[Input::Stdin]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(ShufKernel {
            terminator: self.terminator,
            random: RandomNumbers::new(self.random.clone()),
            text: Vec::new(),
            order: None,
            printed: 0,
        }))
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        Some(self.args.clone())
    }
}

/// Draws numbers from given bytes.
struct RandomNumbers {
    bytes: Vec<u8>,
    at: usize,
    /// A number of which every value up to `most` is equally likely.
    left: u64,
    most: u64,
}

impl RandomNumbers {
    fn new(bytes: Vec<u8>) -> Self {
        RandomNumbers { bytes, at: 0, left: 0, most: 0 }
    }

    /// Returns a number below `choices`, of which there is at least one. `None` if the bytes do not suffice.
    fn below(&mut self, choices: u64) -> Option<u64> {
        let largest = choices - 1;
        let (mut number, mut most) = (self.left, self.most);
        loop {
            while most < largest {
                number = (number << 8) + u64::from(*self.bytes.get(self.at)?);
                most = (most << 8) + 255;
                self.at += 1;
            }
            if most == largest {
                (self.left, self.most) = (0, 0);
                return Some(number);
            }
            let excess = most - largest;
            let unusable = excess % choices;
            let reduced = number % choices;
            if number <= most - unusable {
                (self.left, self.most) = (number / choices, excess / choices);
                return Some(reduced);
            }
            (number, most) = (reduced, unusable - 1);
        }
    }

    /// Returns the numbers below `count` in random order. `None` if the bytes do not suffice.
    fn permutation(&mut self, count: usize) -> Option<Vec<u32>> {
        let mut order: Vec<u32> = (0..count as u32).collect();
        if count < 2 {
            return Some(order);
        }
        for at in 0..count {
            let other = at + self.below((count - at) as u64)? as usize;
            order.swap(at, other);
        }
        Some(order)
    }
}

/// Collects its input, and prints its lines in order at the end.
struct ShufKernel {
    terminator: u8,
    random: RandomNumbers,
    text: Vec<u8>,
    /// The lines in the order in which they are printed, once that is known.
    order: Option<Vec<(usize, usize)>>,
    printed: usize,
}

impl ShufKernel {
    /// Returns where each line begins and ends, its terminator left out, in random order.
    fn shuffle(&mut self) -> Result<Vec<(usize, usize)>, &'static str> {
        let mut lines = Vec::new();
        let mut start = 0;
        for end in memchr_iter(self.terminator, &self.text) {
            lines.push((start, end));
            start = end + 1;
        }
        if start < self.text.len() {
            lines.push((start, self.text.len()));
        }
        if u32::try_from(lines.len()).is_err() {
            return Err("more than four thousand million lines");
        }
        let order = self.random.permutation(lines.len()).ok_or("a random source that is too short")?;
        Ok(order.into_iter().map(|at| lines[at as usize]).collect())
    }
}

impl Kernel for ShufKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        self.text.extend_from_slice(block);
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        let order = match self.order.take() {
            Some(order) => order,
            None => self
                .shuffle()
                .map_err(|reason| HandOver::at(0, reason).with_unconsumed(std::mem::take(&mut self.text)))?,
        };
        let enough = out.len() + BLOCK_BYTES;
        while out.len() < enough {
            let Some(&(start, end)) = order.get(self.printed) else { return Ok(Flow::Done) };
            out.extend_from_slice(&self.text[start..end]);
            out.push(self.terminator);
            self.printed += 1;
        }
        self.order = Some(order);
        Ok(Flow::More)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_randomness_that_a_draw_leaves() {
        let mut random = RandomNumbers::new(vec![200, 7, 255, 0, 17, 99]);
        let drawn: Vec<_> = (2..9).map(|choices| random.below(choices)).collect();
        assert!(drawn.iter().zip(2..).all(|(number, choices)| number.is_some_and(|n| n < choices)));
        // Seven draws of 2 to 8 values are 40,320: two bytes and a little.
        assert!(random.at <= 3, "{}", random.at);
        assert_eq!(RandomNumbers::new(Vec::new()).below(2), None);
        assert_eq!(RandomNumbers::new(Vec::new()).below(1), Some(0));
    }

    #[test]
    fn every_line_is_in_a_permutation_once() {
        let mut order = RandomNumbers::new((0..=255).cycle().take(4000).collect()).permutation(1000).unwrap();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000));
    }
}
