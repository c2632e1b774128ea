//! How many lines a script needs: `3q`, `-n '3{p;q}'`, `-n 1,3p`, `4,$d`.

use super::script::{Action, Address, Command, End, Lines, Script};

/// Returns how many lines of the beginning of its input determine all that a script does, if a number of them does.
///
/// Three forms are known: it certainly quits at a line; with `-n`, each command is for lines up to some number; or the
/// first command deletes all lines behind some number. In none of them may a command take the next line itself or jump,
/// or ask whether a line is the last: fewer lines have another last one.
pub(super) fn needed_lines(script: &Script, quiet: bool) -> Option<u64> {
    let commands = script.commands.as_slice();
    let (behind_delete, lines_kept) = match commands.split_first() {
        Some((first, rest)) => match kept(first) {
            Some(lines) => (rest, Some(lines)),
            None => (commands, None),
        },
        None => (commands, None),
    };
    if behind_delete.iter().any(|command| asks_for_last(command) || takes_lines_or_jumps(&command.action)) {
        return None;
    }
    let silent = (quiet || script.quiet).then(|| last_chosen(commands)).flatten();
    [lines_kept, silent, quits_at(commands)].into_iter().flatten().min().filter(|lines| *lines > 0)
}

/// Returns up to which line a command leaves something, if it deletes all others: `4,$d`, `3!d`, `1,3!d`.
fn kept(first: &Command) -> Option<u64> {
    match (&first.lines, first.negated) {
        _ if first.action != Action::Delete => None,
        (Lines::Range(Address::Number(start), End::Last), false) => Some(start.saturating_sub(1)),
        (lines, true) => last(lines),
        _ => None,
    }
}

/// Returns the last line that any command is for.
fn last_chosen(commands: &[Command]) -> Option<u64> {
    let (mut most, mut next) = (0, 0);
    while let Some(command) = commands.get(next) {
        next += 1;
        match (last(&command.lines).filter(|_| !command.negated), &command.action) {
            (Some(line), action) => {
                most = most.max(line);
                // What is in the block is for no other lines.
                if let Action::Block(end) = action {
                    next = *end;
                }
            }
            (None, Action::Block(_)) => {}
            (None, _) => return None,
        }
    }
    Some(most)
}

/// Returns the line at which a script certainly quits: no command before can end the work on that line.
fn quits_at(commands: &[Command]) -> Option<u64> {
    // The line for which the block is whose commands come now, if there is just one, and where the block ends.
    let (mut line, mut end) = (None, 0);
    for (at, command) in commands.iter().enumerate() {
        let here = match (&command.lines, command.negated) {
            (Lines::All, false) if at < end => line,
            (Lines::All, false) => Some(1),
            (Lines::At(Address::Number(number)), false) if at >= end => Some(*number),
            _ => None,
        };
        match command.action {
            Action::Quit { .. } if here.is_some() => return here,
            Action::Block(_) if at < end => line = None,
            Action::Block(behind) => (line, end) = (here, behind),
            Action::Delete | Action::Change(_) => return None,
            _ => {}
        }
    }
    None
}

/// Returns the last line of these, if that is known.
fn last(lines: &Lines) -> Option<u64> {
    match lines {
        Lines::At(Address::Number(number)) => Some(*number),
        Lines::Range(Address::Number(start), End::Number(end)) => Some(*end.max(start)),
        Lines::Range(Address::Number(start), End::Plus(lines)) => start.checked_add(*lines),
        _ => None,
    }
}

fn asks_for_last(command: &Command) -> bool {
    matches!(
        command.lines,
        Lines::At(Address::Last) | Lines::Range(Address::Last, _) | Lines::Range(_, End::Last)
    )
}

fn takes_lines_or_jumps(action: &Action) -> bool {
    matches!(
        action,
        Action::Next | Action::Join | Action::DeleteFirst | Action::Jump(..) | Action::Unserved(_)
    )
}

#[cfg(test)]
mod tests {
    use super::needed_lines;
    use crate::sed::parse;

    fn needed(script: &str) -> Option<u64> {
        let (quiet, text) = script.strip_prefix("-n ").map_or((false, script), |text| (true, text));
        needed_lines(&parse::parse(text.as_bytes(), false, false).unwrap(), quiet)
    }

    #[test]
    fn lines_that_are_needed() {
        for (script, lines) in [
            ("3q", 3),
            ("q", 1),
            ("s/a/b/; 10q; p", 10),
            ("-n 3{p;q}", 3),
            ("3{p;q}", 3),
            ("3Q", 3),
            ("/x/q; 5q", 5),
            ("-n 3p", 3),
            ("-n 1,3p", 3),
            ("-n 4,2p", 4),
            ("-n 2,+3p", 5),
            ("-n 1p; 7p; 3{=;p}", 7),
            ("#n\n2p", 2),
            ("4,$d", 3),
            ("11,$d; s/a/b/", 10),
            ("3!d", 3),
            ("1,3!d", 3),
        ] {
            assert_eq!(needed(script), Some(lines), "{script}");
        }
    }

    #[test]
    fn lines_of_which_more_may_be_needed() {
        for script in [
            "p",
            "-n p",
            "3p",
            "-n 3!p",
            "-n 3,/x/p",
            "-n /x/p",
            "-n $p",
            "-n 1p;$p",
            "-n 1~2p",
            "-n 3,~4p",
            "3d",
            "1,$d",
            "$!d",
            "/x/d; 3q",
            "3{ {p}; 5q }",
            "/x/{ 3q }",
            "3!q",
            "N; 3q",
            "-n 1{n;p}",
            "$s/a/b/; 3q",
            ":a; 3q; ba",
            "4,$d; $s/a/b/",
            "1c x\n3q",
        ] {
            assert_eq!(needed(script), None, "{script}");
        }
    }
}
