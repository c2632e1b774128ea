//! Compares an installed tool with its kernel until a time has passed, and says which calls differ.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use pelton_commands::detect::{Exclusion, Verified};
use pelton_commands::{Implementation, Locale, Tool};

use crate::campaign::Cases;
use crate::engine::{Care, Difference, Engine, Found, Program, Tally};
use crate::{Case, GRAMMARS, known_cases, known_english_cases};

/// Fewer comparisons prove nothing.
pub const COMPARISONS_MIN: u64 = 2_000;
/// With more kinds of calls that differ, every call is taken to differ.
const EXCLUSIONS_MAX: usize = 12;
/// Reports that are kept.
const REPORTS_MAX: usize = 10;
/// Cases of a grammar in a row.
const TURN_CASES: u32 = 12;

/// What to verify.
pub struct Verification<'a> {
    /// The tool's row.
    pub tool: &'static Tool,
    /// The installed program.
    pub path: &'a Path,
    /// What the program says it is.
    pub claimed: &'a Implementation,
    /// Locales besides C and C.UTF-8.
    pub locales: &'a [String],
    /// The seed of the random cases.
    pub seed: u64,
    /// When to stop.
    pub until: Instant,
}

/// What a verification has shown.
pub struct Outcome {
    /// For a certificate; its date is empty.
    pub verified: Verified,
    /// Counts of what was done.
    pub tally: Tally,
    /// Differences, as reports.
    pub reports: Vec<Found>,
}

impl Outcome {
    /// Whether so much was compared that what did not differ may be served.
    pub fn is_enough(&self) -> bool {
        self.tally.comparisons >= COMPARISONS_MIN || self.verified.differs_always()
    }
}

/// Whether there are random command lines for this tool.
pub fn can_verify(tool: &Tool) -> bool {
    GRAMMARS.iter().any(|grammar| grammar.command == tool.name)
}

impl Verification<'_> {
    /// Compares the known cases, then random ones, until the time has passed, `stop` says so, or every call differs.
    /// `progress` is told the counts.
    ///
    /// # Errors
    /// If the tool cannot be run.
    pub fn run(
        &self,
        stop: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(&Tally, usize),
    ) -> io::Result<Outcome> {
        let mut state = State::new(self);
        let mut engines = self.engines()?;
        for (engine, locale) in engines.iter_mut().zip(&state.verified.locales.clone()) {
            for case in self.known(locale) {
                if self.is_over(stop, &state) {
                    break;
                }
                state.check(engine, case, Care::Whole)?;
            }
        }
        let grammars = GRAMMARS.iter().filter(|grammar| grammar.command == self.tool.name);
        let mut turns: Vec<(usize, Cases)> = grammars
            .flat_map(|grammar| {
                (0..engines.len()).map(move |engine| (engine, Cases::new(grammar, self.seed)))
            })
            .collect();
        let mut turn = 0;
        while !turns.is_empty() && !self.is_over(stop, &state) {
            let at = turn % turns.len();
            let (engine, cases) = &mut turns[at];
            for _ in 0..TURN_CASES {
                let (case, care) = cases.next();
                state.check(&mut engines[*engine], case, care)?;
            }
            turn += 1;
            progress(&state.tally, state.verified.exclusions.len());
        }
        state.verified.comparisons = state.tally.comparisons;
        if state.tally.comparisons < COMPARISONS_MIN && !state.verified.exclusions.is_empty() {
            state.verified.exclusions = vec![Exclusion::of_every_call()];
        }
        Ok(Outcome { verified: state.verified, tally: state.tally, reports: state.reports })
    }

    fn is_over(&self, stop: &dyn Fn() -> bool, state: &State) -> bool {
        state.verified.differs_always() || Instant::now() >= self.until || stop()
    }

    /// Returns the row whose kernel serves this project: `awk` may be any of several.
    fn row(&self) -> &'static Tool {
        let alternatives = self.tool.alternatives.iter();
        alternatives.copied().find(|other| Some(other.family) == self.claimed.family()).unwrap_or(self.tool)
    }

    /// Makes an engine for each locale besides C, or one for C alone.
    fn engines(&self) -> io::Result<Vec<Engine>> {
        let names = self.locales_besides_c();
        let program = || Program {
            tool: self.tool.name,
            path: self.path,
            implementation: Implementation::Unknown(String::new()),
        };
        if names.is_empty() {
            return Ok(vec![Engine::new(program())?.in_c_only()]);
        }
        names
            .iter()
            .filter_map(|name| Engine::new(program()).map(|engine| engine.in_locale(name)).transpose())
            .collect()
    }

    fn locales_besides_c(&self) -> Vec<String> {
        let all = ["C.UTF-8".to_owned()].into_iter().chain(self.locales.iter().cloned());
        all.filter(|name| Locale::named(name).is_some_and(|locale| locale != Locale::C)).collect()
    }

    /// Returns the known cases of the tool for this locale, under the tool's name.
    fn known(&self, locale: &str) -> Vec<Case> {
        let row = self.row();
        let all = if locale == "en_US.UTF-8" { known_english_cases() } else { known_cases() };
        let own = all.into_iter().filter(|case| case.command == self.tool.name || case.command == row.name);
        own.map(|case| Case { command: self.tool.name.to_owned(), ..case }).collect()
    }
}

/// What was found so far.
struct State {
    verified: Verified,
    tally: Tally,
    reports: Vec<Found>,
    seed: u64,
}

impl State {
    fn new(verification: &Verification<'_>) -> Self {
        let row = verification.row();
        let claimed = match verification.claimed {
            Implementation::Known { version, .. } => version.as_str(),
            Implementation::Verified(verified) => verified.like.as_str(),
            Implementation::Unknown(_) => "",
        };
        let mut locales = vec!["C".to_owned()];
        locales.extend(verification.locales_besides_c());
        let verified = Verified {
            family: row.family,
            like: row.nearest_version(claimed).to_owned(),
            shown: verification.claimed.describe(),
            date: String::new(),
            comparisons: 0,
            locales,
            exclusions: Vec::new(),
        };
        State { verified, tally: Tally::default(), reports: Vec::new(), seed: verification.seed }
    }

    /// Compares one case, unless it is excluded already; excludes calls like it if it differs.
    fn check(&mut self, engine: &mut Engine, case: Case, care: Care) -> io::Result<()> {
        engine.set_implementation(Implementation::Verified(Arc::new(self.verified.clone())));
        let before = std::mem::take(&mut engine.tally);
        let found = engine.check_with(&case, care)?;
        self.tally.add(&engine.tally);
        engine.tally = before;
        let Some(first) = found else { return Ok(()) };
        let least = engine.shrunk(case)?;
        let difference = least.unwrap_or(first);
        self.exclude(&difference);
        if self.reports.len() < REPORTS_MAX {
            let name = format!("{}-{}-{}", difference.case().command, self.seed, self.reports.len() + 1);
            self.reports.push(difference.found(name, engine.other_locale()));
        }
        Ok(())
    }

    fn exclude(&mut self, difference: &Difference) {
        let case = difference.case();
        let exclusion = Exclusion::of(&case.args, !case.utf8);
        let exclusions = &mut self.verified.exclusions;
        if exclusions.len() >= EXCLUSIONS_MAX || !exclusion.covers(&case.args, !case.utf8) {
            *exclusions = vec![Exclusion::of_every_call()];
            return;
        }
        // What the new one covers need not be said twice.
        exclusions.retain(|other| !exclusion.includes(other));
        exclusions.push(exclusion);
        exclusions.sort();
    }
}
