//! POSIX regular expressions as GNU grep and GNU sed match them.
//!
//! The path of an expression: text → [`parse`] (with [`bracket`], [`escape`], [`classes`]) → [`node`], a tree
//! over sets of characters → [`hir`] → [`engine`], lazily built automata, and [`dense`], full ones;
//! [`literal`] finds strings to search first, [`windows`] sequences of byte sets, by which [`lines`] finds
//! lines; [`line_marks`] marks all matching lines of a block; [`search`] chooses how to search, [`groups`] retraces a
//! match for its groups. Each step may decline: if equality with the real tool is not certain, the real tool runs. `tests/regex_oracle.rs`
//! compares with it.
//!
//! No search takes more than linear time in the length of a line, except that finding *all* matches may look
//! ahead from each of them. That is counted, and on [`GaveUp`] the real tool gets the line.

mod back_references;
mod bracket;
mod chars;
mod classes;
mod dense;
mod engine;
mod escape;
mod groups;
mod hir;
mod line_automaton;
mod line_marks;
mod lines;
mod literal;
mod members;
mod node;
mod parse;
mod run;
mod search;
mod sets;
mod start;
mod windows;

use std::ops::Range;
use std::sync::Arc;

use simdutf8::compat::from_utf8;

use crate::tool::context::UNKNOWN_CHARACTERS;
use crate::{Accept, ByteMap, Charset, Collate, Declined, Locale};

use chars::{CharSet, Former};
pub use groups::Spans;
use groups::Tracer;
use hir::Dialect;
pub use line_marks::LineMarks;
use node::{Look, Node};
use parse::Syntax;
use search::Searcher;
use sets::Sets;

/// The tool that defines the syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// `grep`, `grep -G`.
    GrepBasic,
    /// `grep -E`.
    GrepExtended,
    /// `grep -F`: no operators at all.
    GrepFixed,
    /// `sed`.
    SedBasic,
    /// `sed -E`.
    SedExtended,
}

/// How a match must lie in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Anywhere.
    Anywhere,
    /// Between non-word characters (`grep -w`).
    Word,
    /// The whole line (`grep -x`).
    Line,
}

/// The role of a newline in the searched text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newline {
    /// The end of a line: the text may be many lines, and no match crosses from one to the next.
    EndsLine,
    /// A character like any other (sed's pattern space after `s/,/\n/`).
    IsCharacter,
}

/// The settings that decide an expression's meaning.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// The tool that defines the syntax.
    pub flavour: Flavour,
    /// LC_CTYPE.
    pub charset: Charset,
    /// The meaning of ranges in brackets.
    pub ranges: Ranges,
    /// `-i`, or `I` in sed.
    pub ignore_case: bool,
    /// `-w`, `-x`.
    pub within: Within,
    /// The role of a newline in the searched text.
    pub newline: Newline,
    /// Whether this grep is known not to warn of stray backslashes (`\-`), like Debian's.
    pub stray_backslash_is_quiet: bool,
    /// Whether `.` does not match all characters of UTF-8, see [`Judges::NoLateUtf8`].
    pub dot_misses_late: bool,
    /// Which characters sets have beside those of ASCII, in UTF-8.
    pub wide: Wide,
    /// Whether matches will be searched with [`Regex::find`], not only matching lines.
    pub spans: bool,
    /// The groups whose spans will be needed.
    pub groups: &'a [usize],
}

/// Which characters sets have in UTF-8, beside those of ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {
    /// Those of Unicode. What other sequences are is left to the tool.
    Unicode,
    /// As in gawk: a negated set has all that glibc decodes, and `.` what its matcher knows. This is known of any bytes.
    Gawk(Dot),
}

/// What `.` matches in gawk, in UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot {
    /// In gnulib's matcher: the characters of Unicode.
    Gnulib,
    /// In that of 2020: without those of which [`Judges::NoLateUtf8`] tells.
    Gnulib2020,
    /// In glibc's matcher: what glibc decodes.
    Glibc,
    /// In glibc's matcher, where it works on bytes: surrogates, too.
    GlibcBytes,
}

