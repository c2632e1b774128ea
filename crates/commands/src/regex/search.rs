//! Chooses how to search: by a literal, by runs of one set, by the lines' starts, or with the automaton over
//! everything.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind, packed};
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

use crate::bytes::scan;
use crate::{Accept, Declined};

use super::engine::Engine;
use super::hir::Dialect;
use super::line_marks::{LineMarker, LineMarks};
use super::lines::Lines;
use super::literal;
use super::members::Members;
use super::node::{Look, Node};
use super::run::Run;
use super::start::Start;
use super::{GaveUp, Shape};

#[derive(Clone, Debug)]
pub(super) struct Searcher {
    engine: Engine,
    plan: MatchStrategy,
    /// How lines are found, if not by `plan`.
    lines: Option<Lines>,
    /// Marks lines where finding one after another is slow.
    marker: Option<Arc<LineMarker>>,
    /// Marks for lines that are only counted.
    marks: LineMarks,
    newline_ends: bool,
    /// Whether finding all matches takes linear time with any automata.
    linear: bool,
}

/// What is known about every match.
#[derive(Clone, Debug)]
enum MatchStrategy {
    /// It is one of these strings, and each of them is a match.
    Exact(Literals),
    /// It is a run of members of one set.
    Run(Run),
    /// It begins at the first member of a set, and every member begins one.
    Start(Start),
    /// It contains one of these strings.
    Contains {
        literals: Literals,
        distrust: u32,
    },
    /// It starts at the start of a line, and may contain one of these strings.
    LineStart {
        literals: Option<Literals>,
        distrust: u32,
    },
    /// It takes these many bytes, up to the end of a line.
    LineEnd {
        bytes: usize,
        /// Whether every line's end is a match.
        always: bool,
    },
    Nothing,
}

