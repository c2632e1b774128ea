//! Regular expressions and separators that are made while the program runs.
//!
//! What a text means as an expression is known only once it is there. A text that the kernel does not match exactly, or
//! about which the real awk warns, makes the real awk run again from the beginning ([`restart`](super::restart)).

use std::collections::HashMap;

use memchr::memmem;

use crate::Implementation;
use crate::regex::Judges;

use super::Dialect;
use super::code::{Get, LValue, Replacement, Table};
use super::compile::separator_of_split;
use super::exact_patterns;
use super::fields::Separator;
use super::gawk;
use super::machine::{Machine, Ran, Stop};
use super::number;
use super::pattern::{Pattern, Purpose};
use super::value::Value;

/// Longer texts are left to the real awk.
const TEXT_MAX: usize = 1000;
/// The number of compiled expressions that are kept.
const KEPT_MAX: usize = 2000;

/// A search for an expression that is made while the program runs.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The index of its latest text.
    pub(super) slot: usize,
    /// Makes its text.
    pub(super) by: Get,
    pub(super) search: Search,
}

/// What is done with an expression.
#[derive(Clone, Debug)]
pub(super) enum Search {
    Match { negated: bool, text: Get },
    Find(Get),
    Substitute { all: bool, by: Replacement, place: LValue },
    Split(Get, Table),
}

impl Search {
    fn kind(&self) -> Kind {
        match self {
            Search::Match { .. } => Kind::Match,
            Search::Find(_) | Search::Substitute { .. } => Kind::Find,
            Search::Split(..) => Kind::Separator,
        }
    }
}

/// The expressions that a loop over an array makes of its keys.
#[derive(Clone, Debug)]
pub(super) struct KeyPatterns {
    /// The loop's variable.
    pub(super) place: LValue,
    pub(super) table: Table,
    pub(super) made: Vec<Made>,
    /// Whether nothing but new keys makes new expressions.
    pub(super) is_once: bool,
}

/// What the installed awk does with expressions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    dialect: Dialect,
    /// What the versions of gawk refuse ([`gawk::PatternLimits`]).
    pub(super) gawk: gawk::PatternLimits,
}

impl Limits {
    pub(super) fn of(dialect: Dialect, implementation: &Implementation) -> Self {
        Limits { dialect, gawk: gawk::PatternLimits::of(dialect, implementation) }
    }

    pub(super) fn dialect(self) -> Dialect {
        self.dialect
    }
}

/// A compiled text.
#[derive(Clone, Copy, Debug)]
struct Compiled {
    /// The index among the machine's patterns or separators.
    index: usize,
    /// Which texts it judges.
    judges: Judges,
}

/// What a text is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Match,
    Find,
    Separator,
}

/// The expressions made so far.
#[derive(Clone, Debug)]
pub(super) struct MadePatterns {
    limits: Limits,
    known: HashMap<(Kind, Vec<u8>), Compiled>,
    /// The latest text of each place in the program.
    latest: Vec<Option<(Vec<u8>, Compiled)>>,
    /// In gawk, the text that each place has compiled, and its number if it is the text of one.
    numbers: Vec<Option<(Vec<u8>, Option<f64>)>>,
    /// For each place that is a loop over keys, the number of keys that were compiled.
    keys: Vec<usize>,
    /// The numbers of patterns and separators that are constants.
    constants: (usize, usize),
}

impl MadePatterns {
    pub(super) fn new(limits: Limits, slots: usize, patterns: usize, separators: usize) -> Self {
        MadePatterns {
            limits,
            known: HashMap::new(),
            latest: vec![None; slots],
            numbers: vec![None; if limits.dialect.is_gawk() { slots } else { 0 }],
            keys: vec![0; slots],
            constants: (patterns, separators),
        }
    }

    /// Returns the numbers of patterns and separators that are constants: the first ones.
    pub(super) fn constants(&self) -> (usize, usize) {
        self.constants
    }

    /// Returns the pattern of a text, if the kernel matches it exactly.
    fn pattern(&self, text: &[u8], purpose: Purpose) -> Option<(Pattern, Judges)> {
        let dialect = self.limits.dialect;
        if purpose == Purpose::Find {
            exact_patterns::check_find(text, dialect).ok()?;
        }
        exact_patterns::check_match(text, dialect).ok()?;
        let pattern = Pattern::new(text, dialect, purpose).ok()?;
        self.limits.gawk.check(&pattern).ok()?;
        let judges = self.limits.gawk.judges(&pattern);
        Some((pattern, if dialect.has_unseen_characters() { Judges::ValidUtf8 } else { judges }))
    }

