//! How to search: by a literal, by the lines' starts, or with the automaton over everything.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

use crate::{Accept, Declined};

use super::engine::Engine;
use super::hir::Dialect;
use super::literal;
use super::node::Node;

#[derive(Clone, Debug)]
pub(super) struct Searcher {
    engine: Engine,
    plan: Plan,
}

/// What is known about every match.
#[derive(Clone, Debug)]
enum Plan {
    /// It is one of these strings, and each of them is a match.
    Exact(Literals),
    /// It contains one of these strings.
    Contains {
        literals: Literals,
        distrust: u32,
    },
    /// It starts at the start of a line.
    LineStart,
    Nothing,
}

/// Strings to look for.
#[derive(Clone, Debug)]
enum Literals {
    One(Arc<Finder<'static>>),
    /// The longest of the leftmost.
    Many(Arc<AhoCorasick>),
}

impl Literals {
    fn new(strings: &[Vec<u8>]) -> Accept<Literals> {
        if let [one] = strings {
            return Ok(Literals::One(Arc::new(Finder::new(one).into_owned())));
        }
        AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(strings)
            .map(|automaton| Literals::Many(Arc::new(automaton)))
            .map_err(|error| Declined::new(format!("the automaton: {error}")))
    }

    fn find(&self, text: &[u8], span: Range<usize>) -> Option<(usize, usize)> {
        match self {
            Literals::One(finder) => {
                let start = span.start + finder.find(&text[span])?;
                Some((start, start + finder.needle().len()))
            }
            Literals::Many(automaton) => {
                let found = automaton.find(aho_corasick::Input::new(text).span(span))?;
                Some((found.start(), found.end()))
            }
        }
    }
}

/// After so many literals in lines that did not match, each costing more than the automaton would, stop looking
/// for literals.
const DISTRUST_MAX: u32 = 64;

impl Searcher {
    pub(super) fn new(node: &Node, dialect: Dialect) -> Accept<Searcher> {
        let plan = if let Some(strings) = literal::exact(node, dialect.utf8) {
            Plan::Exact(Literals::new(&strings)?)
        } else if node.is_line_anchored() {
            Plan::LineStart
        } else if let Some(strings) = literal::required(node, dialect.utf8) {
            Plan::Contains { literals: Literals::new(&strings)?, distrust: 0 }
        } else {
            Plan::Nothing
        };
        Ok(Searcher { engine: Engine::new(&dialect.translate(node))?, plan })
    }

    pub(super) fn is_match(&mut self, text: &[u8], line: Range<usize>) -> bool {
        match &self.plan {
            Plan::Exact(literals) => literals.find(text, line).is_some(),
            Plan::LineStart => self.engine.matches_at(text, line),
            Plan::Contains { literals, .. } if literals.find(text, line.clone()).is_none() => false,
            Plan::Contains { .. } | Plan::Nothing => self.engine.first_end(text, line).is_some(),
        }
    }

    pub(super) fn find(&mut self, text: &[u8], span: Range<usize>) -> Option<(usize, usize)> {
        match &self.plan {
            Plan::Exact(literals) => literals.find(text, span),
            _ => self.engine.find(text, span),
        }
    }

    pub(super) fn next_line(&mut self, block: &[u8], mut at: usize) -> Option<Range<usize>> {
        while at < block.len() {
            let found = match &self.plan {
                Plan::Exact(literals) => literals.find(block, at..block.len())?.0,
                Plan::Contains { literals, distrust } if *distrust < DISTRUST_MAX => {
                    literals.find(block, at..block.len())?.0
                }
                Plan::LineStart => at,
                Plan::Contains { .. } | Plan::Nothing => self.engine.first_end(block, at..block.len())?,
            };
            let line = line_around(block, at, found);
            if self.confirms(block, line.clone(), at) {
                return (line.start < block.len()).then_some(line);
            }
            at = line.end + 1;
        }
        None
    }

    /// Where finding something in a line does not mean that the line matches: does it?
    fn confirms(&mut self, block: &[u8], line: Range<usize>, from: usize) -> bool {
        match &mut self.plan {
            Plan::Exact(_) | Plan::Nothing => true,
            Plan::LineStart => self.engine.matches_at(block, line),
            Plan::Contains { distrust, .. } if *distrust >= DISTRUST_MAX => true,
            Plan::Contains { distrust, .. } => {
                let matches = self.engine.first_end(block, line.clone()).is_some();
                if !matches && line.end - from < 256 {
                    *distrust += 1;
                }
                matches
            }
        }
    }
}

/// The line that `at` lies in, given that `from` is the start of it or of one before.
fn line_around(block: &[u8], from: usize, at: usize) -> Range<usize> {
    let start = memrchr(b'\n', &block[from..at]).map_or(from, |newline| from + newline + 1);
    let end = memchr(b'\n', &block[at..]).map_or(block.len(), |newline| at + newline);
    start..end
}