/// Strings to search.
#[derive(Clone, Debug)]
enum Literals {
    One(Arc<Finder<'static>>),
    /// The longest of the leftmost, by vectors of all first bytes.
    Few(Arc<packed::Searcher>),
    /// The longest of the leftmost.
    Many(Arc<AhoCorasick>),
    /// One byte of a set.
    Set(Arc<Members>),
}

impl Literals {
    fn new(strings: &[Vec<u8>]) -> Accept<Literals> {
        if let [one] = strings {
            return Ok(Literals::One(Arc::new(Finder::new(one).into_owned())));
        }
        // The automaton would search one byte of each string, which may be common in text.
        if strings.len() <= FEW_MAX && strings.iter().all(|string| string.len() > 1) {
            let kind = packed::MatchKind::LeftmostLongest;
            let searcher = packed::Config::new().match_kind(kind).builder().extend(strings).build();
            if let Some(searcher) = searcher {
                return Ok(Literals::Few(Arc::new(searcher)));
            }
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
            Literals::Few(searcher) => {
                let found = searcher.find_in(text, aho_corasick::Span::from(span))?;
                Some((found.start(), found.end()))
            }
            Literals::Many(automaton) => {
                let found = automaton.find(aho_corasick::Input::new(text).span(span))?;
                Some((found.start(), found.end()))
            }
            Literals::Set(members) => {
                let at = span.start + members.find(&text[span])?;
                Some((at, at + 1))
            }
        }
    }
}

/// Strings that are few enough for vectors.
const FEW_MAX: usize = 32;
/// After this many close literals, the search stops using them: each costs more than the automaton would.
const DISTRUST_MAX: u32 = 64;
/// Minimum length of a long line.
const LONG: usize = 1 << 13;
/// Bytes of a line in which searching a literal costs more than it saves.
const DISTRUST_BYTES: usize = 64;
/// Matching lines in the sample that tells whether they are dense, and how many bytes each may take.
const SAMPLE: usize = 8;
const DENSE_BYTES: usize = 256;
/// Lines that the automaton marks are no longer than this in the mean, in the first bytes of a block.
const SHORT_LINE_BYTES: usize = 64;
const SAMPLE_BYTES: usize = 4096;
/// For fewer lines, blocks are not marked.
const MARKED_MIN: u64 = 64;
/// The same limit where there is another way than the automaton.
const RARE_BYTES: usize = 1024;

impl MatchStrategy {
    fn new(node: &Node, utf8: bool, newline_ends: bool) -> Accept<MatchStrategy> {
        let run = Run::new(node, utf8);
        if let Some(run) = run.as_ref().filter(|run| run.is_one_of_several()) {
            return Ok(MatchStrategy::Run(run.clone()));
        }
        if let Some(strings) = literal::exact(node, utf8) {
            return Ok(MatchStrategy::Exact(Literals::new(&strings)?));
        }
        if let Some(run) = run {
            return Ok(MatchStrategy::Run(run));
        }
        if let Some(start) = Start::new(node, utf8, newline_ends) {
            return Ok(MatchStrategy::Start(start));
        }
        if node.is_line_anchored() {
            let literals =
                literal::required(node, utf8).map(|strings| Literals::new(&strings)).transpose()?;
            return Ok(MatchStrategy::LineStart { literals, distrust: 0 });
        }
        let required = literal::required(node, utf8);
        let is_selective = required.iter().flatten().all(|string| string.len() > 1);
        if node.ends_line()
            && let Some(bytes) = fixed_bytes(node, utf8)
            && !(required.is_some() && is_selective)
        {
            return Ok(MatchStrategy::LineEnd { bytes, always: *node == Node::Look(Look::LineEnd) });
        }
        if let Some(bytes) = literal::required_set(node, utf8) {
            let literals = Literals::Set(Arc::new(Members::new(|byte| bytes.contains(&byte))));
            return Ok(MatchStrategy::Contains { literals, distrust: 0 });
        }
        Ok(match required {
            Some(strings) => MatchStrategy::Contains { literals: Literals::new(&strings)?, distrust: 0 },
            None => MatchStrategy::Nothing,
        })
    }
}

impl MatchStrategy {
    /// Whether lines are found faster without it.
    fn gives_way(&self, lines: &Lines) -> bool {
        match self {
            MatchStrategy::Exact(Literals::One(_) | Literals::Few(_)) => false,
            MatchStrategy::Exact(_) | MatchStrategy::Run(_) => lines.suffice(),
            MatchStrategy::Start(start) => lines.suffice() && !start.is_text(),
            MatchStrategy::Contains { literals, .. }
            | MatchStrategy::LineStart { literals: Some(literals), .. } => match literals {
                Literals::One(finder) if finder.needle().len() > 1 => lines.suffice() && self.is_anchored(),
                Literals::Few(_) => lines.suffice(),
                _ => true,
            },
            MatchStrategy::LineStart { .. } | MatchStrategy::LineEnd { .. } | MatchStrategy::Nothing => true,
        }
    }

    fn is_anchored(&self) -> bool {
        matches!(self, MatchStrategy::LineStart { .. })
    }

    /// Whether it searches for a byte, which is fastest as long as that is rare.
    fn goes_first(&self) -> bool {
        let (MatchStrategy::Contains { literals, distrust }
        | MatchStrategy::LineStart { literals: Some(literals), distrust }) = self
        else {
            return false;
        };
        let is_byte = matches!(literals, Literals::One(finder) if finder.needle().len() == 1);
        is_byte && *distrust < DISTRUST_MAX
    }
}

/// Returns the length of all matches in bytes, if fixed.
fn fixed_bytes(node: &Node, utf8: bool) -> Option<usize> {
    if utf8 && !node.is_ascii() { None } else { node.fixed_len() }
}

impl Searcher {
    pub(super) fn new(node: &Node, dialect: Dialect) -> Accept<Searcher> {
        let plan = MatchStrategy::new(node, dialect.utf8, dialect.newline_ends)?;
        let engine = Engine::new(&dialect.translate(node), fixed_bytes(node, dialect.utf8))?;
        let lines =
            Lines::new(node, dialect.utf8).filter(|lines| dialect.newline_ends && plan.gives_way(lines));
        let marker =
            dialect.newline_ends.then(|| LineMarker::new(node, dialect.utf8)).flatten().map(Arc::new);
        Ok(Searcher {
            engine,
            plan,
            lines,
            marker,
            marks: LineMarks::default(),
            newline_ends: dialect.newline_ends,
            linear: !node.may_look_far(),
        })
    }

