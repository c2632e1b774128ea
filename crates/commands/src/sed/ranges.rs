//! The lines of a command: addresses, and ranges whose state advances with the lines.

use super::program::{At, Select, State, Until};
use super::spaces::Line;

impl Select {
    /// Whether the command is for this line. Advances a range.
    pub(super) fn chooses(&mut self, text: &[u8], line: Line) -> bool {
        match self {
            Select::All => true,
            Select::At(at) => at.is(text, line),
            Select::Range { start, end, state } => match *state {
                State::Inside(until) => inside(end, until, state, text, line),
                State::Behind if matches!(start, At::Number(_)) => false,
                State::Before | State::Behind => {
                    let starts = start.starts(text, line);
                    if starts {
                        *state = begin(start, end, line);
                    }
                    starts && !late(start, end, line.number)
                }
            },
        }
    }

    /// Returns how many following lines certainly do not match.
    pub(super) fn idle(&self, number: u64) -> u64 {
        match self {
            Select::All => 0,
            Select::At(at) => at.idle(number),
            Select::Range { state: State::Inside(_), .. } => 0,
            // It may have been jumped over.
            Select::Range { start: At::Number(start), state: State::Before, .. } if *start <= number => 0,
            Select::Range { start, .. } => start.idle(number),
        }
    }

    /// Resets for a new file, with `-s`.
    pub(super) fn reset(&mut self) {
        if let Select::Range { start, state, .. } = self {
            *state = if matches!(start, At::Number(0)) { State::Inside(u64::MAX) } else { State::Before };
        }
    }
}

/// Whether a numeric range was reached only after its end, by `n`: it matches no line, except that a reversed
/// range matches its first line.
fn late(start: &At, end: &Until, number: u64) -> bool {
    match (start, end) {
        (At::Number(first), Until::Number(last)) => number > *last && number != *first,
        _ => false,
    }
}

/// Returns the state of a range that starts at this line.
fn begin(start: &At, end: &Until, line: Line) -> State {
    let number = line.number;
    let last = match end {
        Until::Number(last) => *last,
        Until::Plus(lines) => number.saturating_add(*lines),
        Until::Multiple(0) => number,
        Until::Multiple(multiple) => (number + 1).next_multiple_of(*multiple),
        Until::Last if line.last => number,
        Until::Last | Until::Matching(_) => return State::Inside(u64::MAX),
    };
    if last > number {
        State::Inside(last)
    } else if matches!(start, At::Number(_)) {
        State::Behind
    } else {
        State::Before
    }
}

/// Whether a range includes this line. Updates its state at its end.
fn inside(end: &mut Until, until: u64, state: &mut State, text: &[u8], line: Line) -> bool {
    let ends = match end {
        Until::Last => line.last,
        Until::Matching(regex) => regex.is_match(text, 0..text.len()),
        Until::Number(_) | Until::Plus(_) | Until::Multiple(_) => line.number >= until,
    };
    if ends {
        *state = State::Behind;
    }
    // `n` may have passed the end.
    line.number <= until || !matches!(end, Until::Number(_))
}

impl At {
    /// Whether a range starts here: a number that was jumped over still counts.
    fn starts(&mut self, text: &[u8], line: Line) -> bool {
        match self {
            At::Number(number) => line.number >= *number,
            other => other.is(text, line),
        }
    }

    fn is(&mut self, text: &[u8], line: Line) -> bool {
        match self {
            At::Number(number) => line.number == *number,
            At::Instruction(first, step) => {
                line.number >= *first && (line.number - *first).is_multiple_of(*step)
            }
            At::Last => line.last,
            At::Matching(regex) => regex.is_match(text, 0..text.len()),
        }
    }

    /// Returns how many following lines certainly do not match. The last line is never among them.
    pub(super) fn idle(&self, number: u64) -> u64 {
        match self {
            At::Number(wanted) if *wanted > number => wanted - number - 1,
            At::Number(_) | At::Last => u64::MAX,
            At::Instruction(first, _) if *first > number => first - number - 1,
            At::Instruction(first, step) => step - 1 - (number - first) % step,
            At::Matching(_) => 0,
        }
    }
}