    /// Returns the separator of a text, if the kernel finds it exactly.
    fn separator(&self, text: &[u8]) -> Option<(Separator, Judges)> {
        let dialect = self.limits.dialect;
        // Gawk finds places between bytes in its own way.
        let is_place = |pair: &[u8]| matches!(pair, [b'\\', b'<' | b'>' | b'y' | b'B' | b'`' | b'\'']);
        if dialect.is_gawk() && text.windows(2).any(is_place) {
            return None;
        }
        let made = separator_of_split(text, dialect).ok()?;
        if let Some(pattern) = made.pattern() {
            self.limits.gawk.check(pattern).ok()?;
        }
        let judges = self.limits.gawk.judges_of_separator(&made);
        Some((made, if dialect.has_unseen_characters() { Judges::ValidUtf8 } else { judges }))
    }

    /// Whether a text may be an expression at all.
    fn takes(&self, text: &[u8]) -> bool {
        let dialect = self.limits.dialect;
        let has_characters = dialect.has_characters() || dialect.has_unseen_characters();
        text.len() <= TEXT_MAX && !(has_characters && str::from_utf8(text).is_err())
    }
}

/// Whether every byte of a text stands for itself in the expressions of all awks.
fn is_literal(text: &[u8]) -> bool {
    text.iter().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b' ' | b'_' | b'-' | b',' | b':' | b'=' | b'/' | b'@' | b'#' | b'%' | b'&' | b';' | b'~'
            )
    })
}

impl Machine {
    /// Searches for an expression that is made now. Returns the number that the function or operator gives.
    pub(super) fn search(&mut self, made: &Made) -> Ran<f64> {
        let text = self.text(&made.by)?;
        let found = self.check_number(made, &text).and_then(|()| self.search_for(made, &text));
        self.give_back(text);
        found
    }

    /// Gawk does not compile a text again whose number is that of the text which the same place has compiled: `1.0` behind `1`
    /// is still `1` (re_update in its re.c compares values). Leaves the program to it then.
    fn check_number(&mut self, made: &Made, text: &[u8]) -> Ran<()> {
        let number = match self.made.numbers.get(made.slot) {
            None => return Ok(()),
            Some(Some((compiled, None))) if compiled == text => return Ok(()),
            Some(_) => match self.value(&made.by)? {
                Value::Unset => Some(0.0),
                Value::Number(number) => Some(number),
                Value::Input(_) | Value::Text(_) if text.is_empty() => Some(0.0),
                // Keys of arrays are numbers to it as well, though strings to a comparison.
                Value::Input(text) | Value::Text(text) => number::looks_like(text.bytes()),
            },
        };
        let compiled = &mut self.made.numbers[made.slot];
        match compiled {
            Some((same, known)) if same == text => *known = number.or(*known),
            Some((_, Some(known)))
                if number.is_some_and(|number| number == *known || number.is_nan() && known.is_nan()) =>
            {
                return Err(Stop::Again);
            }
            _ => *compiled = Some((text.to_vec(), number)),
        }
        Ok(())
    }

    fn search_for(&mut self, made: &Made, text: &[u8]) -> Ran<f64> {
        let as_number = |is_match: bool, negated: bool| f64::from(u8::from(is_match != negated));
        // An empty expression matches everything.
        if let Search::Match { negated, text: subject } = &made.search
            && is_literal(text)
        {
            let is_match = self.with_text(subject, |subject| memmem::find(subject, text).is_some())?;
            return Ok(as_number(is_match, *negated));
        }
        let compiled = self.compiled(made.slot, made.search.kind(), text)?;
        match &made.search {
            Search::Match { negated, text: subject } => {
                self.check_subject(compiled, subject)?;
                Ok(as_number(self.matches(subject, compiled.index)?, *negated))
            }
            Search::Find(subject) => {
                self.check_subject(compiled, subject)?;
                self.find(subject, compiled.index)
            }
            Search::Substitute { all, by, place } => {
                self.check_subject(compiled, &Get::Of(place.clone()))?;
                self.substitute(*all, compiled.index, by, place)
            }
            Search::Split(subject, table) => {
                self.check_subject(compiled, subject)?;
                self.split(subject, *table, compiled.index)
            }
        }
    }

