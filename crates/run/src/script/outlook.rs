//! Finds calls that would only start what the shell starts as well: their static words show, for any
//! expansion of the others, that no stage runs natively or in parts. In a loop such a call has a cost each
//! time.

use crate::environ::Environment;
use crate::lookup::Programs;
use crate::parts;
use pelton_commands::{Accept, Context, Declined, Locale, Lookup, SystemLocales, accept_with, stateless};
use pelton_syntax::{Command, Simple, Stage, Word, WordPart};
use std::cell::Cell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Examples for the result of an expansion: a number, a name, a program of sed, a path, nothing.
const EXAMPLES: [Option<&str>; 5] = [Some("1"), Some("x"), Some("p"), Some("/x"), None];

/// What is known before the text runs.
pub struct Outlook<'a> {
    environment: &'a Environment,
    programs: &'a Programs<'a>,
    /// `None`: the text may set another one.
    locale: Option<Accept<Locale>>,
}

impl<'a> Outlook<'a> {
    /// Makes the outlook for this text.
    pub fn new(text: &str, environment: &'a Environment, programs: &'a Programs<'a>) -> Self {
        let mut names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let sets_locale = names.any(|name| name.starts_with("LC_") || name == "LANG" || name == "LANGUAGE");
        let variable = |name: &str| environment.get(name).map(|value| value.as_bytes().to_vec());
        let locale = (!sets_locale).then(|| Locale::resolve(variable, &SystemLocales::default()));
        Outlook { environment, programs, locale }
    }

    /// Returns why a call of these stages would certainly gain nothing, to follow 'because of'.
    pub fn nothing_gained(&self, stages: &[Stage]) -> Option<String> {
        let reasons: Option<Vec<String>> = stages.iter().map(|stage| self.stays_a_process(stage)).collect();
        reasons?.into_iter().next()
    }

    fn stays_a_process(&self, stage: &Stage) -> Option<String> {
        let (Some(locale), Command::Simple(simple)) = (&self.locale, &stage.command) else { return None };
        let name = simple.words.first()?.static_text()?;
        let path = self.programs.find(name.as_bytes())?;
        let path = Path::new(OsStr::from_bytes(&path));
        let name = path.file_name()?.as_bytes();
        let locale = match locale {
            Ok(locale) => locale.clone(),
            Err(declined) => return Some(declined.reason.clone()),
        };
        let context = Context { locale, implementation: self.environment.detector().identify(path) };
        let mut reason = None;
        for args in possible_arguments(simple) {
            reason = Some(refusal(name, &args, &context)?);
        }
        reason
    }
}

/// What is known only when the command runs: files and variables that the script may change.
#[derive(Default)]
struct KnownLater {
    asked: Cell<bool>,
}

impl KnownLater {
    fn refuse<T>(&self) -> Accept<T> {
        self.asked.set(true);
        Declined::because("what is known only when it runs")
    }
}

impl Lookup for KnownLater {
    fn script(&self, _name: &[u8]) -> Accept<Vec<u8>> {
        self.refuse()
    }

    fn variable(&self, _name: &[u8]) -> Accept<Option<Vec<u8>>> {
        self.refuse()
    }
}

/// Returns why a command line would run unchanged.
fn refusal(name: &[u8], args: &[Vec<u8>], context: &Context) -> Option<String> {
    let later = KnownLater::default();
    let declined = accept_with(name, args, context, &later).err()?;
    let in_parts = || {
        let declared = || parts::declared(name, args).is_some();
        parts::may_be(name) && (declared() || stateless::stateless(name, args, context).is_ok())
    };
    (!later.asked.get() && !in_parts()).then_some(declined.reason)
}

/// Returns the arguments with each example in place of expansions; only one variant if there are none.
fn possible_arguments(simple: &Simple) -> Vec<Vec<Vec<u8>>> {
    let words = &simple.words[1..];
    let with = |example: &Option<&str>| words.iter().filter_map(|word| filled(word, *example)).collect();
    if words.iter().all(|word| word.static_text().is_some()) {
        return vec![with(&None)];
    }
    EXAMPLES.iter().map(with).collect()
}

/// Fills in a word; `None` if it vanishes.
fn filled(word: &Word, example: Option<&str>) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut stands = word.parts.is_empty();
    for part in &word.parts {
        match part {
            WordPart::Bare(own) | WordPart::Quoted(own) => {
                stands = true;
                text.extend_from_slice(own.as_bytes());
            }
            _ => {
                stands |= example.is_some();
                text.extend_from_slice(example.unwrap_or_default().as_bytes());
            }
        }
    }
    stands.then_some(text)
}