impl Wide {
    /// Returns what `.` matches.
    fn dot(self, utf8: bool) -> CharSet {
        let all = CharSet::all(utf8);
        match self {
            _ if !utf8 => all,
            Wide::Unicode | Wide::Gawk(Dot::Gnulib) => all,
            Wide::Gawk(Dot::Gnulib2020) => all.without_late(),
            Wide::Gawk(Dot::Glibc) => all.with_former(Former { beyond: true, surrogates: false }),
            Wide::Gawk(Dot::GlibcBytes) => all.with_former(Former { beyond: true, surrogates: true }),
        }
    }

    /// Returns all characters that are not in a set.
    fn others(self, set: &CharSet, utf8: bool) -> CharSet {
        let others = set.complement(utf8);
        match self {
            Wide::Gawk(_) if utf8 => others.with_former(Former { beyond: true, surrogates: false }),
            _ => others,
        }
    }
}

/// The meaning of a range such as `[a-z]` in a locale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranges {
    /// All characters whose code points lie between its ends.
    CodePoints,
    /// A range of digits, small letters or capital letters has of ASCII what lies between its ends. The
    /// locale's tables decide about other characters and other ranges: `é` lies between `a` and `z` in en_US.
    AsciiAlike,
    /// Unknown: in Estonian, `z` comes before `t`.
    Unknown,
}

impl Ranges {
    /// Returns the meaning of ranges in these expressions: looked up if there may be any.
    pub fn of(locale: &Locale, expressions: &[&[u8]]) -> Self {
        let may_have_one = |text: &&[u8]| text.contains(&b'[') && text.contains(&b'-');
        if locale.collate == Collate::Bytes || !expressions.iter().any(may_have_one) {
            return Ranges::CodePoints;
        }
        let Ok(collation) = locale.collation() else { return Ranges::Unknown };
        let Some(collation) = collation else { return Ranges::CodePoints };
        let mut runs = [b'0'..=b'9', b'a'..=b'z', b'A'..=b'Z'].into_iter();
        let ascending = runs.all(|mut run| {
            let mut before = run.next().unwrap_or_default();
            run.all(|byte| {
                let next = std::mem::replace(&mut before, byte);
                collation.compare(&[next], &[byte]).is_lt()
            })
        });
        if ascending && collation.has_plain_ranges() { Ranges::AsciiAlike } else { Ranges::Unknown }
    }
}

impl Options<'_> {
    /// Returns the simplest options, in the C locale.
    pub fn new(flavour: Flavour) -> Self {
        Options {
            flavour,
            charset: Charset::C,
            ranges: Ranges::CodePoints,
            ignore_case: false,
            within: Within::Anywhere,
            newline: Newline::EndsLine,
            stray_backslash_is_quiet: false,
            dot_misses_late: false,
            wide: Wide::Unicode,
            spans: false,
            groups: &[],
        }
    }
}

/// Which data an expression supports. Lines with other data must go to the real tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judges {
    /// Any bytes.
    AnyBytes,
    /// Any but the sequences that UTF-8 once had and glibc still decodes: surrogates, and values beyond
    /// Unicode's last code point. The tools' two matchers treat them differently. Other invalid bytes are no
    /// characters to either.
    NoForbiddenUtf8,
    /// Valid UTF-8.
    ValidUtf8,
    /// Valid UTF-8 without two blocks of characters that `.` does not match in grep 3.4 to 3.7 and sed 4.8:
    /// U+D400 to U+D7FF, and U+108000 to U+10FFFF.
    NoLateUtf8,
    /// ASCII: the system's tables decide what is a letter elsewhere.
    Ascii,
}