    /// Compiles the expressions of all keys.
    pub(super) fn compile_keys(&mut self, keys: &KeyPatterns) -> Ran<()> {
        let Some(slot) = keys.made.first().map(|made| made.slot) else { return Ok(()) };
        let length = self.table(keys.table).len();
        if keys.is_once && length == self.made.keys[slot] {
            return Ok(());
        }
        for key in self.table(keys.table).found_keys() {
            self.set(&keys.place, key)?;
            keys.made.iter().try_for_each(|made| self.check_made(made))?;
        }
        self.made.keys[slot] = length;
        Ok(())
    }

    /// Leaves the program to the real awk if the text of an expression is none that the kernel matches exactly.
    pub(super) fn check_made(&mut self, made: &Made) -> Ran<()> {
        let text = self.text(&made.by)?;
        let kind = made.search.kind();
        let is_known = kind == Kind::Match && is_literal(&text);
        let checked = if is_known { Ok(()) } else { self.compiled(made.slot, kind, &text).map(|_| ()) };
        self.give_back(text);
        checked
    }

    /// Leaves the program to the real awk if an expression does not judge the string that is searched.
    fn check_subject(&mut self, compiled: Compiled, subject: &Get) -> Ran<()> {
        if compiled.judges == Judges::AnyBytes {
            return Ok(());
        }
        match self.with_text(subject, |text| compiled.judges.first_unjudged(text).is_some())? {
            true => Err(Stop::Again),
            false => Ok(()),
        }
    }

    /// Returns the compiled form of a text. The same text as before at this place costs one comparison.
    fn compiled(&mut self, slot: usize, kind: Kind, text: &[u8]) -> Ran<Compiled> {
        if let Some((latest, compiled)) = &self.made.latest[slot]
            && latest == text
        {
            return Ok(*compiled);
        }
        let key = (kind, text.to_vec());
        let compiled = match self.made.known.get(&key) {
            Some(compiled) => *compiled,
            None => self.compile_made(key)?,
        };
        self.made.latest[slot] = Some((text.to_vec(), compiled));
        Ok(compiled)
    }

    fn compile_made(&mut self, (kind, text): (Kind, Vec<u8>)) -> Ran<Compiled> {
        if !self.made.takes(&text) || text.is_empty() && kind != Kind::Separator {
            return Err(Stop::Again);
        }
        if self.made.known.len() >= KEPT_MAX {
            self.forget_made();
        }
        let compiled = match kind {
            Kind::Separator => {
                let (separator, judges) = self.made.separator(&text).ok_or(Stop::Again)?;
                self.separators.push(separator);
                Compiled { index: self.separators.len() - 1, judges }
            }
            kind => {
                let purpose = if kind == Kind::Match { Purpose::Match } else { Purpose::Find };
                let (pattern, judges) = self.made.pattern(&text, purpose).ok_or(Stop::Again)?;
                self.patterns.push(pattern);
                Compiled { index: self.patterns.len() - 1, judges }
            }
        };
        self.made.known.insert((kind, text), compiled);
        Ok(compiled)
    }

    fn forget_made(&mut self) {
        let (patterns, separators) = self.made.constants;
        self.patterns.truncate(patterns);
        self.separators.truncate(separators);
        self.made.known.clear();
        self.made.latest.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;

    #[test]
    fn literal_texts_are_expressions_of_themselves_that_judge_any_bytes() {
        let text = b"aZ09 _-,:=/@#%&;~";
        for dialect in [Dialect::Mawk { is_2025: false }, Dialect::Mawk { is_2025: true }] {
            let limits = Limits::of(dialect, &Implementation::tested(Family::Mawk));
            let (mut pattern, judges) =
                MadePatterns::new(limits, 0, 0, 0).pattern(text, Purpose::Match).expect("a pattern");
            assert_eq!(judges, Judges::AnyBytes);
            assert!(is_literal(text) && pattern.is_match(b"xaZ09 _-,:=/@#%&;~"));
        }
    }
}
