//! Runs topics of cases and reports the failures.
//!
//! `PELTON_CASE=name,other` runs only these cases.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::{Case, Mode, Outcome, Result, Subject, World, compare, load_topic};

/// The result of checking cases.
#[derive(Debug, Default)]
pub struct Findings {
    /// Number of comparisons.
    pub checked: usize,
    /// One message per failed case, shell and mode.
    pub failures: Vec<String>,
}

impl Findings {
    /// Panics with all failures, if there are any.
    pub fn assert_none(&self) {
        assert!(self.failures.is_empty(), "\n{self}");
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} comparisons failed", self.failures.len(), self.checked)?;
        self.failures.iter().try_for_each(|failure| write!(f, "\n{failure}"))
    }
}

/// Checks all cases of a file (or those that `PELTON_CASE` names) against the shell, as many at a time as there are cores:
/// a topic that takes long must not keep the others waiting at the end.
pub fn check_topic(path: &Path, subject: &Subject) -> Result<Findings> {
    let wanted = std::env::var("PELTON_CASE").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|name| !name.is_empty()).collect();
    let topic = load_topic(path)?;
    let is_wanted = |case: &&Case| wanted.is_empty() || wanted.contains(&case.name.as_str());
    let cases: Vec<&Case> = topic.cases.iter().filter(is_wanted).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut findings = Findings::default();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            check_case(case, subject, &mut findings)?;
        }
        Ok(findings)
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let found: Vec<Result<Findings>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker that does not panic")).collect()
    });
    let mut all = Findings::default();
    for findings in found {
        let Findings { checked, failures } = findings?;
        all.checked += checked;
        all.failures.extend(failures);
    }
    Ok(all)
}

/// Checks one case under each of its shells and modes. The shell runs it once.
pub fn check_case(case: &Case, subject: &Subject, findings: &mut Findings) -> Result<()> {
    let world = World::new()?;
    for shell in &case.shells {
        let mut expected = Outcome::of(case, shell, &Subject::Shell, Mode::Run, &world)?;
        for mode in &case.modes {
            let asked = case.statuses && *mode == Mode::Time && matches!(subject, Subject::Pelton(_));
            expected.statuses = if asked { Some(Outcome::statuses_by_shell(case, &world)?) } else { None };
            let actual = Outcome::of(case, shell, subject, *mode, &world)?;
            let differences = compare(case, &expected, &actual);
            findings.checked += 1;
            findings.failures.extend(verdict(case, shell, *mode, &differences));
        }
    }
    Ok(())
}

fn verdict(case: &Case, shell: &str, mode: Mode, differences: &[String]) -> Option<String> {
    let head = format!("{} ({shell}, {})", case.name, format!("{mode:?}").to_lowercase());
    match (case.known_difference(mode), differences) {
        (None, []) | (Some(_), [_, ..]) => None,
        (Some(reason), []) => {
            Some(format!("{head}: no longer differs; remove its mark: known = {reason:?}\n"))
        }
        (None, differences) => {
            let text = case.text.trim_end().replace('\n', "\n    | ");
            Some(format!("{head}\n    | {text}\n    - {}\n", differences.join("\n    - ")))
        }
    }
}