impl Judges {
    /// Returns the offset of the first unsupported byte.
    pub fn first_unjudged(self, data: &[u8]) -> Option<usize> {
        match self {
            Judges::AnyBytes => None,
            Judges::NoForbiddenUtf8 => first_forbidden(data),
            Judges::ValidUtf8 => first_invalid(data),
            Judges::NoLateUtf8 => {
                let late = first_late(data);
                first_invalid(&data[..late.unwrap_or(data.len())]).or(late)
            }
            Judges::Ascii if data.is_ascii() => None,
            Judges::Ascii => data.iter().position(|b| !b.is_ascii()),
        }
    }
}

fn first_invalid(data: &[u8]) -> Option<usize> {
    from_utf8(data).err().map(|error| error.valid_up_to())
}

/// Returns the offset of the first byte with which a late character, or a surrogate, begins.
fn first_late(data: &[u8]) -> Option<usize> {
    let is_late = |at: &usize| match data[*at] {
        0xED => data.get(at + 1).is_none_or(|next| *next >= 0x90),
        _ => data.get(at + 1).is_none_or(|next| *next >= 0x88),
    };
    memchr::memchr2_iter(0xED, 0xF4, data).find(is_late)
}

fn first_forbidden(data: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Err(error) = from_utf8(&data[at..]) {
        at += error.valid_up_to();
        if matches!(data[at], 0xED | 0xF4..=0xFD) {
            return Some(at);
        }
        at += error.error_len().unwrap_or(data.len() - at);
    }
    None
}

/// A compiled expression, or several of which any may match. Clones are cheap; each thread needs its own.
#[derive(Clone, Debug)]
pub struct Regex {
    searcher: Searcher,
    tracer: Option<Tracer>,
    judges: Judges,
    judges_all: Judges,
    groups: usize,
    sets: Arc<Sets>,
    looks_far: bool,
    nullable: bool,
    matches_all: bool,
    led_run: Option<Arc<LedRun>>,
}

/// One byte of a set, followed by as many of another as there are: `,[ \t]*`, `[0-9]+`.
#[derive(Clone, Debug)]
pub struct LedRun {
    /// The set of the first byte.
    pub head: [bool; 256],
    /// The set of the others.
    pub run: [bool; 256],
}

impl LedRun {
    fn new(node: &Node, utf8: bool) -> Option<LedRun> {
        let (head, run) = match node {
            Node::Group(_, body) => return LedRun::new(body, utf8),
            Node::Repeat { body, min: 1, max: None } => (&**body, &**body),
            Node::Concat(parts) => match parts.as_slice() {
                [head, Node::Repeat { body, min: 0, max: None }] => (head, &**body),
                _ => return None,
            },
            _ => return None,
        };
        let (Node::Set(head), Node::Set(run)) = (head, run) else { return None };
        let table = |set: &chars::CharSet| std::array::from_fn(|byte| set.contains(byte as u32));
        let serves = !utf8 || head.is_ascii() && run.is_ascii();
        serves.then(|| LedRun { head: table(head), run: table(run) })
    }
}

/// The form of all matches, if it can be described without the expression: for rules that replace a search by
/// something simpler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// This string.
    Literal(Vec<u8>),
    /// One byte out of those marked.
    OneOf(Box<[bool; 256]>),
    /// Something else.
    Other,
}

/// A search would take more than linear time: the real tool must continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GaveUp;