    pub(super) fn be_patient(&mut self) {
        self.engine.be_patient();
    }

    pub(super) fn shape(&self) -> Shape {
        match &self.plan {
            MatchStrategy::Exact(Literals::One(finder)) => Shape::Literal(finder.needle().to_vec()),
            MatchStrategy::Run(run) => run.single().map_or(Shape::Other, |set| Shape::OneOf(Box::new(*set))),
            _ => Shape::Other,
        }
    }

    pub(super) fn required(&self) -> Option<Vec<u8>> {
        match &self.plan {
            MatchStrategy::Exact(Literals::One(finder))
            | MatchStrategy::Contains { literals: Literals::One(finder), .. }
            | MatchStrategy::LineStart { literals: Some(Literals::One(finder)), .. } => {
                Some(finder.needle().to_vec())
            }
            _ => None,
        }
    }

    pub(super) fn never_gives_up(&self) -> bool {
        matches!(
            self.plan,
            MatchStrategy::Exact(_)
                | MatchStrategy::Run(_)
                | MatchStrategy::Start(_)
                | MatchStrategy::LineEnd { .. }
        )
    }

    pub(super) fn is_match(&mut self, text: &[u8], line: Range<usize>) -> bool {
        match &self.plan {
            MatchStrategy::Exact(literals) => literals.find(text, line).is_some(),
            MatchStrategy::Run(run) => run.find(text, line).is_some(),
            MatchStrategy::Start(start) => start.first(text, line).is_some(),
            MatchStrategy::LineStart { .. } => self.engine.matches_at(text, line),
            MatchStrategy::LineEnd { .. } if !self.newline_ends => {
                self.find_at_line_end(text, line).is_some()
            }
            MatchStrategy::LineEnd { .. } => self.engine.first_end(text, line).is_some(),
            MatchStrategy::Contains { literals, .. } if literals.find(text, line.clone()).is_none() => false,
            MatchStrategy::Contains { .. } | MatchStrategy::Nothing => {
                self.engine.first_end(text, line).is_some()
            }
        }
    }

    pub(super) fn find(&mut self, text: &[u8], span: Range<usize>) -> Result<Option<(usize, usize)>, GaveUp> {
        match &self.plan {
            MatchStrategy::Exact(literals) => Ok(literals.find(text, span)),
            MatchStrategy::Run(run) => Ok(run.find(text, span)),
            MatchStrategy::Start(start) => Ok(start.find(&mut self.engine, text, span)),
            MatchStrategy::LineStart { .. } => Ok(self.find_at_line_start(text, span)),
            MatchStrategy::LineEnd { .. } => Ok(self.find_at_line_end(text, span)),
            MatchStrategy::Contains { distrust, .. } if self.newline_ends && *distrust < DISTRUST_MAX => {
                self.find_around_literal(text, span)
            }
            MatchStrategy::Contains { .. } | MatchStrategy::Nothing => self.find_anywhere(text, span),
        }
    }

    /// Calls `found` for successive matches, each after the previous one, an empty one a byte later. For
    /// patient callers.
    pub(super) fn each(&mut self, text: &[u8], mut at: usize, mut found: impl FnMut(usize, usize)) {
        while at <= text.len() {
            let anywhere = match self.plan {
                MatchStrategy::Nothing => true,
                MatchStrategy::Contains { .. } => !self.newline_ends,
                _ => false,
            };
            if anywhere {
                let Some(next) = self.engine.each(text, at..text.len(), &mut found) else { return };
                at = next;
            }
            // Patient searches never give up.
            let Ok(Some((start, end))) = self.find(text, at..text.len()) else { return };
            found(start, end);
            at = if start == end { end + 1 } else { end };
        }
    }

