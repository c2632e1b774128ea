//! `sub` and `gsub`: in one text, and, if a program does nothing else, in all lines of a block at once.

use std::ops::Range;

use crate::regex::Regex;

use super::code::{Code, Do, Get, LValue, ORS, Replacement, ReplacementPart, When};
use super::pattern::Pattern;
use super::rules;
use super::single_byte::Single;
use super::text::{self, append_part};
use super::value::Value;

/// Replaces the first match, or all. Returns the number of matches; if 0, the appended text is meaningless.
pub(super) fn replace(
    pattern: &mut Pattern,
    all: bool,
    parts: &[ReplacementPart],
    text: &[u8],
    out: &mut Vec<u8>,
) -> usize {
    if all
        && let (Some(set), Some(by)) = (pattern.single(), fixed(parts))
        && set.serves(by)
    {
        return set.replace(by, text, out);
    }
    if !all {
        return replace_first(pattern, parts, text, out);
    }
    let (mut at, mut count) = (0, 0);
    // Where the next match is searched, and whether one that is not empty came before.
    let (mut from, mut follows_match) = (0, false);
    let mut last = Last::default();
    let varies = fixed(parts).is_none();
    pattern.each(text, |start, end| {
        if at < start {
            append_part(text, at..start, out);
        }
        // An empty match directly after a match does not count.
        let is_skipped = start == end && start == from && follows_match;
        if !is_skipped {
            count += 1;
            if varies && rules::is_mawk() && last.is(&text[start..end], parts, out) {
                append_part(text, start..end, out);
            } else {
                let begin = out.len();
                write_part(parts, text, start..end, out);
                last = Last::Made(begin..out.len());
            }
        } else if varies {
            last = Last::OfNothing;
        }
        // gawk forgets the match before only when it skips an empty one.
        follows_match = start < end || follows_match && !is_skipped && rules::is_gawk();
        from = if start == end { end + 1 } else { end };
        at = end;
    });
    out.extend_from_slice(&text[at..]);
    count
}

fn replace_first(pattern: &mut Pattern, parts: &[ReplacementPart], text: &[u8], out: &mut Vec<u8>) -> usize {
    let Some((start, end)) = pattern.find(text, 0..text.len()) else { return 0 };
    out.extend_from_slice(&text[..start]);
    write(parts, &text[start..end], out);
    out.extend_from_slice(&text[end..]);
    1
}

/// The result of the previous match: mawk leaves a match unchanged that equals it. (`gsub(/a+/, "&&")` turns
/// `a1aa` into `aa1aa`.)
#[derive(Default)]
enum Last {
    /// No previous match.
    #[default]
    None,
    /// Its range in the output.
    Made(Range<usize>),
    /// An empty match with an empty result: mawk remembers it too.
    OfNothing,
}

impl Last {
    #[inline]
    fn is(&self, matched: &[u8], parts: &[ReplacementPart], out: &[u8]) -> bool {
        match self {
            Last::None => false,
            Last::Made(range) => range.len() == matched.len() && out[range.clone()] == *matched,
            Last::OfNothing => made_of_nothing(parts) == matched,
        }
    }
}

fn made_of_nothing(parts: &[ReplacementPart]) -> Vec<u8> {
    let mut made = Vec::new();
    write(parts, b"", &mut made);
    made
}

/// Appends text that is usually empty, or one byte.
#[inline(always)]
fn append(text: &[u8], out: &mut Vec<u8>) {
    match text {
        [] => {}
        [byte] => out.push(*byte),
        text => text::append(text, out),
    }
}

fn write(parts: &[ReplacementPart], matched: &[u8], out: &mut Vec<u8>) {
    write_part(parts, matched, 0..matched.len(), out);
}

/// Appends the replacement of a match in a text.
#[inline]
fn write_part(parts: &[ReplacementPart], text: &[u8], matched: Range<usize>, out: &mut Vec<u8>) {
    for part in parts {
        match part {
            ReplacementPart::Text(text) => append(text, out),
            ReplacementPart::Match => append_part(text, matched.clone(), out),
        }
    }
}

/// Returns a constant replacement.
fn fixed(parts: &[ReplacementPart]) -> Option<&[u8]> {
    match parts {
        [] => Some(b""),
        [ReplacementPart::Text(text)] => Some(text),
        _ => None,
    }
}