/// Compiles expressions. Newlines separate alternatives for grep, as in `grep $'a\nb'`.
pub fn compile(expressions: &[&[u8]], options: &Options) -> Accept<Regex> {
    let utf8 = match options.charset {
        Charset::C => false,
        Charset::Utf8 => true,
        Charset::Other => return Declined::because(UNKNOWN_CHARACTERS),
    };
    let syntax = syntax(options, utf8);
    let (node, groups, mut judges) = read(expressions, options, syntax)?;
    if options.newline == Newline::IsCharacter && !node.anchors_are_outermost(true, true) {
        return Declined::because("an anchor in the middle, where lines contain newlines");
    }
    let node = place(node, options)?;
    if utf8 && options.within == Within::Word {
        judges = Judges::Ascii;
    }
    if node.weight() > WEIGHT_MAX {
        return Declined::because("the expression is too big");
    }
    let dialect = Dialect { utf8, newline_ends: syntax.newline_ends, groups: false };
    let tracer = if options.groups.is_empty() {
        None
    } else {
        groups::check(&node, options.groups)?;
        Some(Tracer::new(&node, groups, utf8, syntax.newline_ends))
    };
    // After an empty match the tools continue at the next byte, even inside a character.
    let judges_all = if utf8 && node.is_nullable() { Judges::Ascii } else { judges };
    let sets = Arc::new(Sets::of(&node, utf8));
    let searcher = Searcher::new(&node, dialect)?;
    let (nullable, matches_all) = (node.is_nullable(), node.matches_nothing_anywhere());
    let looks_far = !searcher.never_gives_up() && node.may_look_far();
    let led_run = LedRun::new(&node, utf8).map(Arc::new);
    Ok(Regex {
        searcher,
        tracer,
        judges,
        judges_all,
        groups,
        sets,
        looks_far,
        nullable,
        matches_all,
        led_run,
    })
}

/// Characters of an expression after expanding repetitions.
const WEIGHT_MAX: usize = 200_000;

fn syntax(options: &Options, utf8: bool) -> Syntax {
    Syntax {
        extended: matches!(options.flavour, Flavour::GrepExtended | Flavour::SedExtended),
        sed: matches!(options.flavour, Flavour::SedBasic | Flavour::SedExtended),
        utf8,
        wide: options.wide,
        ranges: options.ranges,
        ignore_case: options.ignore_case,
        stray_backslash_is_quiet: options.stray_backslash_is_quiet,
        newline_ends: options.newline == Newline::EndsLine,
    }
}

/// Parses all expressions into one tree.
fn read(expressions: &[&[u8]], options: &Options, syntax: Syntax) -> Accept<(Node, usize, Judges)> {
    let mut branches = Vec::new();
    let mut groups = 0;
    let (mut ascii_only, mut foreign_digits) = (false, false);
    let lines = expressions.iter().flat_map(|text| {
        // sed's expressions are not lists; the parser declines a newline in one.
        text.split(move |&b| b == b'\n' && !syntax.sed)
    });
    for text in lines {
        if text.is_empty() && syntax.sed {
            return Declined::because("an empty expression means the last one used");
        }
        if options.flavour == Flavour::GrepFixed {
            branches.push(parse::literal(text, syntax)?);
            continue;
        }
        let mut parsed = parse::parse(text, syntax)?;
        if parsed.node.any(&|node| node.as_back_reference().is_some()) {
            if !expands_back_references(expressions, options, syntax) {
                return Declined::because("a back-reference");
            }
            parsed.node = back_references::expand(&parsed.node, syntax.utf8)?;
            ascii_only |= syntax.utf8;
        }
        groups = groups.max(parsed.groups);
        ascii_only |= parsed.judges_ascii_only;
        foreign_digits |= parsed.has_digit_range;
        branches.push(parsed.node);
    }
    if branches.is_empty() {
        return Declined::because("no expression at all");
    }
    let node = Node::either(branches);
    let lines_alone = !syntax.sed && !options.spans && !expressions.iter().any(|text| asks_glibc(text));
    // gnulib's matcher knows the members of a range of digits; glibc asks the locale.
    ascii_only |= foreign_digits && !lines_alone;
    let mut judges = judges(&node, syntax, ascii_only, lines_alone);
    if options.dot_misses_late && matches!(judges, Judges::NoForbiddenUtf8 | Judges::ValidUtf8) {
        judges = Judges::NoLateUtf8;
    }
    Ok((node, groups, judges))
}