    fn find_at_line_start(&mut self, text: &[u8], span: Range<usize>) -> Option<(usize, usize)> {
        let mut at = span.start;
        loop {
            let starts = at == 0 || self.newline_ends && text[at - 1] == b'\n';
            if starts && let Some(end) = self.engine.longest_at(text, at..span.end) {
                return Some((at, end));
            }
            if !self.newline_ends {
                return None;
            }
            at += memchr(b'\n', &text[at..span.end])? + 1;
        }
    }

    /// Looks only where a match can be: right before each end of a line.
    fn find_at_line_end(&mut self, text: &[u8], span: Range<usize>) -> Option<(usize, usize)> {
        let MatchStrategy::LineEnd { bytes, always } = self.plan else { return None };
        let mut at = span.start;
        loop {
            let newline = if self.newline_ends { memchr(b'\n', &text[at..span.end]) } else { None };
            let end = newline.map_or(span.end, |offset| at + offset);
            let is_end = end == text.len() || self.newline_ends && text[end] == b'\n';
            if is_end
                && let Some(start) = end.checked_sub(bytes).filter(|start| *start >= at)
                && (always || self.engine.matches_at(text, start..end))
            {
                return Some((start, end));
            }
            at = newline.map(|_| end + 1)?;
        }
    }

    fn find_around_literal(
        &mut self,
        text: &[u8],
        mut span: Range<usize>,
    ) -> Result<Option<(usize, usize)>, GaveUp> {
        while let MatchStrategy::Contains { literals, distrust } = &mut self.plan {
            let Some((literal, _)) = literals.find(text, span.clone()) else { return Ok(None) };
            if *distrust >= DISTRUST_MAX {
                break;
            }
            // Searching the literal costs more than it saves where it is found again and again in a line; a line that may
            // be known to match says nothing.
            let is_known = span.start == 0 || text[span.start - 1] == b'\n';
            if literal - span.start >= DISTRUST_BYTES {
                *distrust = distrust.saturating_sub(1);
            } else if !is_known {
                *distrust += 1;
            }
            // Finding the end of a long line does not pay, least of all from each of its matches.
            let near = &text[literal..span.end.min(literal + LONG)];
            let end = memchr(b'\n', near).map_or(span.end, |newline| literal + newline);
            let start =
                memrchr(b'\n', &text[span.start..literal]).map_or(span.start, |at| span.start + at + 1);
            let found = self.find_anywhere(text, start..end)?;
            if found.is_some() || end == span.end {
                return Ok(found);
            }
            if is_known && let MatchStrategy::Contains { distrust, .. } = &mut self.plan {
                *distrust += 1;
            }
            span.start = end + 1;
        }
        self.find_anywhere(text, span)
    }

    /// Searches a long line with a step counter: looking ahead from each match could add up.
    fn find_anywhere(&mut self, text: &[u8], span: Range<usize>) -> Result<Option<(usize, usize)>, GaveUp> {
        if self.linear || self.engine.is_known_to_be_linear() {
            return Ok(self.engine.find(text, span));
        }
        let head = span.start..span.end.min(span.start + LONG);
        let long = span.len() > LONG && !(self.newline_ends && memchr(b'\n', &text[head]).is_some());
        if long { self.engine.find_counting(text, span) } else { Ok(self.engine.find(text, span)) }
    }

