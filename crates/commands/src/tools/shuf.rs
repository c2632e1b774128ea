//! `shuf`: GNU coreutils, the lines of one input, or `-n` of them.
//!
//! With `--random-source=FILE` the order follows from the bytes of FILE alone, and is the same: numbers are drawn from them as
//! gnulib's `randint` does, which keeps what randomness a draw has left over; lines are swapped as Fisher and Yates do.
//! Without it every order is equally likely, as every sample of `-n` is; the system gives the random bytes. A small sample
//! is all that is held (Vitter's algorithm R, ACM Transactions on Mathematical Software 11:1, 1985, which the real shuf uses
//! too for what is not a small file).

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
    cost: |args| {
        let parsed = parse(args, OPTIONS, Order::Anywhere);
        match parsed.is_ok_and(|parsed| parsed.has(Id::HeadCount)) {
            true => Rate::both(1.4, 0.4, 0.0),
            false => Rate::both(6.0, 4.0, 1.0),
        }
    },
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
    HeadCount,
    RandomSource,
    ZeroTerminated,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::HeadCount, b'n', "head-count", Takes::Value),
    long(Id::RandomSource, "random-source", Takes::Value),
    opt(Id::ZeroTerminated, b'z', "zero-terminated", Takes::Nothing),
];

/// Reads the arguments.
fn accept(args: &[Vec<u8>], _context: &Context, lookup: &dyn Lookup) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let terminator = if parsed.has(Id::ZeroTerminated) { 0 } else { b'\n' };
    let counts = parsed.options().filter(|(id, _)| *id == Id::HeadCount).map(|(_, value)| lines(value));
    // Of several, shuf takes the smallest.
    let most = counts.collect::<Accept<Vec<_>>>()?.into_iter().min();
    let inputs = Input::from_operands(&parsed.operands());
    if inputs.len() > 1 {
        return Declined::because("several files, which are an error");
    }
    let sources = parsed.options().filter(|(id, _)| *id == Id::RandomSource).count();
    let Some(name) = parsed.last_value(Id::RandomSource) else {
        return Ok(Box::new(Shuf { terminator, most, given: None, inputs }));
    };
    if sources > 1 {
        return Declined::because("several random sources, which are an error");
    }
    if inputs != [Input::Stdin] {
        return Declined::because("a file, with which it cannot go on as the real one");
    }
    if most.is_some() {
        return Declined::because(
            "a sample by given bytes, which are drawn otherwise from pipes and large files",
        );
    }
    let given = Some(Given { random: lookup.script(name)?, file: name.to_vec(), args: args.to_vec() });
    Ok(Box::new(Shuf { terminator, most, given, inputs }))
}

/// Returns the number of lines that `-n` names.
fn lines(value: &[u8]) -> Accept<usize> {
    let number =
        std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match number.and_then(|text| text.parse().ok()) {
        Some(0) => Declined::because("no lines, for which it reads nothing"),
        Some(count) => Ok(count),
        None => Declined::because("a number of lines that it may refuse"),
    }
}

#[derive(Debug)]
struct Shuf {
    terminator: u8,
    /// How many lines are printed at most.
    most: Option<usize>,
    /// `None`: the system gives random bytes.
    given: Option<Given>,
    inputs: Vec<Input>,
}

/// A file of random bytes.
#[derive(Debug)]
struct Given {
    /// What it holds.
    random: Vec<u8>,
    file: Vec<u8>,
    /// The arguments that name it.
    args: Vec<Vec<u8>>,
}

impl Command for Shuf {
    fn facts(&self) -> Facts {
        Facts {
            record_end: self.terminator,
            output: OutputFacts { blocks_until_eof: true, ..OutputFacts::default() },
            scripts: self.given.iter().map(|given| given.file.clone()).collect(),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        if self.given.is_none() {
            getrandom::fill(&mut [0; 1]).map_err(|_| Declined::new(NO_RANDOMNESS))?;
        }
        let random = RandomNumbers::new(self.given.as_ref().map(|given| given.random.clone()));
        match self.most {
            Some(most) if most <= SAMPLE_MAX => Ok(Box::new(Sample::new(self.terminator, most, random))),
            most => Ok(Box::new(ShufKernel {
                terminator: self.terminator,
                most,
                random,
                text: Vec::new(),
                order: None,
                printed: 0,
            })),
        }
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        self.given.as_ref().map(|given| given.args.clone())
    }
}

/// A larger sample is taken of all lines, held in one piece.
const SAMPLE_MAX: usize = 1 << 16;
/// Random bytes that are asked for at a time.
const RANDOM_BYTES: usize = 4096;

/// Draws numbers from random bytes.
struct RandomNumbers {
    bytes: Vec<u8>,
    /// How many of them were used.
    at: usize,
    /// Whether the system gives more.
    goes_on: bool,
    /// A number of which every value up to `most` is equally likely.
    left: u64,
    most: u64,
}

impl RandomNumbers {
    /// Draws from given bytes, or from those of the system.
    fn new(given: Option<Vec<u8>>) -> Self {
        let goes_on = given.is_none();
        RandomNumbers { bytes: given.unwrap_or_default(), at: 0, goes_on, left: 0, most: 0 }
    }