/// Whether back-references are sure to mean what their expansion does: where a single expression is searched in
/// lines, without folding. glibc compares whole lines and words for `-x` and `-w`.
fn expands_back_references(expressions: &[&[u8]], options: &Options, syntax: Syntax) -> bool {
    let is_one = expressions.len() == 1 && !expressions[0].contains(&b'\n');
    let is_plain = options.within == Within::Anywhere && !options.ignore_case && !options.spans;
    is_one && is_plain && !syntax.sed && options.groups.is_empty() && options.wide == Wide::Unicode
}

/// In a multibyte locale, grep asks glibc about classes, negated brackets, `\s` and the like.
fn asks_glibc(text: &[u8]) -> bool {
    text.windows(2)
        .any(|pair| pair == b"[:" || pair == b"[^" || pair[0] == b'\\' && pair[1].is_ascii_alphanumeric())
}

/// `lines_alone`: only gnulib's matcher is used, and only for whole lines.
fn judges(node: &Node, syntax: Syntax, ascii_only: bool, lines_alone: bool) -> Judges {
    if ascii_only {
        Judges::Ascii
    } else if syntax.utf8 && syntax.ignore_case && !lines_alone {
        // Folding can change a character's length, and glibc then loses its position at invalid bytes.
        Judges::ValidUtf8
    } else if syntax.wide == Wide::Unicode && syntax.utf8 && (node.is_nullable() || !node.is_ascii()) {
        Judges::NoForbiddenUtf8
    } else {
        Judges::AnyBytes
    }
}

/// Adds `-w` and `-x` as conditions around the expression.
fn place(node: Node, options: &Options) -> Accept<Node> {
    let around = |before, node, after| Node::Concat(vec![Node::Look(before), node, Node::Look(after)]);
    match options.within {
        Within::Anywhere => Ok(node),
        Within::Line => Ok(around(Look::LineStart, node, Look::LineEnd)),
        // grep shortens a match until it lies between words, but never to nothing, and cuts the line to do
        // so.
        Within::Word if node.is_nullable() => Declined::because("-w with a match of nothing"),
        Within::Word if node.any(&|node| matches!(node, Node::Look(_))) => {
            Declined::because("-w with anchors in the expression")
        }
        Within::Word if options.spans && shortens(&node) => {
            Declined::because("-w and -o with matches that may have to be shortened")
        }
        Within::Word => Ok(around(Look::NoWordBefore, node, Look::NoWordAfter)),
    }
}

/// Whether a match that `-w` rejects could contain a shorter one, from the same start, that it accepts. After
/// the first match in a line, grep 3.8 searches such a match in too short a piece of the line.
fn shortens(node: &Node) -> bool {
    let word = CharSet::of((0..0x80u8).filter(|&b| classes::is_word(b)).map(u32::from));
    let other = |node: &Node| matches!(node, Node::Set(set) if !set.minus(&word).is_empty());
    node.fixed_len().is_none() && node.any(&other)
}

impl Regex {
    /// Returns in which data it can find a first match. The searches must get no other data.
    pub fn judges(&self) -> Judges {
        self.judges
    }