    pub(super) fn next_line(&mut self, block: &[u8], mut at: usize) -> Option<Range<usize>> {
        if let Some(lines) = self.lines.as_mut().filter(|lines| !self.plan.goes_first() && !lines.fail()) {
            match lines.next(&mut self.engine, block, at) {
                Ok(found) => return found,
                Err(from) => at = from,
            }
        }
        while at < block.len() {
            let found = match &self.plan {
                MatchStrategy::Exact(literals) => literals.find(block, at..block.len())?.0,
                MatchStrategy::Run(run) => run.find(block, at..block.len())?.0,
                MatchStrategy::Start(start) => start.first(block, at..block.len())?,
                MatchStrategy::Contains { literals, distrust } if *distrust < DISTRUST_MAX => {
                    literals.find(block, at..block.len())?.0
                }
                MatchStrategy::LineStart { literals: Some(literals), distrust }
                    if *distrust < DISTRUST_MAX =>
                {
                    literals.find(block, at..block.len())?.0
                }
                MatchStrategy::LineStart { .. } => at,
                MatchStrategy::Contains { .. } | MatchStrategy::LineEnd { .. } | MatchStrategy::Nothing => {
                    self.engine.first_end(block, at..block.len())?
                }
            };
            let line = line_around(block, at, found);
            if self.confirms(block, line.clone(), at, found) {
                return (line.start < block.len()).then_some(line);
            }
            at = line.end + 1;
        }
        None
    }

    /// Calls `found` for each line that does not match, without its end, if matching lines are dense; see
    /// [`Lines::each_unmatched`].
    pub(super) fn each_unmatched(&mut self, block: &[u8], found: impl FnMut(Range<usize>)) -> bool {
        let lines = self.lines.as_mut().filter(|lines| !self.plan.goes_first() && !lines.fail());
        lines.is_some_and(|lines| lines.each_unmatched(&mut self.engine, block, found))
    }

    /// Marks the matching lines of whole lines, if that is faster than finding one after another: if there is
    /// nothing rare to search, or matches are dense.
    pub(super) fn mark_lines(&mut self, block: &[u8], marks: &mut LineMarks) -> bool {
        if !block.ends_with(b"\n") {
            return false;
        }
        let marker = self.marker.clone().filter(|marker| marker.judges_most(block));
        let marks_by_steps = self.newline_ends && has_short_lines(block);
        if marker.is_none() && !marks_by_steps || self.finds_rare_lines() && !self.are_dense(block) {
            return false;
        }
        let engine = &mut self.engine;
        let Some(marker) = marker else { return engine.mark_lines(block, marks) };
        marker.mark(block, marks, |line| engine.first_end(block, line).is_some());
        true
    }

    /// Appends the matching ones of whole lines, or the others, if they can be marked. Returns their number.
    pub(super) fn copy_lines(&mut self, block: &[u8], inverted: bool, out: &mut Vec<u8>) -> Option<u64> {
        let mut marks = std::mem::take(&mut self.marks);
        let copied = self.mark_lines(block, &mut marks).then(|| marks.copy(block, inverted, out));
        self.marks = marks;
        copied.flatten()
    }

    /// Whether lines are found by something that skips others, as long as matches are rare.
    fn finds_rare_lines(&self) -> bool {
        if self.lines.as_ref().is_some_and(|lines| !lines.fail()) {
            return true;
        }
        match &self.plan {
            MatchStrategy::Exact(_) | MatchStrategy::Run(_) | MatchStrategy::Start(_) => true,
            MatchStrategy::Contains { distrust, .. }
            | MatchStrategy::LineStart { literals: Some(_), distrust } => *distrust < DISTRUST_MAX,
            MatchStrategy::LineStart { literals: None, .. }
            | MatchStrategy::LineEnd { .. }
            | MatchStrategy::Nothing => false,
        }
    }

    /// Whether the first matching lines are close to each other.
    fn are_dense(&mut self, block: &[u8]) -> bool {
        let mut at = 0;
        for found in 0..SAMPLE {
            let near = block.len().min((found + 1) * DENSE_BYTES);
            match self.next_line(block, at) {
                Some(line) if line.end < near => at = line.end + 1,
                _ => return false,
            }
        }
        true
    }

