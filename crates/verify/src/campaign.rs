//! Campaigns of random cases: a grammar's command lines in turn, a difference shrunk and reported.

use std::collections::HashSet;
use std::io;

use crate::engine::{Care, Check, Difference, Engine, Found, Tally};
use crate::grammars::{Grammar, without_chance};
use crate::{Case, Rng, shrink};
use pelton_commands::Locale;

/// Commands whose arguments are programs: each gets so many inputs in a row.
const PROGRAMS: [&str; 5] = ["awk", "mawk", "gawk", "original-awk", "sed"];
const INPUTS: u64 = 3;
/// A difference must show as many times again to be made smaller.
const REPETITIONS: usize = 3;
/// What stands before decimals in the cases that a grammar makes.
const POINT: u8 = b'.';

/// The numbered cases of a grammar: the same seed gives the same ones.
pub(crate) struct Cases<'g> {
    grammar: &'g Grammar,
    seed: u64,
    next: u64,
    /// What may stand before decimals.
    point: u8,
}

impl<'g> Cases<'g> {
    /// `locale`: many of its cases have numbers as it writes them.
    pub(crate) fn new(grammar: &'g Grammar, seed: u64, locale: &Locale) -> Self {
        let point = locale.numbers.map_or(POINT, |numbers| numbers.point);
        Cases { grammar, seed, next: 0, point }
    }

    /// Returns the next case, and how much is done with it.
    pub(crate) fn next(&mut self) -> (Case, Care) {
        let index = self.next;
        self.next += 1;
        let is_program = PROGRAMS.contains(&self.grammar.command);
        let (case, care) = match is_program {
            true => (program(self.grammar, self.seed, index), Care::Turn(index as usize)),
            false => (made(self.grammar, self.seed, index), Care::Whole),
        };
        let group = if is_program { index - index % INPUTS } else { index };
        (self.localized(case, group, index), care)
    }

    /// Puts the decimal point of the locale into most numbers of three quarters of the cases. `group`, `index`: by which the
    /// arguments and the input are chosen.
    fn localized(&self, mut case: Case, group: u64, index: u64) -> Case {
        if self.point == POINT || !case.utf8 {
            return case;
        }
        let [mut args, mut data] = [group, index].map(|number| Rng::new(!self.seed.wrapping_add(number)));
        if args.chance(40) {
            case.args.iter_mut().for_each(|arg| self.localize(arg, &mut args));
        }
        if data.chance(75) {
            let files = case.files.iter_mut().map(|(_, content)| content);
            files.chain([&mut case.stdin]).for_each(|content| self.localize(content, &mut data));
        }
        case
    }

    /// Puts the decimal point of the locale into most numbers of a text.
    fn localize(&self, text: &mut [u8], rng: &mut Rng) {
        for at in 0..text.len() {
            let is_digit = |near: Option<&u8>| near.is_some_and(u8::is_ascii_digit);
            let is_in_number = is_digit(text.get(at + 1)) || at > 0 && is_digit(text.get(at - 1));
            if text[at] == POINT && is_in_number && rng.chance(80) {
                text[at] = self.point;
            }
        }
    }
}

impl Engine {
    /// Runs at least so many comparisons, or stops at a few differences.
    ///
    /// # Errors
    /// If the tool cannot be run.
    pub fn campaign(
        &mut self,
        grammar: &Grammar,
        seed: u64,
        comparisons: u64,
    ) -> io::Result<(Tally, Vec<Found>)> {
        let mut differences = Vec::new();
        let mut kinds = HashSet::new();
        let mut cases = Cases::new(grammar, seed, self.locale());
        while self.tally.comparisons < comparisons && cases.next < comparisons * 3 && differences.len() < 5 {
            let (case, care) = cases.next();
            let Check::Differs(first) = self.check_with(&case, care)? else { continue };
            let least = self.shrunk(*first, &|| false)?;
            // The same arguments after shrinking are taken for the same cause.
            if kinds.insert(least.case().args.clone()) {
                let name = format!("{}-{seed}-{}", grammar.command, cases.next);
                differences.push(least.found(name, self.other_locale()));
            }
        }
        Ok((std::mem::take(&mut self.tally), differences))
    }

    /// Returns the difference on a smaller case, as small as can be found until `stop` says so. It does not count. What
    /// does not show each time is returned as it is, and says so: smaller cases would pass by chance.
    pub(crate) fn shrunk(&mut self, first: Difference, stop: &dyn Fn() -> bool) -> io::Result<Difference> {
        let counted = self.tally;
        let mut fails = |case: &Case| !stop() && self.check(case).is_ok_and(|found| found.is_some());
        let always = (0..REPETITIONS).all(|_| fails(first.case()));
        let least = always.then(|| shrink(first.case().clone(), fails));
        let again = least.map(|least| self.check(&least)).transpose()?.flatten();
        self.tally = counted;
        Ok(again.unwrap_or_else(|| if stop() { first } else { first.sometimes() }))
    }
}

/// Returns the case with this number.
fn made(grammar: &Grammar, seed: u64, index: u64) -> Case {
    let mut rng = Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(index));
    (grammar.case)(&mut rng, grammar.command)
}

/// Returns the same, but several in a row are one program over different input.
fn program(grammar: &Grammar, seed: u64, index: u64) -> Case {
    let own = made(grammar, seed, index);
    if index.is_multiple_of(INPUTS) {
        return without_chance(own);
    }
    let first = made(grammar, seed, index - index % INPUTS);
    let files = first.files.into_iter().map(|(name, content)| {
        let is_data = !matches!(name.as_str(), "program" | "script");
        let other = own.files.iter().find(|(known, _)| *known == name && is_data);
        let content = other.map_or(content, |(_, content)| content.clone());
        (name, content)
    });
    without_chance(Case { args: first.args, files: files.collect(), ..own })
}
