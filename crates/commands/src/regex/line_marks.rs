//! Marks the matching lines of a block with bitwise operations, 64 positions at once, however short the lines
//! are (as Parabix and icgrep do).
//!
//! A position is a bit. A register holds the positions where a partial match can stand; reading a character of a
//! set moves those bits up by one where the set has the byte, and a repetition of a set is an addition, whose
//! carries run to the end of the set's bytes. No set has the newline, so no partial match leaves its line. The
//! expression becomes a list of operations, each of which is applied to some thousand positions before the next.
//!
//! Repetitions of more than one character do not fit: [`line_automaton`](super::line_automaton) marks these.

use std::ops::Range;

use memchr::memrchr;
use pelton_simd::sequences::{STEP, Sequences};
use pelton_simd::{byte_masks, compact};

use crate::ByteSet;

use super::chars::CharSet;
use super::node::{Look, Node};
use super::windows::shortest;

/// The operations that mark matching lines.
#[derive(Clone, Debug)]
pub(super) struct LineMarker {
    classes: Vec<Class>,
    operations: Vec<Operation>,
    registers: usize,
    /// The register with the ends of matches.
    found: usize,
    /// Bytes that only the automaton judges, if there are any.
    unjudged: Option<Sequences>,
    words: bool,
}

/// A set of bytes, marked in a register of its own.
#[derive(Clone, Debug)]
struct Class {
    set: ByteSet,
    marked: Sequences,
    /// Whether `marked` are the bytes outside the set.
    inverted: bool,
}

/// An operation on registers.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// Reads one character of a set.
    Step {
        from: usize,
        class: usize,
        to: usize,
    },
    /// Reads any number of characters of a set.
    Star {
        from: usize,
        class: usize,
        to: usize,
    },
    And {
        from: usize,
        with: usize,
        to: usize,
    },
    AndNot {
        from: usize,
        without: usize,
        to: usize,
    },
    Or {
        from: usize,
        with: usize,
        to: usize,
    },
}

/// Which lines match, as bits at their ends.
#[derive(Clone, Debug, Default)]
pub struct LineMarks {
    /// The newlines.
    pub(super) ends: Vec<u64>,
    /// Those of matching lines.
    pub(super) matching: Vec<u64>,
}

/// Words of bits in a register.
const WORDS: usize = 32;
/// More operations would cost more than the automaton.
const OPERATIONS_MAX: usize = 72;

/// Unjudged bytes are few if there is at most one among so many, in the first bytes of a block.
const RARE: usize = 256;
const SAMPLE_BYTES: usize = 4096;

type Register = [u64; WORDS];

// The registers that are always there.
/// Newlines.
const ENDS: usize = 0;
/// Every position.
const ALL: usize = 1;
/// No position.
const NONE: usize = 2;
/// The starts of lines.
const STARTS: usize = 3;
/// Word characters.
const WORD: usize = 4;
/// Positions after them.
const AFTER_WORD: usize = 5;
/// Every position but newlines.
const INSIDE: usize = 6;
const FIRST_FREE: usize = 7;

impl LineMarker {
    /// Returns `None` if the expression has no such form, or one that is too long. Lines end at newlines.
    pub(super) fn new(node: &Node, utf8: bool) -> Option<LineMarker> {
        let unjudged = match utf8 && !node.is_ascii() {
            true => Some(Sequences::new(&[vec![ByteSet::where_(|byte| !byte.is_ascii()).words()]])?),
            false => None,
        };
        let marker = LineMarker {
            classes: Vec::new(),
            operations: Vec::new(),
            registers: FIRST_FREE,
            found: NONE,
            unjudged,
            words: node.any(&|node| matches!(node, Node::Look(look) if look.is_word())),
        };
        let mut compiler = Compiler { marker, utf8 };
        let found = compiler.search(node)?;
        Some(LineMarker { found, ..compiler.marker }.with_class_registers())
    }

    /// Whether few lines of the block have unjudged bytes, as its beginning shows.
    pub(super) fn judges_most(&self, block: &[u8]) -> bool {
        let near = &block[..block.len().min(SAMPLE_BYTES)];
        self.unjudged.is_none() || near.iter().filter(|byte| !byte.is_ascii()).count() * RARE <= near.len()
    }

    /// Moves the registers of classes behind the others, where their number is known.
    fn with_class_registers(mut self) -> Self {
        let base = self.registers;
        for operation in &mut self.operations {
            if let Operation::Step { class, .. } | Operation::Star { class, .. } = operation
                && *class >= CLASS
            {
                *class = base + *class - CLASS;
            }
        }
        self.registers += self.classes.len();
        self
    }

