//! Sequences of byte sets that every match contains: for `([0-9]{1,3}\.){3}`, a digit, a point and a digit.
//! They express more than strings ([`literal`](super::literal)), and are searched as fast.

use pelton_simd::sequences::{LENGTH_MAX, SEQUENCES_MAX};

use crate::ByteSet;

use super::chars::{CharSet, Former, encode};
use super::node::{Look, Node};

/// Adjacent byte sets.
pub(super) type Window = Vec<ByteSet>;

/// Windows of which each match contains one, in a line with newlines on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Windows {
    pub(super) windows: Vec<Window>,
    /// Whether a line that contains one matches.
    pub(super) suffice: bool,
}

/// The most windows from a product of others.
const PRODUCT_MAX: usize = 8;
/// Bytes compared at once.
const WIDTH: usize = 4;
/// Length of a window that is no whole match.
const PART_MAX: usize = 8;
/// How often a repeated part is expanded.
const COPIES_MAX: u32 = 3;
/// Members of a set beyond ASCII that become separate windows.
const WIDE_MAX: usize = 3;
/// Above this share of chance hits, searching windows does not pay.
const SHARE_MAX: f64 = 1.0 / 40.0;

impl Windows {
    /// `None` if nothing worth searching is known.
    pub(super) fn new(node: &Node, utf8: bool) -> Option<Windows> {
        let windows = of_line(node, utf8)?;
        // A line end alone is everywhere, and would not show which line is meant.
        let tells = |window: &Window| !window.is_empty() && window.iter().any(|set| *set != newline());
        let is_empty_line = |window: &Window| window.len() == 2;
        let usable = windows.windows.iter().all(|window| tells(window) || is_empty_line(window));
        let few = windows.windows.len() <= SEQUENCES_MAX;
        let short = windows.windows.iter().all(|window| window.len() <= LENGTH_MAX);
        let rare = windows.suffice || share(&windows.windows) <= SHARE_MAX;
        (usable && few && short && rare && !windows.windows.is_empty()).then_some(windows)
    }
}

fn newline() -> ByteSet {
    ByteSet::from_iter([b'\n'])
}

/// Returns what a matching line contains.
fn of_line(node: &Node, utf8: bool) -> Option<Windows> {
    match node {
        Node::Group(_, body) => of_line(body, utf8),
        Node::Either(branches) => {
            let mut all = Windows { windows: Vec::new(), suffice: true };
            for branch in branches {
                let one = of_line(branch, utf8)?;
                all.suffice &= one.suffice;
                all.windows.extend(one.windows);
            }
            Some(all)
        }
        Node::Concat(parts) => of_concat(parts, utf8),
        _ => of_concat(std::slice::from_ref(node), utf8),
    }
}

fn of_concat(mut parts: &[Node], utf8: bool) -> Option<Windows> {
    let (mut starts, mut ends) = (false, false);
    while let [Node::Look(Look::LineStart), rest @ ..] = parts {
        (parts, starts) = (rest, true);
    }
    while let [rest @ .., Node::Look(Look::LineEnd)] = parts {
        (parts, ends) = (rest, true);
    }
    if let ([Node::Either(branches)], true) = (parts, starts || ends) {
        // The anchors hold for each branch.
        let anchored = branches.iter().map(|branch| {
            let start = starts.then_some(Node::Look(Look::LineStart));
            let end = ends.then_some(Node::Look(Look::LineEnd));
            let inner = match branch {
                Node::Concat(parts) => parts.clone(),
                other => vec![other.clone()],
            };
            Node::Concat(start.into_iter().chain(inner).chain(end).collect())
        });
        return of_line(&Node::Either(anchored.collect()), utf8);
    }
    if let ([Node::Group(_, body)], true) = (parts, starts || ends) {
        let start = starts.then_some(Node::Look(Look::LineStart));
        let end = ends.then_some(Node::Look(Look::LineEnd));
        let inner = match &**body {
            Node::Concat(parts) => parts.clone(),
            other => vec![other.clone()],
        };
        return of_concat(&start.into_iter().chain(inner).chain(end).collect::<Vec<_>>(), utf8);
    }
    let parts = shortest(parts, !starts, !ends);
    let known = Known::of_all(parts.iter().map(|part| Known::of(part, utf8)));
    let before = if starts { vec![vec![newline()]] } else { vec![Window::new()] };
    let behind = if ends { vec![vec![newline()]] } else { vec![Window::new()] };
    if let Some(whole) = &known.whole {
        let windows = product(&product(&before, whole)?, &behind)?;
        if known.is_all {
            return Some(Windows { windows, suffice: true });
        }
    }
    let mut best = known.best.clone();
    better(&mut best, product(&before, &first_of(known.first())));
    better(&mut best, product(&last_of(known.last()), &behind));
    Some(Windows { windows: best?.iter().map(rarest).collect(), suffice: false })
}