    /// Returns the number of matching lines, up to `wanted`. The line's start is needed only if a hit in it
    /// does not prove a match.
    pub(super) fn count_lines(&mut self, block: &[u8], wanted: u64) -> u64 {
        if let Some(lines) = self.lines.as_mut().filter(|lines| !self.plan.goes_first() && !lines.fail())
            && let Some(counted) = lines.count(&mut self.engine, block, wanted)
        {
            return counted.min(wanted);
        }
        if wanted >= MARKED_MIN {
            let whole = memrchr(b'\n', block).map_or(0, |newline| newline + 1);
            let mut marks = std::mem::take(&mut self.marks);
            let count = self.mark_lines(&block[..whole], &mut marks).then(|| marks.count());
            self.marks = marks;
            if let Some(count) = count {
                let last = self.next_line(&block[whole..], 0).is_some();
                return wanted.min(count + u64::from(last));
            }
        }
        if self.lines.as_ref().is_some_and(|lines| !self.plan.goes_first() && !lines.fail()) {
            return self.count_one_by_one(block, wanted);
        }
        let rest = |at: usize| at..block.len();
        match &self.plan {
            MatchStrategy::Exact(literals) => {
                count_hits(block, wanted, |at| literals.find(block, rest(at)).map(|found| found.0))
            }
            MatchStrategy::Run(run) => {
                count_hits(block, wanted, |at| run.find(block, rest(at)).map(|found| found.0))
            }
            MatchStrategy::Start(start) => count_hits(block, wanted, |at| start.first(block, rest(at))),
            MatchStrategy::Contains { .. }
            | MatchStrategy::LineStart { .. }
            | MatchStrategy::LineEnd { .. }
            | MatchStrategy::Nothing => self.count_one_by_one(block, wanted),
        }
    }

    fn count_one_by_one(&mut self, block: &[u8], wanted: u64) -> u64 {
        let (mut count, mut at) = (0, 0);
        while count < wanted
            && let Some(line) = self.next_line(block, at)
        {
            count += 1;
            at = line.end + 1;
        }
        count
    }

