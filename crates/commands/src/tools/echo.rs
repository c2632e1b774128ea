//! `echo`: the builtin of bash, without `xpg_echo`. The program of that name parses its options differently.

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::escapes::{self, EscapeContext};
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::static_output::Printed;
use crate::{Accept, Command, Context};

/// The tool row of `echo`.
pub(crate) static TOOL: Tool = Tool {
    name: "echo",
    family: Family::Bash,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[],
    cost: |_| Rate::both(0.0, 0.0, 1.0),
    other_versions: &[],
    verifiable: false,
    grammar: Grammar {
        role: Role::Source,
        needs: &[],
        options: &["-n", "-e", "-E", "-ne", "-nx"],
        operands: &["", "@r", "a b", "'a  b'", "@t", "@t @t", "\"$HOME\"", "*"],
    },
};

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let (mut newline, mut escapes) = (true, false);
    let words = args.iter().position(|arg| !is_options(arg)).unwrap_or(args.len());
    for letter in args[..words].iter().flat_map(|arg| &arg[1..]) {
        match letter {
            b'n' => newline = false,
            b'e' => escapes = true,
            _ => escapes = false,
        }
    }
    let mut text = Vec::new();
    for (at, word) in args[words..].iter().enumerate() {
        if at > 0 {
            text.push(b' ');
        }
        if !escapes {
            text.extend_from_slice(word);
        } else if escapes::expand(word, EscapeContext::Echo, context.locale.ctype, &mut text)? {
            return Printed::command(text);
        }
    }
    if newline {
        text.push(b'\n');
    }
    Printed::command(text)
}

/// Whether an argument is an option: only if every letter is a known one.
pub(crate) fn is_options(arg: &[u8]) -> bool {
    match arg {
        [b'-', letters @ ..] if !letters.is_empty() => letters.iter().all(|letter| b"neE".contains(letter)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    fn echo(line: &str) -> String {
        let context = Context { locale: Locale::C, implementation: Implementation::tested(Family::Bash) };
        let args: Vec<Vec<u8>> = line.split(' ').map(|arg| arg.as_bytes().to_vec()).collect();
        let mut out = Vec::new();
        accept(&args, &context).unwrap().kernel().unwrap().finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn options_come_first_and_have_no_strange_letters() {
        assert_eq!(echo("a  b"), "a  b\n");
        assert_eq!(echo("-n -e a\\tb -n"), "a\tb -n");
        assert_eq!(echo("-neE a\\tb"), "a\\tb");
        assert_eq!(echo("- -n"), "- -n\n");
        assert_eq!(echo("-nx"), "-nx\n");
        assert_eq!(echo("-- a"), "-- a\n");
    }

    #[test]
    fn a_c_ends_it() {
        assert_eq!(echo("-e a b\\cd e"), "a b");
    }
}
