//! The control flow of a script. Properties of all its paths are computed by a fixpoint iteration: which
//! expression was used last, whether the hold space is read before it is written, and whether a loop may
//! print for ever.
//!
//! A path begins at the first command, with a line just read, and ends with the cycle. `n` and `N` read
//! within it; `D` may lead back to the beginning.

use super::script::{Action, Address, Command, End, Hold, Lines, Pattern, Script, When};
use crate::{Accept, Declined};

/// Returns what connects a line with others; `None` if lines are independent.
pub(super) fn connection(script: &Script) -> Option<&'static str> {
    script.commands.iter().find_map(of_command).or_else(|| hold_is_kept(script).then_some(KEEPS))
}

const KEEPS: &str = "the hold space is kept from line to line";

fn of_command(command: &Command) -> Option<&'static str> {
    match &command.lines {
        Lines::All | Lines::At(Address::Matching(_)) => {}
        Lines::At(_) => return Some("it asks for the number of a line, or for the last"),
        Lines::Range(..) => return Some("a range of lines"),
    }
    match &command.action {
        Action::Number => Some("= tells the number of a line"),
        Action::Next => Some("n reads the next line"),
        Action::Join => Some("N reads the next line as well"),
        Action::Quit { .. } => Some("q ends it before its input does"),
        _ => None,
    }
}

/// A property before a command, on every path to it.
trait Knowledge: Clone + PartialEq {
    /// Merges two paths.
    fn meet(&mut self, other: &Self);
    /// Returns the property after this command: if it is executed, and if its lines do not match.
    fn behind(&self, command: &Command) -> (Self, Self);
}

/// Returns the property before each command; `None` for unreachable ones.
fn known<K: Knowledge>(script: &Script, first: K) -> Vec<Option<K>> {
    let commands = &script.commands;
    let mut before: Vec<Option<K>> = vec![None; commands.len()];
    let mut todo = Vec::new();
    let arrive = |at: usize, knows: &K, before: &mut Vec<Option<K>>, todo: &mut Vec<usize>| {
        let Some(here) = before.get_mut(at) else { return };
        let mut met = here.clone().unwrap_or_else(|| knows.clone());
        met.meet(knows);
        if here.as_ref() != Some(&met) {
            *here = Some(met);
            todo.push(at);
        }
    };
    arrive(0, &first, &mut before, &mut todo);
    while let Some(at) = todo.pop() {
        let Some(knows) = before[at].clone() else { continue };
        let (done, left) = knows.behind(&commands[at]);
        let (to, otherwise) = ways(&commands[at], at);
        to.into_iter().flatten().for_each(|to| arrive(to, &done, &mut before, &mut todo));
        otherwise.into_iter().for_each(|to| arrive(to, &left, &mut before, &mut todo));
    }
    before
}

/// Returns the successors of a command: if it is executed, and if its lines do not match.
fn ways(command: &Command, at: usize) -> ([Option<usize>; 2], Option<usize>) {
    let next = Some(at + 1);
    let otherwise = (command.negated || command.lines != Lines::All).then_some(at + 1);
    match command.action {
        Action::Block(end) => ([next, None], otherwise.map(|_| end)),
        Action::Jump(to, When::Always) => ([Some(to), None], otherwise),
        Action::Jump(to, _) => ([Some(to), next], otherwise),
        Action::Delete | Action::DeleteFirst | Action::Change(_) | Action::Quit { .. } => {
            ([None, None], otherwise)
        }
        _ => ([next, None], otherwise),
    }
}

/// The expression that was used last.
#[derive(Clone, Debug, PartialEq)]
enum Last {
    One(Pattern),
    /// One of several, or of an earlier line, or none.
    Unknown,
}

impl Last {
    fn use_one(&mut self, pattern: &Pattern) {
        if !pattern.is_last_used() {
            *self = Last::One(pattern.clone());
        }
    }