    /// Whether the line matches, where a hit does not prove it.
    fn confirms(&mut self, block: &[u8], line: Range<usize>, from: usize, found: usize) -> bool {
        if self.lines.is_some()
            && self.plan.goes_first()
            && let MatchStrategy::Contains { distrust, .. } | MatchStrategy::LineStart { distrust, .. } =
                &mut self.plan
        {
            *distrust =
                if line.start - from < RARE_BYTES { *distrust + 1 } else { distrust.saturating_sub(1) };
            return match self.plan.is_anchored() {
                true => self.engine.matches_at(block, line),
                false => self.engine.first_end(block, line).is_some(),
            };
        }
        match &mut self.plan {
            MatchStrategy::Exact(_)
            | MatchStrategy::Run(_)
            | MatchStrategy::Start(_)
            | MatchStrategy::LineEnd { .. }
            | MatchStrategy::Nothing => true,
            MatchStrategy::LineStart { literals, distrust } => {
                if literals.is_some() && *distrust < DISTRUST_MAX {
                    // It pays as long as it skips lines.
                    *distrust = if line.start == from { *distrust + 1 } else { distrust.saturating_sub(1) };
                }
                self.engine.matches_at(block, line)
            }
            MatchStrategy::Contains { distrust, .. } if *distrust >= DISTRUST_MAX => true,
            MatchStrategy::Contains { literals, distrust } => {
                // A set is found more slowly than a string, and is less selective.
                let skipped = if matches!(literals, Literals::Set(_)) { found } else { line.end };
                if skipped - from < DISTRUST_BYTES {
                    *distrust += 1;
                }
                self.engine.first_end(block, line).is_some()
            }
        }
    }
}

/// Whether many lines begin in this block. Long lines are often decided at their beginning.
fn has_short_lines(block: &[u8]) -> bool {
    let near = &block[..block.len().min(SAMPLE_BYTES)];
    scan::count(near, b'\n') * SHORT_LINE_BYTES >= near.len()
}

/// Returns in how many lines something is found, up to `wanted`.
fn count_hits(block: &[u8], wanted: u64, find: impl Fn(usize) -> Option<usize>) -> u64 {
    let (mut count, mut at) = (0, 0);
    while count < wanted
        && at < block.len()
        && let Some(found) = find(at)
    {
        count += 1;
        at = memchr(b'\n', &block[found..]).map_or(block.len(), |newline| found + newline + 1);
    }
    count
}

/// Returns the line that `at` lies in, given that `from` is in it or in an earlier one. It does not start
/// before `from`.
fn line_around(block: &[u8], from: usize, at: usize) -> Range<usize> {
    let start = memrchr(b'\n', &block[from..at]).map_or(from, |newline| from + newline + 1);
    let end = memchr(b'\n', &block[at..]).map_or(block.len(), |newline| at + newline);
    start..end
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::*;
    use crate::Charset;
    use crate::regex::{Flavour, Options, Regex, Within, compile};

    fn regex(expression: &str) -> Regex {
        let options = Options { spans: true, ..Options::new(Flavour::GrepExtended) };
        compile(&[expression.as_bytes()], &options).unwrap()
    }

    #[test]
    fn counting_steps_finds_the_same() {
        let text = b"abc aab\nxaby ab\n\nb aaab_ab 12 a1b\ncab";
        for expression in
            ["a|ab", "a*", "a+b?", "(ab|a)(b|$)", "\\bab", "b\\>", "^x?", "b$", "a.*b", "[^a ]+$"]
        {
            let mut engine = regex(expression).searcher.engine;
            for start in 0..=text.len() {
                for end in start..=text.len() {
                    let counted = engine.find_counting(text, start..end);
                    assert_eq!(counted, Ok(engine.find(text, start..end)), "{expression} {start}..{end}");
                }
            }
        }
    }

    /// Returns expressions of a few parts, with occasional anchors.
    fn expression(random: &mut Random) -> String {
        const PARTS: &[&str] = &[
            "a",
            "b",
            "[0-9]",
            "[ab]",
            ".",
            "[^a]",
            "[^a-z]",
            "[.,]",
            "\\.",
            "-",
            "\u{e9}",
            "(a|bc)",
            "(ab|[0-9]-)",
            "X",
            "([0-9]{1,2}\\.)",
            "\\b",
            "[a-z0-9]",
            "(^|b)",
            "(a|$)",
        ];
        const TIMES: &[&str] = &["", "", "", "*", "+", "?", "{2}", "{1,3}", "{3,}", "{2,5}", "{0,4}"];
        let mut text = String::new();
        for branch in 0..1 + random.below(8) / 5 {
            text += if branch > 0 { "|" } else { "" };
            text += random.pick(&["", "", "^"]);
            for _ in 0..1 + random.below(3) {
                text += random.pick(PARTS);
                text += random.pick(TIMES);
            }
            text += random.pick(&["", "", "$"]);
        }
        text
    }

    fn marked_lines(marks: &LineMarks) -> Vec<Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(|| {
            let line = marks.next_line(at)?;
            at = line.end + 1;
            Some(line)
        })
        .collect()
    }