    /// Returns in which data it can find all matches (`s///g`, `grep -o`).
    pub fn judges_all(&self) -> Judges {
        self.judges_all
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Returns the form of all matches, if it is simple.
    pub fn shape(&self) -> Shape {
        self.searcher.shape()
    }

    /// Returns a string that every match contains, if one is known.
    pub fn required(&self) -> Option<Vec<u8>> {
        self.searcher.required()
    }

    /// Returns the sets, if a match is one byte and a maximal run after it.
    pub fn led_run(&self) -> Option<&LedRun> {
        self.led_run.as_deref()
    }

    /// Whether finding all matches of a line never ends in [`GaveUp`].
    pub fn never_gives_up(&self) -> bool {
        self.searcher.never_gives_up()
    }

    /// Whether it could match the empty string.
    pub fn may_match_nothing(&self) -> bool {
        self.nullable
    }

    /// Whether it matches every line, because it matches the empty string anywhere.
    pub fn matches_all_lines(&self) -> bool {
        self.matches_all
    }

    /// Whether finding all matches could take more than linear time. One match never does.
    pub fn may_look_far(&self) -> bool {
        self.looks_far
    }

    /// Lets searches take any time, for callers without a fallback.
    pub fn be_patient(&mut self) {
        self.searcher.be_patient();
        if let Some(tracer) = &mut self.tracer {
            tracer.be_patient();
        }
    }

    /// Whether a line matches exactly if it matches after this map, for any line. `false` if in doubt.
    pub fn keeps_same_lines_after(&self, map: &ByteMap) -> bool {
        self.sets.cannot_notice(map)
    }

    /// Whether the line matches.
    pub fn is_match(&mut self, text: &[u8], line: Range<usize>) -> bool {
        self.searcher.is_match(text, line)
    }

    /// Returns the leftmost-longest match within `span`. The text around the span decides `^`, `\b` and the
    /// like, so that the next match is found with the rest of the line as the span.
    pub fn find(&mut self, text: &[u8], span: Range<usize>) -> Result<Option<(usize, usize)>, GaveUp> {
        self.searcher.find(text, span)
    }

    /// Calls `found` for successive matches, each after the previous one, an empty one a byte later. It must
    /// be [patient](Self::be_patient).
    pub fn each(&mut self, text: &[u8], found: impl FnMut(usize, usize)) {
        self.searcher.each(text, 0, found);
    }

    /// Returns the groups of a match from [`find`](Self::find); groups not requested when compiling are
    /// meaningless.
    pub fn groups_of(&mut self, text: &[u8], found: (usize, usize)) -> Result<&Spans, GaveUp> {
        self.tracer.as_mut().and_then(|tracer| tracer.trace(text, found.0..found.1)).ok_or(GaveUp)
    }

    /// Returns the first matching line at or after `at` (the start of a line), without its newline.
    pub fn next_line(&mut self, block: &[u8], at: usize) -> Option<Range<usize>> {
        self.searcher.next_line(block, at)
    }

    /// Calls `found` for each line that does not match, in order and without its end. Returns `false`, with no
    /// call, where [`next_line`](Self::next_line) is faster: if few lines match.
    pub fn each_unmatched(&mut self, block: &[u8], found: impl FnMut(Range<usize>)) -> bool {
        self.searcher.each_unmatched(block, found)
    }

    /// Marks the matching lines of a block that ends with a newline. Returns `false`, with nothing marked, where
    /// [`next_line`](Self::next_line) is faster, or the only way.
    pub fn mark_lines(&mut self, block: &[u8], marks: &mut LineMarks) -> bool {
        self.searcher.mark_lines(block, marks)
    }

    /// Appends the matching ones of whole lines, or the others, and returns their number. `None`, with nothing
    /// appended, where [`next_line`](Self::next_line) is faster, or the only way.
    pub fn copy_lines(&mut self, block: &[u8], inverted: bool, out: &mut Vec<u8>) -> Option<u64> {
        self.searcher.copy_lines(block, inverted, out)
    }

    /// Appends the matching lines of a block that ends with a newline, or the others. For searches that never give up
    /// ([`Regex::be_patient`]).
    pub fn keep_lines(&mut self, block: &[u8], inverted: bool, out: &mut Vec<u8>) {
        if self.copy_lines(block, inverted, out).is_some() {
            return;
        }
        let mut at = 0;
        while let Some(line) = self.next_line(block, at) {
            out.extend_from_slice(if inverted {
                &block[at..line.start]
            } else {
                &block[line.start..=line.end]
            });
            at = line.end + 1;
        }
        if inverted {
            out.extend_from_slice(&block[at..]);
        }
    }

    /// Returns the number of matching lines, up to `wanted`.
    pub fn count_lines(&mut self, block: &[u8], wanted: u64) -> u64 {
        self.searcher.count_lines(block, wanted)
    }
}