    fn pass_lines(&mut self, lines: &Lines) {
        match lines {
            Lines::All => {}
            Lines::At(address) => self.pass(address),
            Lines::Range(start, end) => {
                // One of the two is evaluated, or neither.
                let mut other = self.clone();
                other.pass(start);
                self.meet(&other);
                if let End::Matching(pattern) = end {
                    other.use_one(pattern);
                    self.meet(&other);
                }
            }
        }
    }

    fn pass(&mut self, address: &Address) {
        if let Address::Matching(pattern) = address {
            self.use_one(pattern);
        }
    }
}

impl Knowledge for Last {
    fn meet(&mut self, other: &Self) {
        if self != other {
            *self = Last::Unknown;
        }
    }

    fn behind(&self, command: &Command) -> (Self, Self) {
        let mut left = self.clone();
        left.pass_lines(&command.lines);
        let mut done = left.clone();
        if let Action::Substitute(substitute) = &command.action {
            done.use_one(&substitute.pattern);
        }
        (done, left)
    }
}

/// Replaces each empty expression by the one used last, which must be the same on every path.
pub(super) fn name_last_used(script: &mut Script) -> Accept<()> {
    let before = known(script, Last::Unknown);
    for (command, before) in script.commands.iter_mut().zip(before) {
        // Unreachable.
        let mut last = before.unwrap_or(Last::Unknown);
        match &mut command.lines {
            Lines::All => {}
            Lines::At(address) => name_in(address, &mut last)?,
            Lines::Range(start, end) => {
                let is_empty = |address: &Address| matches!(address, Address::Matching(pattern) if pattern.is_last_used());
                if is_empty(start) || matches!(end, End::Matching(pattern) if pattern.is_last_used()) {
                    return Declined::because(UNNAMED);
                }
                last.pass_lines(&command.lines);
            }
        }
        if let Action::Substitute(substitute) = &mut command.action {
            name(&mut substitute.pattern, &last)?;
        }
    }
    Ok(())
}

const UNNAMED: &str = "an empty expression means the last one used, which may be one of several";

fn name_in(address: &mut Address, last: &mut Last) -> Accept<()> {
    let Address::Matching(pattern) = address else { return Ok(()) };
    name(pattern, last)?;
    last.use_one(pattern);
    Ok(())
}

fn name(pattern: &mut Pattern, last: &Last) -> Accept<()> {
    match last {
        _ if !pattern.is_last_used() => Ok(()),
        _ if pattern.ignore_case || pattern.many_lines => Declined::because("flags of an empty expression"),
        Last::One(used) => {
            *pattern = used.clone();
            Ok(())
        }
        Last::Unknown => Declined::because(UNNAMED),
    }
}

/// Whether `h` was executed since the line was read.
#[derive(Clone, Debug, PartialEq)]
struct Held(bool);

impl Knowledge for Held {
    fn meet(&mut self, other: &Self) {
        self.0 &= other.0;
    }

    fn behind(&self, command: &Command) -> (Self, Self) {
        (Held(self.0 || command.action == Action::Hold(Hold::Copy)), self.clone())
    }
}

/// Whether an earlier line's hold space can be read.
fn hold_is_kept(script: &Script) -> bool {
    let writes = |hold: Hold| matches!(hold, Hold::Copy | Hold::Add | Hold::Exchange);
    let is_written =
        script.commands.iter().any(|command| matches!(command.action, Action::Hold(hold) if writes(hold)));
    let reads_old = |(command, before): (&Command, Option<Held>)| {
        let reads = matches!(command.action, Action::Hold(hold) if hold != Hold::Copy);
        reads && before.is_some_and(|held| !held.0)
    };
    is_written && script.commands.iter().zip(known(script, Held(false))).any(reads_old)
}

