//! Normalizes messages before a comparison: removes text that varies from run to run, and text that pelton
//! may add.

/// Replaces the process ids (and their padding) in messages about jobs by `PID`:
///
/// ```text
/// bash: line 1:  3042 Done                    true
///       3043 Killed                  | sleep 9
/// ```
pub fn without_pids(stderr: &[u8]) -> Vec<u8> {
    stderr.split_inclusive(|byte| *byte == b'\n').flat_map(without_pid).collect()
}

fn without_pid(line: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(line);
    // A file that coreutils since 9.4 could not make: the name is random.
    if let Some((before, name)) = text.split_once("/cutmp") {
        return format!("{before}/cutmpXXXXXX{}", name.get(6..).unwrap_or_default()).into_bytes();
    }
    // What bash says of a job that a subshell has inherited.
    if let Some((before, _)) = text.split_once("wait_for: No record of process ") {
        return format!("{before}wait_for: No record of process PID\n").into_bytes();
    }
    let head = place(&text);
    let rest = text[head.len()..].trim_start();
    let after = rest.trim_start_matches(|char: char| char.is_ascii_digit());
    let padded = !head.is_empty() || (text.starts_with(' ') && after.contains("| "));
    if after.len() < rest.len() && after.starts_with(' ') && padded {
        return format!("{head}PID{after}").into_bytes();
    }
    line.to_vec()
}

/// Returns the position part of a message: `bash: line 12: `; empty if there is none.
fn place(text: &str) -> &str {
    let Some((_, rest)) = text.split_once(": line ") else { return "" };
    let Some((number, rest)) = rest.split_once(": ") else { return "" };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { &text[..text.len() - rest.len()] } else { "" }
}

/// Removes the warnings about missing commands at the beginning of `pelton time`: they come in addition to
/// the shell's message, which appears when the command is reached.
pub(crate) fn without_warnings(stderr: &[u8]) -> Vec<u8> {
    let mut rest = stderr;
    while rest.starts_with(b"warning: there is no command `") {
        let mut lines = rest.split_inclusive(|byte| *byte == b'\n');
        let is_help = |line: &[u8]| line.windows(6).any(|window| window == b"help: ");
        let length: usize = lines.by_ref().take_while(|line| !is_help(line)).map(<[u8]>::len).sum();
        let help = rest[length..].split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        rest = &rest[length + help.len()..];
    }
    rest.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_go_and_nothing_else_does() {
        let plain = |line: &str| String::from_utf8(without_pids(line.as_bytes())).expect("text");
        assert_eq!(
            plain("bash: line 12:  3042 Killed    sleep 9\n"),
            "bash: line 12: PID Killed    sleep 9\n"
        );
        assert_eq!(plain("bash: line 1: 30420 Done   a\n"), "bash: line 1: PID Done   a\n");
        for same in
            ["bash: line 1: nosuch: command not found\n", "cat: 12: none\n", "12 x", "bash: line 1: 12x y\n"]
        {
            assert_eq!(plain(same), same);
        }
    }

    #[test]
    fn warnings_at_the_beginning_go_and_nothing_else_does() {
        let warning = "warning: there is no command `x`\n |\n1| x\n |\n = help: none\n";
        let plain = |text: String| String::from_utf8(without_warnings(text.as_bytes())).expect("text");
        assert_eq!(plain(format!("{warning}{warning}bash: x\n")), "bash: x\n");
        assert_eq!(plain(warning.into()), "");
        assert_eq!(plain(format!("bash: x\n{warning}")), format!("bash: x\n{warning}"));
    }
}