    fn lines_of(block: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            let rest = block.get(start..).filter(|rest| !rest.is_empty())?;
            let end = memchr(b'\n', rest).map_or(block.len(), |end| start + end);
            at = end + 1;
            Some(start..end)
        })
    }

    #[test]
    fn lines_are_those_that_the_automaton_accepts() {
        let mut random = Random::new(5);
        let pieces: [&[u8]; 16] = [
            b"a",
            b"b",
            b"1",
            b"23",
            b".",
            b",",
            b"-",
            b"\n",
            b"\n",
            b"ab",
            b"bc",
            b"X",
            "\u{e9}".as_bytes(),
            "\u{65e5}".as_bytes(),
            b"\xff",
            b"  ",
        ];
        let (mut without_plan, mut counted, mut marked, mut by_bits, mut by_steps) = (0, 0, 0, 0, 0);
        for _ in 0..1300 {
            let expression = expression(&mut random);
            let charset = random.pick(&[Charset::C, Charset::Utf8]);
            let within = random.pick(&[Within::Anywhere, Within::Anywhere, Within::Line]);
            let ignore_case = random.below(4) == 0;
            let options = Options { charset, within, ignore_case, ..Options::new(Flavour::GrepExtended) };
            let Ok(mut regex) = compile(&[expression.as_bytes()], &options) else { continue };
            without_plan += usize::from(regex.searcher.lines.is_some());
            for _ in 0..4 {
                let kinds = 1 + random.below(pieces.len());
                let few = random.pick(&[b"a" as &[u8], b"1", b"\n", b"-", b"."]);
                let mut block = Vec::new();
                let most = random.pick(&[200, 200, 200, 3000]);
                for _ in 0..random.below(most) {
                    let piece = random.pick(&pieces[..kinds]);
                    block.extend_from_slice(if random.below(3) == 0 { few } else { piece });
                }
                if random.below(3) > 0 && !block.is_empty() {
                    block.push(b'\n');
                }
                let engine = &mut regex.searcher.engine;
                let mut matches = |line: &Range<usize>| engine.first_end(&block, line.clone()).is_some();
                let expected: Vec<_> = lines_of(&block).filter(|line| matches(line)).collect();
                let shown =
                    format!("{expression} {charset:?} {within:?} {:?}", block.escape_ascii().to_string());
                let mut found = Vec::new();
                let mut at = 0;
                while let Some(line) = regex.next_line(&block, at) {
                    at = line.end + 1;
                    found.push(line);
                }
                assert_eq!(found, expected, "{shown}");
                for wanted in [1, 70, u64::MAX] {
                    let count = regex.count_lines(&block, wanted);
                    assert_eq!(count, wanted.min(expected.len() as u64), "{shown}");
                }
                if block.ends_with(b"\n")
                    && let Some(marker) = regex.searcher.marker.clone()
                {
                    let mut marks = LineMarks::default();
                    let engine = &mut regex.searcher.engine;
                    marker.mark(&block, &mut marks, |line| engine.first_end(&block, line).is_some());
                    by_bits += 1;
                    assert_eq!(marked_lines(&marks), expected, "{shown}");
                    assert_eq!(marks.count(), expected.len() as u64, "{shown}");
                    marks.spread();
                    let has = |at: usize| marks.matching[at / 64] >> (at % 64) & 1 == 1;
                    for line in lines_of(&block) {
                        let mut bytes = line.start..=line.end;
                        assert!(bytes.all(|at| has(at) == expected.contains(&line)), "{shown} {line:?}");
                    }
                }
                let mut marks = LineMarks::default();
                if block.ends_with(b"\n") && regex.searcher.engine.mark_lines(&block, &mut marks) {
                    by_steps += 1;
                    assert_eq!(marked_lines(&marks), expected, "{shown}");
                }
                let Searcher { lines, engine, .. } = &mut regex.searcher;
                let count = lines.as_mut().map(|lines| lines.count(engine, &block, u64::MAX));
                counted += usize::from(count.flatten().is_some());
                let mut others = Vec::new();
                if regex.each_unmatched(&block, |line| others.push(line)) {
                    marked += 1;
                    assert_eq!(
                        others,
                        lines_of(&block).filter(|line| !expected.contains(line)).collect::<Vec<_>>(),
                        "{shown}"
                    );
                }
            }
        }
        assert!(without_plan > 450 && counted > 450, "{without_plan}, {counted}");
        assert!(marked > 60 && by_bits > 1500 && by_steps > 1500, "{marked} {by_bits} {by_steps}");
    }

    #[test]
    fn looking_ahead_from_every_match_of_a_long_line_is_given_up() {
        let text = vec![b'a'; 1 << 17];
        let count = |expression: &str| {
            let mut regex = regex(expression);
            let (mut at, mut found) = (0, 0);
            while let Some((_, end)) = regex.find(&text, at..text.len())? {
                (at, found) = (end, found + 1);
            }
            Ok(found)
        };
        assert_eq!(count("a|a.*b"), Err(GaveUp));
        assert_eq!(count("(aa|aaa)b?"), Ok((1 << 17) / 3 + 1));
    }
}
