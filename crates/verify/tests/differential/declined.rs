//! How many of the listed programs are declined, and why (`bench/results/declined.md`):
//! `cargo test -p pelton-verify --test differential few_of -- --nocapture`, with `PELTON_ORACLE` for other versions.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pelton_commands::{Accept, Context, Family, Implementation, Locale, Lookup};

/// Programs of one command, and whose implementation they are read for.
struct Corpus {
    command: &'static str,
    family: Family,
    programs: Vec<Vec<Vec<u8>>>,
}

fn corpora() -> Vec<Corpus> {
    let awk = || crate::awk_programs::programs();
    let of = |command, family, programs| Corpus { command, family, programs };
    vec![
        of("mawk", Family::Mawk, awk()),
        of("gawk", Family::Gawk, awk()),
        of("original-awk", Family::OriginalAwk, awk()),
        of("sed", Family::GnuSed, sed_programs()),
    ]
}

/// The calls of sed in `cases/sed_programs.toml` that are nothing but a call, without those that sed itself refuses.
fn sed_programs() -> Vec<Vec<Vec<u8>>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/sed_programs.toml");
    let topic = pelton_testkit::load_topic(&path).expect("the cases");
    let cases =
        topic.cases.iter().filter(|case| case.name.ends_with("@C") && !case.name.contains("-errors-"));
    cases.filter_map(|case| words(case.text.strip_prefix("sed ")?)).collect()
}

/// The words of a call with quotes; `None` if there is more in it.
fn words(text: &str) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' => words.extend(word.take()),
            '\'' => {
                word.get_or_insert_default().extend(letters.by_ref().take_while(|letter| *letter != '\''))
            }
            '|' | ';' | '>' | '$' | '"' | '\\' => return None,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words.into_iter().map(String::into_bytes).collect())
}

#[test]
fn few_of_the_listed_programs_are_declined() {
    let mut table =
        "| command | locale | programs | native | declined |\n| --- | --- | --- | --- | --- |\n".to_owned();
    let mut reasons = String::new();
    let others = ["en_US.UTF-8", "de_DE.UTF-8"].map(|name| (name, Locale::named(name)));
    let installed = others.into_iter().filter_map(|(name, locale)| Some((name, locale?)));
    let locales: Vec<_> =
        [("C", Locale::C), ("C.UTF-8", Locale::C_UTF8)].into_iter().chain(installed).collect();
    for corpus in corpora() {
        for (name, locale) in locales.iter().cloned() {
            let implementation = crate::installed::foreign_implementation(corpus.command);
            let implementation = implementation.unwrap_or_else(|| Implementation::tested(corpus.family));
            let context = Context { locale, implementation };
            let why = declined(&corpus, &context);
            let (all, declined) = (corpus.programs.len(), why.values().sum::<usize>());
            let share = 100.0 * declined as f64 / all as f64;
            let native = all - declined;
            let command = corpus.command;
            let _ = writeln!(table, "| {command} | {name} | {all} | {native} | {declined} ({share:.0}%) |");
            let mut why: Vec<_> = why.into_iter().collect();
            why.sort_by_key(|(reason, count)| (usize::MAX - count, reason.clone()));
            for (reason, count) in why {
                let _ = writeln!(reasons, "| {command} | {name} | {count} | {reason} |");
            }
            // Of other versions of the one true awk only that is taken in which all awks agree.
            let is_whole =
                corpus.family != Family::OriginalAwk || context.implementation.is_tested(corpus.family);
            // There, gawk's errors are in another language.
            let is_translated = name == "de_DE.UTF-8" && corpus.family == Family::Gawk;
            assert!(
                !is_whole || is_translated || declined * 4 < all,
                "{command} in {name}: {declined} of {all} declined"
            );
        }
    }
    crate::say(&format!(
        "{table}\n| command | locale | programs | why |\n| --- | --- | --- | --- |\n{reasons}"
    ));
}

/// Of a call without files, in an environment where each variable has a value.
struct EachVariableSet;

impl Lookup for EachVariableSet {
    fn script(&self, _name: &[u8]) -> Accept<Vec<u8>> {
        Ok(b"a b\nc d\n".to_vec())
    }

    fn variable(&self, name: &[u8]) -> Accept<Option<Vec<u8>>> {
        Ok(Some(name.to_vec()))
    }
}

/// How many are declined for each reason.
fn declined(corpus: &Corpus, context: &Context) -> BTreeMap<String, usize> {
    let mut why = BTreeMap::new();
    for args in &corpus.programs {
        let name = corpus.command.as_bytes();
        if let Err(declined) = pelton_commands::accept_with(name, args, context, &EachVariableSet) {
            let reason =
                declined.reason.split_once(": ").map_or(declined.reason.as_str(), |(_, reason)| reason);
            *why.entry(reason.to_owned()).or_default() += 1;
        }
    }
    why
}