/// Reduces repetitions to their minimum where nothing has to be adjacent: the line matches all the same.
pub(super) fn shortest(parts: &[Node], at_start: bool, at_end: bool) -> Vec<Node> {
    let mut parts = parts.to_vec();
    // Whether nothing of the part remains, so that the next part is the outermost.
    let shorten = |part: &mut Node| {
        match part {
            Node::Repeat { min: 0, .. } => *part = Node::Empty,
            Node::Repeat { min, max, .. } => *max = Some(*min),
            _ => {}
        }
        *part == Node::Empty
    };
    if at_start {
        let _ = parts.iter_mut().all(shorten);
    }
    if at_end {
        let _ = parts.iter_mut().rev().all(shorten);
    }
    parts
}

/// What is known of the strings that a part matches. All lists are alternatives; an empty window says
/// nothing.
#[derive(Clone, Debug)]
struct Known {
    /// The complete list of the strings.
    whole: Option<Vec<Window>>,
    /// Whether they are exactly `whole`, in any context.
    is_all: bool,
    /// They begin with one of these.
    first: Vec<Window>,
    /// They end with one of these.
    last: Vec<Window>,
    /// They contain one of these.
    best: Option<Vec<Window>>,
}

impl Known {
    fn nothing() -> Known {
        let nothing = vec![Window::new()];
        Known { whole: None, is_all: false, first: nothing.clone(), last: nothing, best: None }
    }

    fn whole(windows: Vec<Window>, is_all: bool) -> Known {
        Known { whole: Some(windows), is_all, ..Known::nothing() }
    }

    fn first(&self) -> &[Window] {
        self.whole.as_ref().unwrap_or(&self.first)
    }

    fn last(&self) -> &[Window] {
        self.whole.as_ref().unwrap_or(&self.last)
    }

    fn of(node: &Node, utf8: bool) -> Known {
        match node {
            Node::Empty => Known::whole(vec![Window::new()], true),
            // The context is not considered.
            Node::Look(_) => Known::whole(vec![Window::new()], false),
            Node::Set(set) => Known::of_set(set, utf8),
            Node::Group(_, body) => Known::of(body, utf8),
            Node::Concat(parts) => Known::of_all(parts.iter().map(|part| Known::of(part, utf8))),
            Node::Either(branches) => Known::of_either(branches.iter().map(|branch| Known::of(branch, utf8))),
            Node::Repeat { min: 0, .. } => Known::nothing(),
            Node::Repeat { body, min, max } => {
                let body = Known::of(body, utf8);
                let is_fixed = *max == Some(*min) && body.whole.is_some() && *min as usize <= LENGTH_MAX;
                let copies = if is_fixed { *min } else { (*min).min(COPIES_MAX) };
                let known = Known::of_all((0..copies).map(|_| body.clone()));
                if *max == Some(copies) {
                    return known;
                }
                // There may be more between the first and the last.
                let mut best = known.best.clone();
                better(&mut best, Some(first_of(known.first())));
                let (first, last) = (first_of(known.first()), last_of(known.last()));
                Known { whole: None, is_all: false, first, last, best }
            }
        }
    }

    fn of_set(set: &CharSet, utf8: bool) -> Known {
        let narrow = ByteSet::where_(|byte| {
            byte != b'\n' && (!utf8 || byte.is_ascii()) && set.contains(u32::from(byte))
        });
        let wide = if utf8 { set.minus(&CharSet::of(0..0x80)) } else { CharSet::none() };
        let has_former = set.former() != Former::default();
        if wide.len() <= WIDE_MAX && !has_former {
            let mut windows: Vec<Window> = if narrow.is_empty() { vec![] } else { vec![vec![narrow]] };
            windows.extend(
                wide.iter()
                    .map(|c| encode(c, utf8).into_iter().map(|byte| ByteSet::from_iter([byte])).collect()),
            );
            return if windows.is_empty() { Known::nothing() } else { Known::whole(windows, true) };
        }
        let with =
            |least: u8, most: u8| vec![vec![narrow.union(&ByteSet::where_(|b| (least..=most).contains(&b)))]];
        Known {
            first: with(0xC2, if has_former { 0xFD } else { 0xF4 }),
            last: with(0x80, 0xBF),
            ..Known::nothing()
        }
    }

