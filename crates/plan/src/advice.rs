//! Advice on what the user could change. Given only where it is known to be true.

use crate::graph::{Candidate, Planned, Segment};
use pelton_commands::{Context, Implementation, Locale, accept, lookup};
use std::ffi::OsStr;
use std::path::Path;

/// Whether a program is make, whose recipes may run by pelton.
pub fn is_make(program: &OsStr) -> bool {
    let name = Path::new(program).file_name();
    ["gmake", "make"].iter().any(|make| name == Some(OsStr::new(make)))
}

/// How they do.
pub const ON_MAKE: &str = "its recipes run by pelton if the Makefile has `SHELL := pelton` and `.SHELLFLAGS := sh --shell sh -c` \
                           (`sh -c` if they are written for bash); explain shows one that it is given as text";

/// Returns the advice as sentences.
pub(crate) fn advice(candidates: &[Candidate]) -> Vec<String> {
    let mut names: Vec<&str> = candidates
        .iter()
        .filter(|candidate| locale_declines(candidate))
        .map(|candidate| candidate.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let makes = candidates.iter().any(|candidate| is_make(OsStr::new(&candidate.name)));
    let of_make = makes.then(|| ON_MAKE.to_owned());
    let of_locale = (!names.is_empty()).then(|| format!(
        "with LC_ALL=C, {} would run natively; bytes are then ordered and classified, not the characters of your \
         locale, so the output may differ",
        names.join(" and ")
    ));
    of_make.into_iter().chain(of_locale).collect()
}

/// Whether only the locale prevents this command from running natively.
fn locale_declines(candidate: &Candidate) -> bool {
    let Some(entry) = lookup(candidate.name.as_bytes()) else { return false };
    let Some(own) = &candidate.context else { return false };
    if candidate.command.is_ok() {
        return false;
    }
    let fits = |locale: &Locale| {
        let context =
            Context { locale: locale.clone(), implementation: Implementation::tested(entry.family) };
        accept(entry.name.as_bytes(), &candidate.args, &context).is_ok()
    };
    !fits(&own.locale) && fits(&Locale::C)
}

impl Planned {
    /// Adds advice if more of its processes work at the same time than there are cores (P13).
    pub fn advise_on_cores(&mut self, cores: usize) {
        let busy = self.busy_at_once();
        // Two or three of unequal load share a core well.
        if busy > cores.max(3) {
            self.advice.push(format!(
                "{busy} processes work at the same time on {cores} cores, and wait for each other: as many stages as \
                 cores do as much, if their work is equal"
            ));
        }
    }

    /// Returns the most processes that work at once. A blocking stage works first with the stages before it,
    /// and then with those after it.
    fn busy_at_once(&self) -> usize {
        let (mut most, mut now) = (0, 0);
        for segment in &self.segments {
            let stages = match segment {
                Segment::Process(stage) => *stage..*stage + 1,
                Segment::Native { stages, .. } => stages.clone(),
            };
            now += 1;
            most = most.max(now);
            let waits = self.stages[stages].iter().any(|stage| stage.blocks_until_eof == Some(true));
            now = if waits { 1 } else { now };
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use crate::Switches;
    use crate::testing::{in_locale, planned};
    use pelton_commands::Locale;

    #[test]
    fn more_busy_processes_than_cores() {
        let advice = |text: &str, cores| {
            let mut planned = planned(text, false, &Switches::default());
            planned.advise_on_cores(cores);
            planned.advice
        };
        assert!(
            advice("a | b | c | d | e", 2)[0].starts_with("5 processes work at the same time on 2 cores")
        );
        assert_eq!(advice("a | b | c | d | e", 8), [""; 0]);
        assert_eq!(advice("tr a b < f | nl | sort | cut -c 1 | nl", 1), [""; 0]);
        // sort separates them.
        assert_eq!(advice("a | b | sort | c | d", 2), [""; 0]);
    }

    #[test]
    fn another_locale_only_where_that_is_the_reason() {
        let swedish = Locale { plain_dates: false, ..Locale::C_UTF8 };
        let advice = |locale: &Locale, text: &str| in_locale(locale.clone(), text).advice;
        assert!(advice(&swedish, "sort -M f")[0].starts_with("with LC_ALL=C, sort would run natively"));
        assert_eq!(advice(&swedish, "tail -f f"), [""; 0]);
        assert_eq!(advice(&swedish, "nosuch"), [""; 0]);
        assert_eq!(advice(&Locale::C_UTF8, "sort -M f"), [""; 0]);
    }
}
