//! `pelton find`: GNU find, with one thread or several.

mod args;
mod sink;
mod stats;
mod timeline;

use crate::ending::Ending;
use crate::failure::Failure;
use crate::output::OutputTarget;
use crate::terminal::When;
use crate::terminal::{self, Look};
pub use args::FindArgs;
use pelton_find::{Query, Surroundings, Unmodelled};
use pelton_sys::{libc_patterns, limits, signals, spawn, wait};
use sink::Channels;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;

/// Runs `pelton find`.
pub fn find(args: &FindArgs, color: When) -> Result<Ending, Failure> {
    let place = OutputTarget::prepare(args.output.as_deref())?;
    let terminal = std::io::stdout().is_terminal();
    let query = match read(args, terminal) {
        Ok(query) => query,
        Err(reason) => return Err(real(args, &reason)),
    };
    if !query.is_serial() {
        // Child processes inherit the limit.
        limits::raise_descriptors();
    }
    signals::default_sigpipe();
    let settings = args.settings(&query, args.cores.threads()?, terminal);
    let before = wait::own_usage();
    let report = pelton_find::walk(&query, &settings, &Channels::open()?);
    if args.counts() {
        let account = stats::Account::of(&report, &settings, &before);
        let text = if args.json { account.json() } else { account.text(Look::of_stderr(color).unicode) };
        place.write(&text)?;
    }
    Ok(Ending::Status(report.status))
}

/// Parses the query, if pelton supports it and the locale.
fn read(args: &FindArgs, output_is_terminal: bool) -> Result<Query, Unmodelled> {
    let charset = libc_patterns::use_locale();
    let utf8 = match charset.as_str() {
        "UTF-8" => true,
        "ANSI_X3.4-1968" => false,
        other => return Err(Unmodelled(format!("the character set {other}"))),
    };
    if let Some(language) = foreign_language() {
        return Err(Unmodelled(format!("messages in {language}")));
    }
    let set = |name: &&&str| std::env::var_os(name).is_some();
    if let Some(name) = ["POSIXLY_CORRECT", "FIND_BLOCK_SIZE"].iter().find(set) {
        return Err(Unmodelled(format!("{name} in the environment")));
    }
    let words: Vec<Vec<u8>> = args.words.iter().map(|word| word.as_bytes().to_vec()).collect();
    let input_is_terminal = std::io::stdin().is_terminal();
    pelton_find::parse(&words, Surroundings { utf8, output_is_terminal, input_is_terminal })
}

/// Returns the locale of messages, unless English.
fn foreign_language() -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_MESSAGES")).or_else(|| set("LANG")).unwrap_or_default();
    let plain = |name: &str| {
        let language = name.split(['_', '.', '@']).next().unwrap_or_default();
        matches!(language, "" | "C" | "POSIX" | "en")
    };
    if !plain(&locale) {
        return Some(locale);
    }
    let in_c = matches!(locale.split('.').next(), Some("" | "C" | "POSIX"));
    set("LANGUAGE").filter(|languages| !in_c && !languages.split(':').all(plain))
}

/// Replaces this process with the installed find, which also reports bad arguments best. Returns only on
/// failure.
fn real(args: &FindArgs, reason: &Unmodelled) -> Failure {
    if let Some(word) = args.words.iter().find_map(|word| own_name(word)) {
        return Failure::new(format!("options of pelton stand before find's own: {word}"))
            .with_help(format!("pelton find {word} …"));
    }
    if let Some(option) = args.own_option().filter(|option| *option != "--stats") {
        return Failure::new(format!("cannot use {option}: pelton's find does not support {reason}"))
            .with_help("pelton find without it: then the installed find runs");
    }
    if args.verbose || args.counts() {
        terminal::say(&format!("pelton: the installed find runs, without statistics: {reason}\n"));
    }
    let words: Vec<OsString> =
        std::iter::once(OsString::from("find")).chain(args.words.iter().cloned()).collect();
    let error = match pelton_run::command(&words, &pelton_run::Environment::inherit()) {
        Ok(exec) => spawn::replace(&exec),
        Err(error) => error,
    };
    let message = format!("cannot run the installed find, and pelton does not model {reason}");
    Failure::io(message, &error).with_status(1)
}

/// Returns the name if the word is an option of pelton.
fn own_name(word: &OsString) -> Option<&str> {
    const NAMES: [&str; 11] = [
        "--walk",
        "--slots",
        "--jobs",
        "--nice",
        "--ordered",
        "--unordered",
        "--first",
        "--stop-on-error",
        "--stats",
        "--json",
        "--verbose",
    ];
    let word = word.to_str()?;
    let name = word.split('=').next()?;
    NAMES.into_iter().find(|one| *one == name)
}