    /// Marks the lines of a block that ends with a newline. `maybe` decides about lines with unjudged bytes.
    pub(super) fn mark(
        &self,
        block: &[u8],
        marks: &mut LineMarks,
        mut maybe: impl FnMut(Range<usize>) -> bool,
    ) {
        let words = block.len().div_ceil(STEP);
        marks.ends.clear();
        marks.matching.clear();
        marks.ends.reserve(words);
        marks.matching.reserve(words);
        let mut registers = vec![[0; WORDS]; self.registers];
        registers[ALL] = [u64::MAX; WORDS];
        let mut carries = vec![0; self.operations.len()];
        // The block begins with a line, and no word character precedes it.
        let (mut start, mut after_word, mut in_match, mut in_unjudged) = (1, 0, 0, 0);
        for (index, part) in block.chunks(WORDS * STEP).enumerate() {
            let count = part.len().div_ceil(STEP);
            byte_masks::equal(part, b'\n', &mut registers[ENDS][..count]);
            registers[ENDS][count..].fill(0);
            let ends = registers[ENDS];
            registers[INSIDE] = ends.map(|ends| !ends);
            shift(&ends, &mut start, &mut registers[STARTS]);
            let base = self.registers - self.classes.len();
            for (class, register) in self.classes.iter().zip(&mut registers[base..]) {
                class.mark(part, count, register);
            }
            if self.words {
                let word = registers[base];
                registers[WORD] = word;
                shift(&word, &mut after_word, &mut registers[AFTER_WORD]);
            }
            for (operation, carry) in self.operations.iter().zip(&mut carries) {
                operation.apply(&mut registers, carry);
            }
            let mut matching = [0; WORDS];
            line_ends(&registers[self.found], &ends, &mut in_match, &mut matching);
            if let Some(unjudged) = &self.unjudged {
                let mut bytes = [0; WORDS];
                unjudged.mark(part, &mut bytes[..count]);
                let mut lines = [0; WORDS];
                line_ends(&bytes, &ends, &mut in_unjudged, &mut lines);
                for (word, (lines, matching)) in lines.iter_mut().zip(&mut matching).enumerate() {
                    while *lines != 0 {
                        let bit = lines.trailing_zeros();
                        let end = (index * WORDS + word) * STEP + bit as usize;
                        let start = memrchr(b'\n', &block[..end]).map_or(0, |newline| newline + 1);
                        *matching = *matching & !(1 << bit) | u64::from(maybe(start..end)) << bit;
                        *lines &= *lines - 1;
                    }
                }
            }
            marks.ends.extend_from_slice(&ends[..count]);
            marks.matching.extend_from_slice(&matching[..count]);
        }
    }
}

impl Class {
    fn new(set: ByteSet) -> Option<Class> {
        let sequences = |set: &ByteSet| Sequences::new(&[vec![set.words()]]).filter(Sequences::is_exact);
        let (marked, inverted) = match sequences(&set) {
            Some(marked) => (marked, false),
            None => (sequences(&set.complement())?, true),
        };
        Some(Class { set, marked, inverted })
    }

    fn mark(&self, part: &[u8], count: usize, register: &mut Register) {
        self.marked.mark(part, &mut register[..count]);
        if self.inverted {
            register[..count].iter_mut().for_each(|word| *word = !*word);
        }
        register[count..].fill(0);
    }
}

/// Moves each bit up by one.
#[inline]
fn shift(from: &Register, carry: &mut u64, to: &mut Register) {
    for (from, to) in from.iter().zip(to) {
        *to = from << 1 | *carry;
        *carry = from >> 63;
    }
}

/// Returns the ends of lines in which there is a bit.
#[inline]
fn line_ends(bits: &Register, ends: &Register, carry: &mut u64, to: &mut Register) {
    for ((bits, ends), to) in bits.iter().zip(ends).zip(to) {
        let (sum, first) = (bits & !ends).overflowing_add(!ends);
        let (sum, second) = sum.overflowing_add(*carry);
        *carry = u64::from(first | second);
        *to = (sum | bits) & ends;
    }
}

impl Operation {
    #[inline]
    fn apply(self, registers: &mut [Register], carry: &mut u64) {
        let mut result = [0; WORDS];
        let to = match self {
            Operation::Step { from, class, to } => {
                let (from, class) = (&registers[from], &registers[class]);
                for ((from, class), result) in from.iter().zip(class).zip(&mut result) {
                    let read = from & class;
                    *result = read << 1 | *carry;
                    *carry = read >> 63;
                }
                to
            }
            Operation::Star { from, class, to } => {
                let (from, class) = (&registers[from], &registers[class]);
                for ((from, class), result) in from.iter().zip(class).zip(&mut result) {
                    let (sum, first) = (from & class).overflowing_add(*class);
                    let (sum, second) = sum.overflowing_add(*carry);
                    *carry = u64::from(first | second);
                    *result = sum ^ class | from;
                }
                to
            }
            Operation::And { from, with, to } => {
                let (from, with) = (&registers[from], &registers[with]);
                from.iter().zip(with).zip(&mut result).for_each(|((a, b), result)| *result = a & b);
                to
            }
            Operation::AndNot { from, without, to } => {
                let (from, without) = (&registers[from], &registers[without]);
                from.iter().zip(without).zip(&mut result).for_each(|((a, b), result)| *result = a & !b);
                to
            }
            Operation::Or { from, with, to } => {
                let (from, with) = (&registers[from], &registers[with]);
                from.iter().zip(with).zip(&mut result).for_each(|((a, b), result)| *result = a | b);
                to
            }
        };
        registers[to] = result;
    }
}

