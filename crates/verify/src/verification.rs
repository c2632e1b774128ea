//! Compares an installed tool with its kernel until a time has passed, and says which calls differ.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use pelton_commands::detect::{Exclusion, Verified};
use pelton_commands::{Implementation, Locale, Tool};

use crate::campaign::Cases;
use crate::engine::{Care, Check, Engine, Found, Program, Tally};
use crate::{Case, GRAMMARS, known_cases, known_english_cases};

/// With fewer command lines compared, nothing is served.
pub const COMMAND_LINES_MIN: u64 = 300;
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
    /// Calls that are known to differ.
    pub excluded: &'a [Exclusion],
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
    /// Whether calls differ that did not before.
    pub is_new: bool,
}

impl Outcome {
    /// Whether it counts: enough was compared, or less is served because of it.
    pub fn is_enough(&self) -> bool {
        self.tally.answers >= COMMAND_LINES_MIN || self.is_new
    }
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
        for (engine, locale) in &mut engines {
            for case in self.known(locale) {
                if self.is_over(stop, &state) {
                    break;
                }
                state.check(engine, case, Care::Whole, &|| self.has_ended(stop))?;
                progress(&state.tally, state.verified.exclusions.len());
            }
        }
        let grammars = GRAMMARS.iter().filter(|grammar| grammar.command == self.tool.name);
        let mut turns: Vec<(usize, Cases)> = grammars
            .flat_map(|grammar| {
                let numbered = engines.iter().enumerate();
                numbered.map(move |(at, (engine, _))| {
                    (at, Cases::new(grammar, self.seed.wrapping_add(at as u64), engine.locale()))
                })
            })
            .collect();
        let mut turn = 0;
        while !turns.is_empty() && !self.is_over(stop, &state) {
            let at = turn % turns.len();
            let (engine, cases) = &mut turns[at];
            for _ in 0..TURN_CASES {
                if self.is_over(stop, &state) {
                    break;
                }
                let (case, care) = cases.next();
                state.check(&mut engines[*engine].0, case, care, &|| self.has_ended(stop))?;
            }
            turn += 1;
            progress(&state.tally, state.verified.exclusions.len());
        }
        let mut verified = Arc::unwrap_or_clone(state.verified);
        verified.comparisons = state.tally.comparisons;
        let is_new = verified.exclusions != self.excluded;
        let is_served = !self.excluded.is_empty() || self.tool.serves(self.claimed);
        if state.tally.answers < COMMAND_LINES_MIN && is_new && !is_served {
            verified.exclusions = vec![Exclusion::of_every_call()];
        }
        Ok(Outcome { verified, tally: state.tally, reports: state.reports, is_new })
    }

    fn has_ended(&self, stop: &dyn Fn() -> bool) -> bool {
        Instant::now() >= self.until || stop()
    }

    fn is_over(&self, stop: &dyn Fn() -> bool, state: &State) -> bool {
        state.verified.differs_always() || self.has_ended(stop)
    }

    /// Returns the row whose kernel serves this project: `awk` may be any of several.
    fn row(&self) -> &'static Tool {
        let alternatives = self.tool.alternatives.iter();
        alternatives.copied().find(|other| Some(other.family) == self.claimed.family()).unwrap_or(self.tool)
    }

    /// Makes an engine for each locale besides C, with its name; or one for C alone.
    fn engines(&self) -> io::Result<Vec<(Engine, String)>> {
        let names = self.locales_besides_c();
        let program = || Program {
            tool: self.tool.name,
            path: self.path,
            implementation: Implementation::Unknown(String::new()),
        };
        if names.is_empty() {
            return Ok(vec![(Engine::new(program())?.in_c_only(), "C".to_owned())]);
        }
        let make = |name: String| {
            let engine = Engine::new(program()).map(|engine| engine.in_locale(&name));
            engine.map(|engine| engine.map(|engine| (engine, name))).transpose()
        };
        names.into_iter().filter_map(make).collect()
    }

    /// Returns each locale once, by its first name.
    fn locales_besides_c(&self) -> Vec<String> {
        let mut seen = vec![Locale::C];
        let all = ["C.UTF-8".to_owned()].into_iter().chain(self.locales.iter().cloned());
        let is_new = |name: &String| match Locale::named(name) {
            Some(locale) if !seen.contains(&locale) => {
                seen.push(locale);
                true
            }
            _ => false,
        };
        all.filter(is_new).collect()
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
    /// Shared with the engines; what they see changes only when an exclusion is added.
    verified: Arc<Verified>,
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
            exclusions: verification.excluded.to_vec(),
        };
        State {
            verified: Arc::new(verified),
            tally: Tally::default(),
            reports: Vec::new(),
            seed: verification.seed,
        }
    }

    /// Compares one case, unless it is excluded already; excludes calls like it if it differs, or if the tool does not
    /// end. `stop` ends the search for a smaller case.
    fn check(
        &mut self,
        engine: &mut Engine,
        case: Case,
        care: Care,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        engine.set_implementation(Implementation::Verified(Arc::clone(&self.verified)));
        let mut found = engine.check_with(&case, care)?;
        if matches!(found, Check::Endless) {
            // The machine may have stood still.
            found = engine.check_with(&case, care)?;
        }
        self.tally.add(&std::mem::take(&mut engine.tally));
        let first = match found {
            Check::Agrees | Check::NotCompared => return Ok(()),
            Check::Endless => {
                self.exclude(&case, engine.is_in_c(&case));
                return Ok(());
            }
            Check::Differs(difference) => *difference,
        };
        let difference = engine.shrunk(first, stop)?;
        self.exclude(difference.case(), engine.is_in_c(difference.case()));
        // The smaller case may show another difference.
        let in_c = engine.is_in_c(&case);
        if !self.verified.exclusions.iter().any(|exclusion| exclusion.covers(&case.args, in_c)) {
            self.exclude(&case, in_c);
        }
        if self.reports.len() < REPORTS_MAX {
            let name = format!("{}-{}-{}", difference.case().command, self.seed, self.reports.len() + 1);
            self.reports.push(difference.found(name, engine.other_locale()));
        }
        Ok(())
    }

    fn exclude(&mut self, case: &Case, in_c: bool) {
        let exclusion = Exclusion::of(&case.args, in_c);
        let exclusions = &mut Arc::make_mut(&mut self.verified).exclusions;
        if exclusions.len() >= EXCLUSIONS_MAX || !exclusion.covers(&case.args, in_c) {
            *exclusions = vec![Exclusion::of_every_call()];
            return;
        }
        // What the new one covers need not be said twice.
        exclusions.retain(|other| !exclusion.includes(other));
        exclusions.push(exclusion);
        exclusions.sort();
    }
}
