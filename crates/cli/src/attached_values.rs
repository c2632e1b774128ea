//! Values attached to short options (`-j4`), before the arguments that clap leaves alone.
//!
//! clap takes `-j4` for the first word of a pipeline when that may begin with `-`. So it gets `-j 4`.

use clap::{Arg, Command};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Separates the values attached to short options of a verb whose words may begin with `-`. `command` is only
/// called for arguments that may hold any: making it takes time.
pub fn separated(
    given: impl Iterator<Item = OsString>,
    command: impl FnOnce() -> Command,
) -> impl Iterator<Item = OsString> {
    let mut left: VecDeque<OsString> = given.collect();
    let mut done = Vec::new();
    if left.iter().skip(2).take_while(|word| !is_pipeline(word)).any(|word| cluster(word).is_some()) {
        done.extend(left.drain(..2));
        let command = command();
        if let Some(verb) = done[1].to_str().and_then(|name| command.find_subcommand(name)) {
            let words_may_begin_with_dash = verb.get_positionals().any(Arg::is_trailing_var_arg_set);
            if words_may_begin_with_dash {
                let options: Vec<&Arg> = verb.get_arguments().chain(command.get_arguments()).collect();
                separate(&options, &mut left, &mut done);
            }
        }
    }
    done.into_iter().chain(left)
}

/// Whether it is surely not an option or its value, but shell text.
fn is_pipeline(word: &OsStr) -> bool {
    word == "--" || word.as_bytes().contains(&b' ')
}

/// Returns the first letter and the rest of several letters behind one `-`.
fn cluster(word: &OsStr) -> Option<(char, &[u8])> {
    match word.as_bytes() {
        [b'-', letter, rest @ ..] if *letter != b'-' && !rest.is_empty() => Some((char::from(*letter), rest)),
        _ => None,
    }
}

/// Moves options and their values from `left` to `done`, up to the first other word.
fn separate(options: &[&Arg], left: &mut VecDeque<OsString>, done: &mut Vec<OsString>) {
    let takes_value = |arg: &&&Arg| arg.get_action().takes_values();
    while let Some(word) = left.pop_front_if(|word| word.as_bytes().starts_with(b"-") && *word != "--") {
        let value_follows = if let Some((letter, rest)) = cluster(&word) {
            let Some(arg) = options.iter().find(|arg| arg.get_short() == Some(letter)) else {
                left.push_front(word);
                return;
            };
            let rest = rest.strip_prefix(b"=").unwrap_or(rest);
            let next = if takes_value(&arg) { rest.to_vec() } else { [b"-", rest].concat() };
            left.push_front(OsString::from_vec(next));
            done.push(OsString::from(format!("-{letter}")));
            takes_value(&arg)
        } else {
            let name = word.to_string_lossy();
            let arg = options.iter().find(|arg| match name.strip_prefix("--") {
                Some(long) => arg.get_long() == Some(long),
                None => arg.get_short().is_some_and(|short| name[1..] == *short.encode_utf8(&mut [0; 4])),
            });
            let follows = arg
                .filter(takes_value)
                .is_some_and(|arg| arg.get_num_args().is_none_or(|numbers| numbers.min_values() > 0));
            done.push(word);
            follows
        };
        if value_follows {
            done.extend(left.pop_front());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    fn given(words: &str) -> Vec<String> {
        let words = words.split('|').map(OsString::from);
        separated(words, Cli::command).map(|word| word.into_string().expect("UTF-8")).collect()
    }

    #[test]
    fn a_value_may_be_attached_to_its_letter() {
        for (words, separate) in [
            ("pelton|run|-j4|sort f", "pelton|run|-j|4|sort f"),
            ("pelton|run|-j=4|sort f", "pelton|run|-j|4|sort f"),
            ("pelton|run|--stats|-j4|sort", "pelton|run|--stats|-j|4|sort"),
            ("pelton|run|--color|never|-j4|:", "pelton|run|--color|never|-j|4|:"),
            ("pelton|time|-r5|-w2|-po f|:", "pelton|time|-r|5|-w|2|-p|-o| f|:"),
            ("pelton|run|--without|grep|-j4|-ffile|-r4", "pelton|run|--without|grep|-j|4|-f|file|-r4"),
        ] {
            assert_eq!(given(words).join("|"), separate);
        }
    }

    #[test]
    fn other_words_stay() {
        for words in [
            "pelton",
            "pelton|run|sort|-j4",
            "pelton|run|--|-j4",
            "pelton|run|-k3|f",
            "pelton|run|-j4 | sort",
            "pelton|csv|-c-1|f",
            "pelton|find|.|-name|-j4",
            "pelton|no-verb|-j4",
        ] {
            assert_eq!(given(words).join("|"), words);
        }
    }
}