/// The first number of a class, until the number of its register is known.
const CLASS: usize = usize::MAX / 2;

struct Compiler {
    marker: LineMarker,
    utf8: bool,
}

impl Compiler {
    /// Returns the register with the ends of matches that begin anywhere.
    fn search(&mut self, node: &Node) -> Option<usize> {
        if self.marker.words {
            // The first class: its register is also [`WORD`].
            self.class(ByteSet::where_(super::classes::is_word))?;
        }
        self.outermost(node)
    }

    /// Compiles what nothing has to be adjacent to.
    fn outermost(&mut self, node: &Node) -> Option<usize> {
        match node {
            Node::Group(_, body) => self.outermost(body),
            Node::Either(branches) => {
                let mut found = NONE;
                for branch in branches {
                    let one = self.outermost(branch)?;
                    found = self.or(found, one)?;
                }
                Some(found)
            }
            Node::Concat(parts) => self.all(&shortest(parts, true, true), ALL),
            other => self.all(&shortest(std::slice::from_ref(other), true, true), ALL),
        }
    }

    fn all(&mut self, parts: &[Node], from: usize) -> Option<usize> {
        parts.iter().try_fold(from, |from, part| self.read(part, from))
    }

    /// Returns the register with the positions after what the node matches from these positions on.
    fn read(&mut self, node: &Node, from: usize) -> Option<usize> {
        match node {
            Node::Empty => Some(from),
            Node::Set(set) => self.step(set, from),
            Node::Look(look) => self.look(*look, from),
            Node::Group(_, body) => self.read(body, from),
            Node::Concat(parts) => self.all(parts, from),
            Node::Either(branches) => {
                let mut found = NONE;
                for branch in branches {
                    let one = self.read(branch, from)?;
                    found = self.or(found, one)?;
                }
                Some(found)
            }
            Node::Repeat { body, min, max } => {
                let mut at = from;
                for _ in 0..*min {
                    at = self.read(body, at)?;
                }
                let Some(max) = max else { return self.star(body, at) };
                for _ in *min..*max {
                    let more = self.read(body, at)?;
                    at = self.or(at, more)?;
                }
                Some(at)
            }
        }
    }

    fn step(&mut self, set: &CharSet, from: usize) -> Option<usize> {
        match self.class_of(set)? {
            NONE => Some(NONE),
            class => self.operation(|to| Operation::Step { from, class, to }),
        }
    }

    fn star(&mut self, body: &Node, from: usize) -> Option<usize> {
        match body {
            Node::Group(_, body) => self.star(body, from),
            Node::Set(set) => match self.class_of(set)? {
                NONE => Some(from),
                _ if from == ALL => Some(ALL),
                class => self.operation(|to| Operation::Star { from, class, to }),
            },
            _ => None,
        }
    }

    fn look(&mut self, look: Look, from: usize) -> Option<usize> {
        let and = |this: &mut Self, from, with| match from {
            ALL => Some(with),
            from => this.operation(|to| Operation::And { from, with, to }),
        };
        let and_not =
            |this: &mut Self, from, without| this.operation(|to| Operation::AndNot { from, without, to });
        match look {
            Look::LineStart => and(self, from, STARTS),
            Look::LineEnd => and(self, from, ENDS),
            Look::WordStart => {
                let from = and(self, from, WORD)?;
                and_not(self, from, AFTER_WORD)
            }
            Look::WordEnd => {
                let from = and(self, from, AFTER_WORD)?;
                and_not(self, from, WORD)
            }
            Look::WordEdge => {
                let start = self.look(Look::WordStart, from)?;
                let end = self.look(Look::WordEnd, from)?;
                self.or(start, end)
            }
            Look::NoWordBefore => and_not(self, from, AFTER_WORD),
            Look::NoWordAfter => and_not(self, from, WORD),
        }
    }

    fn or(&mut self, from: usize, with: usize) -> Option<usize> {
        match (from, with) {
            (NONE, other) | (other, NONE) => Some(other),
            (ALL, _) | (_, ALL) => Some(ALL),
            (one, other) if one == other => Some(one),
            _ => self.operation(|to| Operation::Or { from, with, to }),
        }
    }