/// A substitution of a program that only substitutes in each line before printing it.
#[derive(Clone, Debug)]
struct Pass {
    single: Option<Single>,
    lines: Regex,
    all: bool,
    parts: Vec<ReplacementPart>,
}

/// A program that only substitutes and prints: `{gsub(/a/, "b")} 1`.
#[derive(Clone, Debug)]
pub(super) struct Passes {
    passes: Vec<Pass>,
    made: Vec<u8>,
}

impl Passes {
    /// `None` if the program is of another kind.
    pub(super) fn of(code: &Code, patterns: &[Pattern]) -> Option<Passes> {
        let plain = code.has_lines() && code.begin.is_empty() && code.end.is_empty();
        if !plain
            || !matches!(&code.globals[ORS], Value::Text(end) | Value::Input(end) if end.bytes() == b"\n")
        {
            return None;
        }
        let mut steps = Vec::new();
        for rule in &code.rules {
            let always = match &rule.when {
                When::Always => true,
                When::If(Get::Number(number)) => *number != 0.0,
                _ => false,
            };
            if !always {
                return None;
            }
            steps.extend(&rule.action);
        }
        let (Do::PrintRecord, steps) = steps.split_last().map(|(last, steps)| (*last, steps))? else {
            return None;
        };
        let passes = steps.iter().map(|step| Pass::of(step, patterns)).collect::<Option<Vec<_>>>()?;
        (!passes.is_empty()).then_some(Passes { passes, made: Vec::new() })
    }

    /// Processes whole lines, the last of which may lack its end.
    pub(super) fn run(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let mut whole;
        let mut given = block;
        if block.last() != Some(&b'\n') {
            whole = block.to_vec();
            whole.push(b'\n');
            given = &whole;
        }
        let mut made = std::mem::take(&mut self.made);
        let Some((last, first)) = self.passes.split_last_mut() else { return };
        for pass in first {
            made.clear();
            pass.run(given, &mut made);
            whole = std::mem::take(&mut made);
            given = &whole;
        }
        last.run(given, out);
        self.made = made;
    }
}

impl Pass {
    fn of(step: &Do, patterns: &[Pattern]) -> Option<Pass> {
        let Do::Run(Get::Substitute { all, pattern, by: Replacement::Fixed(parts), place }) = step else {
            return None;
        };
        let has_newline =
            |part: &ReplacementPart| matches!(part, ReplacementPart::Text(text) if text.contains(&b'\n'));
        let pattern = &patterns[*pattern];
        if !matches!(**place, LValue::Record) || pattern.may_match_nothing() || parts.iter().any(has_newline)
        {
            return None;
        }
        let serves = |single: &&Single| *all && fixed(parts).is_some_and(|by| single.serves(by));
        let single = pattern.single().filter(serves).map(Single::over_lines);
        Some(Pass { single, lines: pattern.over_lines()?, all: *all, parts: parts.clone() })
    }

    fn run(&mut self, lines: &[u8], out: &mut Vec<u8>) {
        if let (Some(single), Some(by)) = (&self.single, fixed(&self.parts)) {
            return single.replace_uncounted(by, lines, out);
        }
        let (end, mut at, mut copied) = (lines.len() - 1, 0, 0);
        let mut last = 0..0;
        let varies = self.all && fixed(&self.parts).is_none();
        // Patient searches never give up.
        while at <= end
            && let Ok(Some((start, stop))) = self.lines.find(lines, at..end)
        {
            out.extend_from_slice(&lines[copied..start]);
            // A match that equals the previous result, in the same line, stays: see `Last`.
            if varies
                && out[last.clone()] == lines[start..stop]
                && last.end > 0
                && !lines[copied..start].contains(&b'\n')
            {
                out.extend_from_slice(&lines[start..stop]);
            } else {
                let begin = out.len();
                write(&self.parts, &lines[start..stop], out);
                last = begin..out.len();
            }
            (copied, at) = (stop, stop);
            if !self.all {
                at = memchr::memchr(b'\n', &lines[stop..]).map_or(lines.len(), |newline| stop + newline + 1);
            }
        }
        out.extend_from_slice(&lines[copied..]);
    }
}
