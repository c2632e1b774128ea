//! Reads the command line.
//!
//! clap builds every verb with all its options before it reads the first word: a third of the instructions of a start. So
//! the verbs that stand in scripts and loops are read alone first. What one alone refuses, `--help` too, is read again with
//! all of them: the messages are always theirs.

use crate::args::{Cli, Color, FIRST_STEPS, Verb};
use crate::{attached_values, misunderstood, output, terminal};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// Parses the arguments; on failure tells what is wrong, and returns the status. clap would write an error in pieces, between other messages.
pub fn read() -> Result<Cli, ExitCode> {
    let words: Vec<OsString> = attached_values::separated(std::env::args_os(), Cli::command).collect();
    if let Some(cli) = read_alone(&words) {
        return Ok(cli);
    }
    Cli::try_parse_from(words).map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        let look = terminal::Look::of_stderr(terminal::When::Auto);
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            && std::env::args_os().len() < 2
        {
            return ExitCode::from(u8::from(output::print(FIRST_STEPS, "the help").is_err()));
        }
        if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
            let failure = misunderstood::unknown_verb(word, &Cli::command());
            terminal::say(&failure.render(look));
            return ExitCode::from(failure.status);
        }
        let text = error.render();
        let color = look.color;
        terminal::say(&if color { text.ansi().to_string() } else { text.to_string() });
        ExitCode::from(error.exit_code() as u8)
    })
}

/// Reads the arguments of a verb that is often started, without the others; `None` if it refuses them, or is another.
fn read_alone(words: &[OsString]) -> Option<Cli> {
    match words.get(1)?.to_str()? {
        "run" => alone(words, Verb::Run),
        "time" => alone(words, Verb::Time),
        "guard" => alone(words, Verb::Guard),
        "explain" => alone(words, Verb::Explain),
        "json" => alone(words, Verb::Json),
        "csv" => alone(words, Verb::Csv),
        "buffer" => alone(words, Verb::Buffer),
        "stamp" => alone(words, Verb::Stamp),
        "pipe" => alone(words, Verb::Pipe),
        "sh" => alone(words, Verb::Sh),
        "copy" => alone(words, Verb::Copy),
        "find" => alone(words, Verb::Find),
        "line" => alone(words, Verb::Line),
        "plan" => alone(words, Verb::Plan),
        "worker" => alone(words, Verb::Worker),
        _ => None,
    }
}

fn alone<A: Args>(words: &[OsString], verb: fn(A) -> Verb) -> Option<Cli> {
    let mut matches = command_alone::<A>().try_get_matches_from(&words[1..]).ok()?;
    let color = Color::from_arg_matches_mut(&mut matches).ok()?;
    Some(Cli { verb: verb(A::from_arg_matches_mut(&mut matches).ok()?), color })
}

/// Makes a command that has the options of one verb, and those that all verbs have.
fn command_alone<A: Args>() -> Command {
    Color::augment_args(A::augment_args(Command::new("pelton")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_verb_alone_is_read_as_among_the_others() {
        for (text, told) in [
            ("pelton run --color never -f script.sh one --two", "run script.sh never"),
            ("pelton run --stats sort_-u", "run - auto"),
            ("pelton explain --color=always -f a", "other always"),
            ("pelton find src -name x", "other auto"),
        ] {
            let tell = |cli: Cli| match &cli.verb {
                Verb::Run(args) => {
                    let script =
                        args.source.script().map_or("-".into(), |(file, _)| file.display().to_string());
                    format!("run {script} {:?}", cli.color.when).to_lowercase()
                }
                _ => format!("other {:?}", cli.color.when).to_lowercase(),
            };
            assert_eq!(read_alone(&words(text)).map(tell).as_deref(), Some(told), "{text}");
            assert_eq!(Cli::try_parse_from(words(text)).ok().map(tell).as_deref(), Some(told), "{text}");
        }
    }

    #[test]
    fn what_a_verb_refuses_is_left_to_all_of_them() {
        for text in [
            "pelton run --help",
            "pelton run --shell",
            "pelton --color never run x",
            "pelton",
            "pelton rum x",
            "pelton help run",
        ] {
            assert!(read_alone(&words(text)).is_none(), "{text}");
        }
    }
}