    fn class_of(&mut self, set: &CharSet) -> Option<usize> {
        let utf8 = self.utf8;
        let has = |byte: u8| byte != b'\n' && (!utf8 || byte.is_ascii()) && set.contains(u32::from(byte));
        let bytes = ByteSet::where_(has);
        let all = (0..=u8::MAX).all(|byte| byte == b'\n' || utf8 && !byte.is_ascii() || has(byte));
        if bytes.is_empty() {
            return Some(NONE);
        }
        // Other bytes are unjudged, if the set has any.
        if all && (!utf8 || !set.is_ascii()) { Some(INSIDE) } else { self.class(bytes) }
    }

    fn class(&mut self, set: ByteSet) -> Option<usize> {
        let classes = &mut self.marker.classes;
        let known = classes.iter().position(|class| class.set == set);
        let index = match known {
            Some(index) => index,
            None => {
                classes.push(Class::new(set)?);
                classes.len() - 1
            }
        };
        Some(CLASS + index)
    }

    fn operation(&mut self, make: impl FnOnce(usize) -> Operation) -> Option<usize> {
        let marker = &mut self.marker;
        if marker.operations.len() + 2 * marker.classes.len() >= OPERATIONS_MAX {
            return None;
        }
        let to = marker.registers;
        marker.registers += 1;
        marker.operations.push(make(to));
        Some(to)
    }
}

impl LineMarks {
    /// Marks the newlines of a block, and no matches.
    pub(super) fn begin(&mut self, block: &[u8]) {
        let words = block.len().div_ceil(STEP);
        self.ends.resize(words, 0);
        byte_masks::equal(block, b'\n', &mut self.ends);
        self.matching.clear();
        self.matching.resize(words, 0);
    }

    /// Marks the ends of matching lines among the 64 bytes from `at` on.
    #[inline]
    pub(super) fn add(&mut self, at: usize, ends: u64) {
        let (word, shift) = (at / STEP, at % STEP);
        self.matching[word] |= ends << shift;
        if shift > 0
            && let Some(next) = self.matching.get_mut(word + 1)
        {
            *next |= ends >> (STEP - shift);
        }
    }

    /// Returns the number of matching lines.
    pub(super) fn count(&self) -> u64 {
        self.matching.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Appends the marked lines of the block, or the others, and returns their number. `None`: this machine has no
    /// instructions for it.
    pub(super) fn copy(&mut self, block: &[u8], inverted: bool, out: &mut Vec<u8>) -> Option<u64> {
        if inverted {
            self.invert();
        }
        let (count, before) = (self.count(), out.len());
        self.spread();
        out.resize(before + block.len() + compact::ROOM, 0);
        let length = compact::keep(block, &self.matching, &mut out[before..]);
        out.truncate(before + length.unwrap_or(0));
        length.map(|_| count)
    }

    /// Marks the lines that do not match instead.
    pub fn invert(&mut self) {
        self.matching.iter_mut().zip(&self.ends).for_each(|(matching, ends)| *matching = ends & !*matching);
    }

    /// Returns the first matching line at or after `at`, the start of a line, without its end.
    #[inline]
    pub fn next_line(&self, at: usize) -> Option<Range<usize>> {
        let end = next_bit(&self.matching, at)?;
        let mut word = end / STEP;
        let mut before = self.ends[word] & ((1 << (end % STEP)) - 1);
        while before == 0 && word * STEP > at {
            word -= 1;
            before = self.ends[word];
        }
        let start = if before == 0 { 0 } else { word * STEP + STEP - before.leading_zeros() as usize };
        Some(start.max(at)..end)
    }

    /// Turns the bits at the ends of matching lines into bits for all their bytes, ends included.
    pub(super) fn spread(&mut self) {
        // From the last word to the first, since the end of a line decides about the bytes before.
        let mut open = 0;
        for (matching, ends) in self.matching.iter_mut().zip(&self.ends).rev() {
            if *ends == 0 {
                *matching = open * u64::MAX;
                continue;
            }
            let (inside, chosen) = (!ends.reverse_bits(), matching.reverse_bits());
            let from = chosen << 1 | open;
            let run = ((from & inside).wrapping_add(inside) ^ inside | from) & inside;
            let all = chosen | run;
            open = all >> 63;
            *matching = all.reverse_bits();
        }
    }
}

/// Returns the first bit at or after `at`.
#[inline]
fn next_bit(words: &[u64], at: usize) -> Option<usize> {
    let mut word = at / STEP;
    let mut bits = *words.get(word)? & u64::MAX << (at % STEP);
    while bits == 0 {
        word += 1;
        bits = *words.get(word)?;
    }
    Some(word * STEP + bits.trailing_zeros() as usize)
}
