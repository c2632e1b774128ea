//! Describes the differences between two outcomes in words.

use std::collections::BTreeSet;

use crate::{Case, Ended, Ending, Entry, Outcome, Strictness, without_pids};

/// Returns all differences that matter to the case.
pub fn compare(case: &Case, expected: &Outcome, actual: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    let (shell, ours) = (&expected.ended, &actual.ended);
    if shell.ending != ours.ending || ours.ending == Ending::TimedOut {
        found.push(format!("status: expected {:?}, got {:?}", shell.ending, ours.ending));
    }
    found.extend(stream("stdout", case.stdout, &shell.stdout, &ours.stdout));
    let [expected_err, actual_err] = [shell, ours].map(|ended| messages(case, &ended.stderr));
    found.extend(stream("stderr", case.stderr, &expected_err, &actual_err));
    if shell.left_behind != ours.left_behind {
        found.push(format!("left behind: expected {:?}, got {:?}", shell.left_behind, ours.left_behind));
    }
    for (who, ended) in [("the shell", shell), ("pelton", ours)] {
        if case.alone_at_exit && !ended.alive_at_exit.is_empty() {
            found.push(format!("{who} ended while these were alive: {:?}", ended.alive_at_exit));
        }
    }
    found.extend(files(expected, actual));
    found.extend(actual.report_fault.clone());
    if expected.statuses != actual.statuses {
        let [expected, actual] =
            [expected, actual].map(|outcome| outcome.statuses.as_deref().unwrap_or("none"));
        found.push(format!("statuses of the stages: expected {expected}, got {actual}"));
    }
    found
}

/// Returns all differences between two runs that are not cases: ending, streams (except process ids in
/// messages about jobs), and processes left behind.
pub(crate) fn compare_ended(expected: &Ended, actual: &Ended) -> Vec<String> {
    let mut found = Vec::new();
    if expected.ending != actual.ending || actual.ending == Ending::TimedOut {
        found.push(format!("status: expected {:?}, got {:?}", expected.ending, actual.ending));
    }
    found.extend(stream("stdout", Strictness::Exact, &expected.stdout, &actual.stdout));
    let messages = [expected, actual].map(|ended| without_pids(&ended.stderr));
    found.extend(stream("stderr", Strictness::Exact, &messages[0], &messages[1]));
    if expected.left_behind != actual.left_behind {
        found.push(format!("left behind: expected {:?}, got {:?}", expected.left_behind, actual.left_behind));
    }
    found
}

fn messages(case: &Case, stderr: &[u8]) -> Vec<u8> {
    if case.pids { without_pids(stderr) } else { stderr.to_vec() }
}

fn stream(name: &str, strictness: Strictness, expected: &[u8], actual: &[u8]) -> Option<String> {
    let difference = match strictness {
        Strictness::Ignore => None,
        Strictness::Some if expected.is_empty() == actual.is_empty() => None,
        Strictness::Some => first_difference(expected, actual),
        Strictness::Exact => first_difference(expected, actual),
        Strictness::Lines => first_difference(&sorted(expected), &sorted(actual)),
    };
    difference.map(|difference| format!("{name}: {difference}"))
}

fn sorted(text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines.concat()
}

/// Describes the first difference of two byte strings and its context; `None` if they are equal.
pub fn first_difference(expected: &[u8], actual: &[u8]) -> Option<String> {
    if expected == actual {
        return None;
    }
    let shared = expected.iter().zip(actual).take_while(|(one, other)| one == other).count();
    let show = |bytes: &[u8]| {
        let (start, end) = (shared.saturating_sub(60), (shared + 200).min(bytes.len()));
        let dots = |cut: bool| if cut { "…" } else { "" };
        let text = bytes[start..end].escape_ascii();
        format!("{}\"{text}\"{} ({} bytes)", dots(start > 0), dots(end < bytes.len()), bytes.len())
    };
    let (expected, actual) = (show(expected), show(actual));
    Some(format!("first difference at byte {shared}\n      expected {expected}\n      got      {actual}"))
}

fn files(expected: &Outcome, actual: &Outcome) -> Vec<String> {
    let names: BTreeSet<&String> = expected.files.keys().chain(actual.files.keys()).collect();
    names
        .into_iter()
        .filter_map(|name| file(name, expected.files.get(name), actual.files.get(name)))
        .collect()
}

fn file(name: &str, expected: Option<&Entry>, actual: Option<&Entry>) -> Option<String> {
    match (expected, actual) {
        (expected, actual) if expected == actual => None,
        (Some(_), None) => Some(format!("file {name}: missing")),
        (None, Some(_)) => Some(format!("file {name}: should not be there")),
        (Some(Entry::File(mode, bytes)), Some(Entry::File(other, others))) if mode == other => {
            first_difference(bytes, others).map(|difference| format!("file {name}: {difference}"))
        }
        (expected, actual) => Some(format!("file {name}: expected {}, got {}", kind(expected), kind(actual))),
    }
}

fn kind(entry: Option<&Entry>) -> String {
    match entry {
        Some(Entry::File(mode, bytes)) => format!("a file {mode:o} of {} bytes", bytes.len()),
        Some(Entry::Dir(mode)) => format!("a directory {mode:o}"),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_where_it_is() {
        assert_eq!(first_difference(b"same", b"same"), None);
        let text =
            first_difference(&[b'a'; 1000], &[vec![b'a'; 999], vec![b'b']].concat()).expect("a difference");
        assert!(text.starts_with("first difference at byte 999\n"), "{text}");
        assert!(text.lines().all(|line| line.len() < 400), "{text}");
        assert!(first_difference(b"line\n", b"line").expect("a difference").contains("at byte 4"));
    }

    #[test]
    fn lines_may_come_in_any_order_but_must_all_come() {
        assert_eq!(stream("stderr", Strictness::Lines, b"a\nb\n", b"b\na\n"), None);
        assert!(stream("stderr", Strictness::Lines, b"a\nb\n", b"b\nb\n").is_some());
        assert!(stream("stderr", Strictness::Exact, b"a\nb\n", b"b\na\n").is_some());
    }
}