    /// Combines adjacent parts.
    fn of_all(parts: impl Iterator<Item = Known>) -> Known {
        parts.fold(Known::whole(vec![Window::new()], true), |before, part| {
            let whole = before.whole.as_ref().zip(part.whole.as_ref()).and_then(|(a, b)| product(a, b));
            let whole = whole.filter(|windows| windows.iter().all(|window| window.len() <= LENGTH_MAX));
            let longer = before.whole.as_ref().and_then(|whole| product(whole, &first_of(part.first())));
            let first = first_of(&longer.unwrap_or_else(|| before.first().to_vec()));
            let longer = part.whole.as_ref().and_then(|whole| product(&last_of(before.last()), whole));
            let last = last_of(&longer.unwrap_or_else(|| part.last().to_vec()));
            let mut best = before.best.clone();
            better(&mut best, part.best.clone());
            let joint = product(&last_of(before.last()), &first_of(part.first()));
            if joint.is_none() {
                better(&mut best, Some(before.last().to_vec()));
                better(&mut best, Some(part.first().to_vec()));
            }
            better(&mut best, joint);
            let is_all = whole.is_some() && before.is_all && part.is_all;
            Known { whole, is_all, first, last, best }
        })
    }

    /// Combines alternatives.
    fn of_either(branches: impl Iterator<Item = Known>) -> Known {
        let mut branches = branches.collect::<Vec<_>>().into_iter();
        let Some(mut known) = branches.next() else { return Known::nothing() };
        for branch in branches {
            let both = |a: &[Window], b: &[Window]| {
                let all = [a, b].concat();
                if all.len() > SEQUENCES_MAX || all.iter().any(Vec::is_empty) {
                    vec![Window::new()]
                } else {
                    all
                }
            };
            let mut best = known.best.clone();
            better(&mut best, known.whole.clone());
            let mut other = branch.best.clone();
            better(&mut other, branch.whole.clone());
            let whole =
                known.whole.as_ref().zip(branch.whole.as_ref()).map(|(a, b)| [a.as_slice(), b].concat());
            known = Known {
                first: both(known.first(), branch.first()),
                last: both(known.last(), branch.last()),
                best: best.zip(other).map(|(a, b)| [a, b].concat()).filter(|all| all.len() <= SEQUENCES_MAX),
                is_all: known.is_all && branch.is_all,
                whole: whole.filter(|all| all.len() <= SEQUENCES_MAX),
            };
        }
        known.is_all &= known.whole.is_some();
        known
    }
}

/// Returns each head followed by each tail, unless they are too many.
fn product(heads: &[Window], tails: &[Window]) -> Option<Vec<Window>> {
    let joined = || heads.iter().flat_map(|head| tails.iter().map(|tail| [head.as_slice(), tail].concat()));
    let few = heads.len() * tails.len() <= PRODUCT_MAX || heads.len() == 1 || tails.len() == 1;
    few.then(|| joined().collect())
}

/// Returns the starts of windows.
fn first_of(windows: &[Window]) -> Vec<Window> {
    windows.iter().map(|window| window[..window.len().min(PART_MAX)].to_vec()).collect()
}

/// Returns the ends of windows.
fn last_of(windows: &[Window]) -> Vec<Window> {
    windows.iter().map(|window| window[window.len().saturating_sub(PART_MAX)..].to_vec()).collect()
}

/// Replaces the best windows by rarer ones.
fn better(best: &mut Option<Vec<Window>>, other: Option<Vec<Window>>) {
    let Some(other) = other.filter(|windows| windows.iter().all(|window| !window.is_empty())) else { return };
    if best.as_ref().is_none_or(|best| share(&other) < share(best)) {
        *best = Some(other);
    }
}

/// Returns the rarest part of a window that can be compared at once.
fn rarest(window: &Window) -> Window {
    let parts = window.windows(WIDTH.min(window.len().max(1)));
    let rarest = parts.min_by(|one, other| chance(one).total_cmp(&chance(other)));
    rarest.map_or_else(|| window.clone(), <[ByteSet]>::to_vec)
}