    /// Returns the next byte; `None` if there is none.
    fn byte(&mut self) -> Option<u8> {
        if self.at == self.bytes.len() && self.goes_on {
            self.bytes.resize(RANDOM_BYTES, 0);
            getrandom::fill(&mut self.bytes).ok()?;
            self.at = 0;
        }
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Returns a number below `choices`, of which there is at least one. `None` if the bytes do not suffice.
    fn below(&mut self, choices: u64) -> Option<u64> {
        let largest = choices - 1;
        let (mut number, mut most) = (self.left, self.most);
        loop {
            while most < largest {
                number = (number << 8) + u64::from(self.byte()?);
                most = (most << 8) + 255;
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

    /// Puts `count` of the items in random order first, and drops the others. `None` if the bytes do not suffice.
    fn choose<T>(&mut self, items: &mut Vec<T>, count: usize) -> Option<()> {
        let count = count.min(items.len());
        for at in 0..count {
            let other = at + self.below((items.len() - at) as u64)? as usize;
            items.swap(at, other);
        }
        items.truncate(count);
        Some(())
    }
}

/// Collects its input, and prints its lines in order at the end.
struct ShufKernel {
    terminator: u8,
    most: Option<usize>,
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
        let count = self.most.unwrap_or(lines.len());
        self.random.choose(&mut lines, count).ok_or("a random source that is too short")?;
        Ok(lines)
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

/// Holds the sample of what it has read: each line takes the place of one in it, or of none, at random.
struct Sample {
    terminator: u8,
    most: usize,
    random: RandomNumbers,
    lines: Vec<Vec<u8>>,
    /// The lines read.
    count: u64,
}

impl Sample {
    fn new(terminator: u8, most: usize, random: RandomNumbers) -> Self {
        Sample { terminator, most, random, lines: Vec::new(), count: 0 }
    }

    fn add(&mut self, line: &[u8]) -> Option<()> {
        self.count += 1;
        if self.lines.len() < self.most {
            self.lines.push(line.to_vec());
            return Some(());
        }
        let place = self.random.below(self.count)?;
        if let Some(replaced) = usize::try_from(place).ok().and_then(|place| self.lines.get_mut(place)) {
            replaced.clear();
            replaced.extend_from_slice(line);
        }
        Some(())
    }
}

/// Why the real command runs.
const NO_RANDOMNESS: &str = "a system that gives no random bytes";

impl Kernel for Sample {
    fn framing(&self) -> Framing {
        Framing::Records(self.terminator)
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        let mut start = 0;
        for end in memchr_iter(self.terminator, block) {
            self.add(&block[start..end]).ok_or_else(|| HandOver::at(0, NO_RANDOMNESS))?;
            start = end + 1;
        }
        if start < block.len() {
            self.add(&block[start..]).ok_or_else(|| HandOver::at(0, NO_RANDOMNESS))?;
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        let count = self.lines.len();
        self.random.choose(&mut self.lines, count).ok_or_else(|| HandOver::at(0, NO_RANDOMNESS))?;
        for line in self.lines.drain(..) {
            out.extend_from_slice(&line);
            out.push(self.terminator);
        }
        Ok(Flow::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: Vec<u8>) -> RandomNumbers {
        RandomNumbers::new(Some(bytes))
    }

    #[test]
    fn numbers_keep_the_randomness_that_a_draw_leaves() {
        let mut random = of(vec![200, 7, 255, 0, 17, 99]);
        let drawn: Vec<_> = (2..9).map(|choices| random.below(choices)).collect();
        assert!(drawn.iter().zip(2..).all(|(number, choices)| number.is_some_and(|n| n < choices)));
        // Seven draws of 2 to 8 values are 40,320: two bytes and a little.
        assert!(random.at <= 3, "{}", random.at);
        assert_eq!(of(Vec::new()).below(2), None);
        assert_eq!(of(Vec::new()).below(1), Some(0));
    }

    #[test]
    fn every_line_is_in_a_permutation_once() {
        let mut order: Vec<u32> = (0..1000).collect();
        of((0..=255).cycle().take(4000).collect()).choose(&mut order, 1000).unwrap();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000));
    }

    /// Samples of 3 of 7 lines, 14,000 times: each line is in 6,000 of them, each of 35 sets is 400 of them, and each
    /// line stands first in 2,000. The standard deviations are 59, 20 and 41; beyond six of them nothing is.
    #[test]
    fn every_sample_is_as_likely() {
        let (mut sets, mut first) = (std::collections::BTreeMap::new(), [0_u32; 7]);
        for _ in 0..14_000 {
            let mut sample = Sample::new(b'\n', 3, RandomNumbers::new(None));
            sample.push(b"0\n1\n2\n3\n", &mut Vec::new()).unwrap();
            sample.push(b"4\n5\n6", &mut Vec::new()).unwrap();
            let mut out = Vec::new();
            sample.finish(&mut out).unwrap();
            let mut lines: Vec<u8> = out.iter().copied().filter(|byte| *byte != b'\n').collect();
            assert_eq!((lines.len(), out.len()), (3, 6));
            first[usize::from(lines[0] - b'0')] += 1;
            lines.sort_unstable();
            *sets.entry(lines).or_insert(0_u32) += 1;
        }
        assert!(sets.len() == 35 && sets.values().all(|count| count.abs_diff(400) < 120), "{sets:?}");
        assert!(first.iter().all(|count| count.abs_diff(2_000) < 250), "{first:?}");
    }

    #[test]
    fn fewer_lines_than_asked_for_are_all_printed() {
        for most in [5, SAMPLE_MAX + 1] {
            let shuf = Shuf { terminator: b'\n', most: Some(most), given: None, inputs: vec![Input::Stdin] };
            let mut kernel = shuf.kernel().unwrap();
            kernel.push(b"a\nb\n", &mut Vec::new()).unwrap();
            let mut out = Vec::new();
            while kernel.finish(&mut out).unwrap() == Flow::More {}
            assert!(out == b"a\nb\n" || out == b"b\na\n");
        }
    }
}
