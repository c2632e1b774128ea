//! Splits a command without a kernel that treats lines independently into several processes, each over some
//! of the lines.
//!
//! Correctness: for a run of whole lines the command prints what it would print for them in the middle of its
//! input ([`pelton_commands::stateless`]), so its outputs over consecutive runs of lines, concatenated, are
//! its output. Whether it pays is measured at run time, on the first part of its input.

use crate::graph::{Candidate, Decision, Outcome, Planned, Surroundings, Switches};
use pelton_commands::stateless::{NOT_KNOWN, Stateless};
use pelton_commands::{Accept, Declined, Facts, Input};

/// The name that disables it.
pub(crate) const NAME: &str = "split-stateless";

/// Its summary.
pub(crate) const SUMMARY: &str = "a command without a kernel that treats each line by itself runs as several processes, while cores are idle";

const FIRED: &str = "each line is treated by itself: several processes may share them, while cores are idle and if the \
                     first lines show that it pays";

/// Returns, for each stage that stays a process and may run as several, its properties; and the decisions.
pub(crate) fn parts(
    candidates: &[Candidate],
    verdicts: &[Accept<&Facts>],
    surroundings: &Surroundings,
    switches: &Switches,
) -> (Vec<Option<Stateless>>, Vec<Decision>) {
    let mut decisions = Vec::new();
    let parts = (0..candidates.len()).map(|at| {
        if verdicts[at].is_ok() || !switches.is_on(NAME) {
            return None;
        }
        let judged = judge(candidates, at, surroundings);
        let outcome = match &judged {
            Ok(_) => Outcome::Fired(FIRED.to_owned()),
            Err(declined) if declined.reason == NOT_KNOWN => return None,
            Err(declined) => Outcome::Declined(declined.reason.clone()),
        };
        decisions.push(decision(at, outcome));
        judged.ok()
    });
    (parts.collect(), decisions)
}

fn decision(stage: usize, outcome: Outcome) -> Decision {
    Decision { name: NAME.to_owned(), stages: stage..stage + 1, outcome, saves_ns_per_byte: None }
}

fn judge(candidates: &[Candidate], at: usize, surroundings: &Surroundings) -> Accept<Stateless> {
    let candidate = &candidates[at];
    let stateless = candidate.stateless.clone()?;
    let first = at == 0;
    let last = at + 1 == candidates.len();
    let from_file = candidate.redirects_stdin || stateless.input != Input::Stdin;
    if candidate.redirects_stdin && stateless.input != Input::Stdin {
        return Declined::because("it does not read the file that is its standard input");
    }
    if !first && from_file {
        return Declined::because("it does not read the pipe, and what feeds it must see that");
    }
    if !last && candidate.redirects_stdout {
        return Declined::because("its output goes into a file, and nothing into the pipe after it");
    }
    for behind in &candidates[at + 1..] {
        match behind.facts() {
            Some(facts) if facts.stops_early() => {
                return Declined::because("its reader may leave early, and all ends then");
            }
            Some(facts) if facts.output.blocks_until_eof => break,
            None if surroundings.pipefail => {
                return Declined::because(
                    "its status under pipefail depends on how much is read by what comes behind it",
                );
            }
            _ => {}
        }
    }
    Ok(stateless)
}

impl Planned {
    /// Declines to split a stage, for a caller that knows more of its input than the planner.
    pub fn decline_parts(&mut self, stage: usize, reason: &str) {
        if self.parts.get_mut(stage).and_then(Option::take).is_none() {
            return;
        }
        let of_stage = |decision: &&mut Decision| decision.name == NAME && decision.stages.start == stage;
        if let Some(decision) = self.decisions.iter_mut().find(of_stage) {
            decision.outcome = Outcome::Declined(reason.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Switches;
    use crate::testing::{planned, reasons};

    const HEAVY: &str = "sed -E 's/(.*)-\\1/x/'";

    fn split(text: &str) -> Vec<usize> {
        let planned = planned(text, false, &Switches::default());
        (0..planned.parts.len()).filter(|at| planned.parts[*at].is_some()).collect()
    }

    #[test]
    fn what_has_no_kernel_and_knows_only_lines() {
        assert_eq!(split(&format!("{HEAVY} f | sort")), [0]);
        assert_eq!(split(&format!("nosuch | {HEAVY} | nosuch")), [1]);
        assert_eq!(split("grep -P x f | grep -P y | sort -u"), [0, 1]);
        assert_eq!(split(&format!("{HEAVY} < f > g")), [0]);
        // It has a kernel.
        assert_eq!(split("nosuch | sed s/a/b/"), [0; 0]);
    }

    #[test]
    fn reasons_against_it() {
        let name = "split-stateless";
        for (text, reason) in [
            (format!("cat f | {HEAVY} g"), "it does not read the pipe, and what feeds it must see that"),
            (format!("{HEAVY} | head -n 1"), "its reader may leave early, and all ends then"),
            (format!("{HEAVY} | nl | head -n 1"), "its reader may leave early, and all ends then"),
            ("sed 'N;s/\\(.\\)\\1/x/;P' f".to_owned(), "N reads the next line as well"),
        ] {
            assert_eq!(reasons(&text, name), [reason], "{text}");
        }
        assert_eq!(split(&format!("{HEAVY} | sort | head -n 1")), [0]);
        let off = Switches { without: vec![name.to_owned()], ..Switches::default() };
        assert!(planned(HEAVY, false, &off).parts[0].is_none());
        let mut planned = planned(&format!("{HEAVY} | nosuch"), true, &Switches::default());
        assert!(planned.parts[0].is_none());
        planned.decline_parts(0, "nothing");
        assert!(planned.explain(crate::Drawing { unicode: true, width: 200 }).contains("under pipefail"));
    }
}