/// Returns the share of positions where one of the windows occurs by chance.
fn share(windows: &[Window]) -> f64 {
    windows.iter().map(|window| chance(&rarest(window))).sum()
}

fn chance(window: &[ByteSet]) -> f64 {
    window.iter().map(|set| set.iter().map(frequency).sum::<f64>().min(1.0)).product()
}

/// Estimates how often a byte occurs in text: as in prose or as in a log, whichever has more of it.
fn frequency(byte: u8) -> f64 {
    match byte {
        b' ' => 0.15,
        b'\n' => 0.02,
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 0.06,
        b'a'..=b'z' => 0.02,
        b'0'..=b'9' => 0.03,
        b'.' | b',' | b'-' | b'/' | b':' | b'"' => 0.02,
        b'A'..=b'Z' => 0.005,
        0x80.. => 0.002,
        _ => 0.002,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Syntax, parse};
    use super::*;

    fn windows(text: &str, utf8: bool, ignore_case: bool) -> Option<Windows> {
        let syntax = Syntax { utf8, ignore_case, ..Syntax::EXTENDED };
        Windows::new(&parse(text.as_bytes(), syntax).unwrap().node, utf8)
    }

    /// Formats windows as expressions, with `!` in front if a line that contains one need not match.
    fn shown(text: &str, utf8: bool, ignore_case: bool) -> String {
        let Some(found) = windows(text, utf8, ignore_case) else { return "-".into() };
        let set = |set: &ByteSet| {
            let all: Vec<u8> = set.iter().collect();
            let show = |byte: u8| byte.escape_ascii().to_string();
            match all.as_slice() {
                [one] => show(*one),
                [one, .., last] if usize::from(last - one) + 1 == all.len() => {
                    format!("[{}-{}]", show(*one), show(*last))
                }
                several => format!("[{}]", several.iter().map(|byte| show(*byte)).collect::<String>()),
            }
        };
        let shown: Vec<String> =
            found.windows.iter().map(|window| window.iter().map(set).collect()).collect();
        format!("{}{}", if found.suffice { "" } else { "!" }, shown.join(" "))
    }

    #[test]
    fn what_matches_contain_is_known() {
        for (text, windows) in [
            (r"([0-9]{1,3}\.){3}[0-9]{1,3}", r"![0-9].[0-9]"),
            ("[0-9]$", r"[0-9]\n"),
            ("^-", r"\n-"),
            ("^$", r"\n\n"),
            ("^a|b$", r"\na b\n"),
            ("^(a|bc)$", r"\na\n \nbc\n"),
            ("^$|a", r"\n\n a"),
            ("ab|c[de]", "ab c[d-e]"),
            ("[0-9]+ms", "[0-9]ms"),
            ("[0-9]+ +ms", "! ms"),
            ("x.*ms.*", "!ms"),
            (".*ms.?", "ms"),
            ("[0-9]+$", r"[0-9]\n"),
            ("^[0-9]+", r"\n[0-9]"),
            ("^-+ ", r"!\n-"),
            ("x*", "-"),
            ("x*$", "-"),
            ("^", "-"),
            ("$", "-"),
            ("a|", "-"),
            ("(^|x)y", "!y xy"),
            ("^^a", r"\na"),
            (r"\bGET", "!GET"),
            ("[a-z]+e", "[a-z]e"),
            ("[a-z] *[a-z]", "-"),
            ("a{3}", "aaa"),
            ("Z{3,5}", "ZZZ"),
            ("(xy){40}", "!xyxy"),
            ("a^b", "!ab"),
        ] {
            assert_eq!(shown(text, false, false), windows, "{text}");
        }
    }

    #[test]
    fn characters_of_several_bytes_are_known_by_some() {
        assert_eq!(shown("error|get", false, true), "[Ee][Rr][Rr][Oo][Rr] [Gg][Ee][Tt]");
        assert_eq!(shown("[k\u{e9}]", true, false), r"k \xc3\xa9");
        assert_eq!(shown("\u{e9}", true, false), r"\xc3\xa9");
        assert_eq!(shown("Q.X", true, false), "!Q");
        assert_eq!(shown("a.", true, false), "-");
    }
}
