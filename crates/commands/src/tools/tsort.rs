//! `tsort`: GNU coreutils, of standard input.
//!
//! Knuth's algorithm 2.2.3 T. Words without predecessors are printed in the order of their bytes; a word that has lost
//! its last predecessor is queued behind them, the successors that were named last first. Input with a loop or an odd
//! number of words goes to the real tsort, which says so.

use std::collections::HashMap;

use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome};

use crate::Family;
use crate::tool::argv::{Order, parse};
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{IoErrors, StandardOutput, fatal_read_error};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::OtherVersions;
use crate::{Accept, Command, Context, Declined, Facts, Input, OutputFacts};

/// All that pelton knows of `tsort`.
pub(crate) static TOOL: Tool = Tool {
    name: "tsort",
    family: Family::GnuCoreutils,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors { read: fatal_read_error, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&[], "b a\nc a\n", b"b\nc\na\n")],
    cost: |_| Rate::both(60.0, 20.0, 0.5),
    other_versions: &[
        // 9.4 reports errors of reading.
        OtherVersions::alike(&["8.32", "9.0", "9.2", "9.3"]),
    ],
    verifiable: false,
    grammar: Grammar { role: Role::Filter, needs: &[], options: &["-", "--"], operands: &[""] },
};

/// Reads the arguments.
fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse::<()>(args, &[], Order::Anywhere)?;
    match Input::from_operands(&parsed.operands()).as_slice() {
        [Input::Stdin] => Ok(Box::new(Tsort)),
        _ => Declined::because("a file, whose name stands in its messages"),
    }
}

#[derive(Debug)]
struct Tsort;

impl Command for Tsort {
    fn facts(&self) -> Facts {
        Facts { output: OutputFacts { blocks_until_eof: true, ..OutputFacts::default() }, ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &[Input::Stdin]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(TsortKernel { text: Vec::new() }))
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        Some(Vec::new())
    }
}

/// Collects its input, and sorts it at the end.
struct TsortKernel {
    text: Vec<u8>,
}

impl TsortKernel {
    /// Falls back: the real tsort gets all text.
    fn hand_over(&mut self, reason: &'static str) -> HandOver {
        HandOver::at(0, reason).with_unconsumed(std::mem::take(&mut self.text))
    }
}

impl Kernel for TsortKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        if memchr::memchr(0, block).is_some() {
            return Err(self.hand_over("a NUL, which ends a word"));
        }
        self.text.extend_from_slice(block);
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        let sorted = Relations::read(&self.text).and_then(|relations| relations.print(out));
        sorted.map(|()| Flow::Done).map_err(|reason| self.hand_over(reason))
    }
}

/// A word, and what is known of it.
struct Item<'a> {
    word: &'a [u8],
    /// How many relations name it as the later one.
    predecessors: u32,
    /// The last of its relations as the earlier one, in [`Relations::successors`].
    last_successor: Option<u32>,
}

/// Words and their relations.
struct Relations<'a> {
    items: Vec<Item<'a>>,
    /// The later word of each relation, and the one before it of the same earlier word.
    successors: Vec<(u32, Option<u32>)>,
}

impl<'a> Relations<'a> {
    /// Reads pairs of words. `Err` if a word is left over.
    fn read(text: &'a [u8]) -> Result<Self, &'static str> {
        let mut relations = Relations { items: Vec::new(), successors: Vec::new() };
        let mut known = HashMap::new();
        let mut earlier = None;
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n');
        for word in text.split(is_blank).filter(|word| !word.is_empty()) {
            let at = *known.entry(word).or_insert_with(|| relations.add(word));
            match earlier.take() {
                None => earlier = Some(at),
                Some(before) => relations.relate(before, at),
            }
        }
        if earlier.is_some() { Err("an odd number of words") } else { Ok(relations) }
    }

    fn add(&mut self, word: &'a [u8]) -> u32 {
        self.items.push(Item { word, predecessors: 0, last_successor: None });
        self.items.len() as u32 - 1
    }

    /// Notes that one word comes before another. A word before itself only names it.
    fn relate(&mut self, earlier: u32, later: u32) {
        if earlier == later {
            return;
        }
        self.items[later as usize].predecessors += 1;
        let last = &mut self.items[earlier as usize].last_successor;
        self.successors.push((later, *last));
        *last = Some(self.successors.len() as u32 - 1);
    }

    /// Appends the words in order. `Err`, with nothing appended, if there is a loop.
    fn print(mut self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let before = out.len();
        let mut queue: Vec<u32> =
            (0..self.items.len() as u32).filter(|&at| self.items[at as usize].predecessors == 0).collect();
        queue.sort_unstable_by_key(|&at| self.items[at as usize].word);
        let mut front = 0;
        while let Some(&at) = queue.get(front) {
            front += 1;
            let item = &self.items[at as usize];
            out.extend_from_slice(item.word);
            out.push(b'\n');
            let mut next = item.last_successor;
            while let Some(relation) = next {
                let (later, earlier_relation) = self.successors[relation as usize];
                let later_item = &mut self.items[later as usize];
                later_item.predecessors -= 1;
                if later_item.predecessors == 0 {
                    queue.push(later);
                }
                next = earlier_relation;
            }
        }
        if front < self.items.len() {
            out.truncate(before);
            return Err("a loop");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(text: &str) -> Result<String, &'static str> {
        let mut out = Vec::new();
        Relations::read(text.as_bytes())?.print(&mut out)?;
        Ok(String::from_utf8_lossy(&out).replace('\n', " "))
    }

    #[test]
    fn words_come_behind_all_that_precede_them() {
        assert_eq!(sorted("a b c\nd e f b c d e"), Ok("a b c d e f ".to_owned()));
        assert_eq!(sorted("x x"), Ok("x ".to_owned()));
        assert_eq!(sorted("r z r y r x"), Ok("r x y z ".to_owned()));
        assert_eq!(sorted(""), Ok(String::new()));
    }

    #[test]
    fn what_the_real_one_complains_of_is_left_to_it() {
        assert_eq!(sorted("a b c"), Err("an odd number of words"));
        assert_eq!(sorted("a b b a"), Err("a loop"));
    }
}