/// Whether it can print repeatedly without reading. Its output for a line may then be infinite, and must not
/// be gathered before it is passed on.
pub(super) fn may_print_for_ever(script: &Script) -> bool {
    let grows = script.commands.iter().any(|command| match &command.action {
        Action::Hold(_) | Action::Translate(_) => true,
        Action::Substitute(substitute) => substitute.texts().any(|byte| matches!(byte, b'\n' | 0)),
        _ => false,
    });
    let prints = |command: &Command| match &command.action {
        Action::Print | Action::PrintFirst | Action::PrintAside => true,
        Action::List(_) | Action::Number | Action::Insert(_) | Action::Append(_) => true,
        Action::Substitute(substitute) => substitute.prints(),
        _ => false,
    };
    let commands = &script.commands;
    let is_on_loop = |start: usize| {
        let mut seen = vec![false; commands.len()];
        let mut todo = vec![start];
        while let Some(at) = todo.pop() {
            for to in unread_ways(&commands[at], at, grows) {
                if to == start {
                    return true;
                }
                if seen.get(to) == Some(&false) {
                    seen[to] = true;
                    todo.push(to);
                }
            }
        }
        false
    };
    (0..commands.len()).any(|at| prints(&commands[at]) && is_on_loop(at))
}

/// Returns the commands that can follow without reading a line. `grows`: whether the script can add lines to
/// the pattern space; if not, `D` cannot lead back for ever, and is left out.
fn unread_ways(command: &Command, at: usize, grows: bool) -> impl Iterator<Item = usize> {
    let (to, otherwise) = ways(command, at);
    let reads = matches!(command.action, Action::Next | Action::Join);
    let back = (grows && command.action == Action::DeleteFirst).then_some(0);
    to.into_iter().flatten().filter(move |_| !reads).chain(otherwise).chain(back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sed::parse::parse;

    fn script(text: &str) -> Script {
        parse(text.as_bytes(), false, true).unwrap_or_else(|declined| panic!("{text}: {declined}"))
    }

    #[test]
    fn the_hold_space_from_line_to_line() {
        for text in ["h;s/a/b/;G", "G;s/\\n/x/", "h;x;G;x", "/a/!{h;g};h;/b/{x;H}"] {
            assert_eq!(connection(&script(text)), None, "{text}");
        }
        for text in ["x", "H;x", "/a/h;G", "G;h", "h;b;G;:x;/x/{x}"] {
            let kept = hold_is_kept(&script(text));
            assert_eq!(kept, text != "h;b;G;:x;/x/{x}", "{text}");
        }
        assert_eq!(connection(&script("N;P;D")), Some("N reads the next line as well"));
    }

    #[test]
    fn the_expression_used_last() {
        let named = |text: &str| {
            let mut script = script(text);
            name_last_used(&mut script).map(|()| {
                let all = script.substitutes().map(|s| String::from_utf8_lossy(&s.pattern.text).into_owned());
                all.collect::<Vec<_>>().join(" ")
            })
        };
        for (text, expected) in [
            ("/a/s//b/", "a"),
            ("s/a/b/;s//c/", "a a"),
            ("/a/{s//b/;s//c/}", "a a"),
            ("/a/!{s/b/c/;b};s//d/", "b a"),
            ("2{s/a/b/;s//x/}", "a a"),
            (":l;/a/{s//b/;bl}", "a"),
        ] {
            assert_eq!(named(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["s//b/", "/a/,/b/s//c/", "/a/s/b/c/;s//d/", "$!N;s//x/", ":l;s//b/;/a/bl", "/a/,//d"] {
            assert!(named(text).is_err(), "{text}");
        }
    }

    #[test]
    fn loops_that_print() {
        for text in [":a;p;ba", ":a;s/x/y/p;ta", "s/^/\\n/;P;D", ":a;$!N;P;ba", ":a;/x/n;p;ba"] {
            assert!(may_print_for_ever(&script(text)), "{text}");
        }
        for text in [":a;s/x/y/;ta;p", "$!N;P;D", ":a;n;p;ba", ":a;N;$!ba;p", "p;b;:a;p", "s/a/b/;P;D"] {
            assert!(!may_print_for_ever(&script(text)), "{text}");
        }
    }
}
