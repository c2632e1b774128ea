//! Native or process: the conditions that a stage must meet by itself and where it stands.

use crate::graph::{Candidate, Surroundings, Switches};
use pelton_commands::{Facts, Input};

/// What is decided about one stage.
pub(crate) enum Verdict {
    /// It may run natively. Known besides: what is true of it.
    Native(Box<Facts>),
    /// It stays a process, for this reason.
    Process(String),
}

impl Verdict {
    /// Its facts, if it runs natively.
    pub(crate) fn native(&self) -> Option<&Facts> {
        match self {
            Verdict::Native(facts) => Some(facts),
            Verdict::Process(_) => None,
        }
    }
}

/// The verdict on each stage.
pub(crate) fn verdicts(
    candidates: &[Candidate],
    surroundings: &Surroundings,
    switches: &Switches,
) -> Vec<Verdict> {
    let judge = |(at, candidate)| match own(candidate, switches).and_then(|facts| {
        let last = at + 1 == candidates.len();
        place(candidate, at == 0, last).map(|()| facts)
    }) {
        Ok(facts) => Verdict::Native(Box::new(facts)),
        Err(reason) => Verdict::Process(reason),
    };
    let mut verdicts: Vec<Verdict> = candidates.iter().enumerate().map(judge).collect();
    let knows = |candidate: &Candidate| candidate.command.as_ref().ok().map(|command| command.facts());
    let facts: Vec<Option<Facts>> = candidates.iter().map(knows).collect();
    if surroundings.pipefail {
        keep_statuses(&facts, &mut verdicts);
    }
    keep_shared_input(candidates, &mut verdicts);
    verdicts
}

/// What the stage must meet by itself.
fn own(candidate: &Candidate, switches: &Switches) -> Result<Facts, String> {
    let command = candidate.command.as_ref().map_err(|declined| {
        // The decision names the command already.
        let reason = declined.reason.strip_prefix(candidate.name.as_str());
        reason.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&declined.reason).to_owned()
    })?;
    if !switches.is_on(&candidate.name) {
        return Err("switched off".to_owned());
    }
    match command.kernel() {
        Ok(_) => Ok(command.facts()),
        Err(_) if command.join_kernel().is_ok() => Err("reads its inputs side by side".to_owned()),
        Err(declined) => Err(declined.reason),
    }
}

/// What the stage must meet where it stands.
fn place(candidate: &Candidate, first: bool, last: bool) -> Result<(), String> {
    let reads_stdin = inputs(candidate).contains(&Input::Stdin);
    if candidate.redirects_stdout && !last {
        return Err("its output goes into a file, and nothing into the pipe after it".to_owned());
    }
    if candidate.redirects_stdin && !reads_stdin {
        return Err("it does not read the file that is its standard input".to_owned());
    }
    if !first && (candidate.redirects_stdin || !reads_stdin) {
        return Err("it does not read the pipe, and what feeds it must see that".to_owned());
    }
    Ok(())
}

fn inputs(candidate: &Candidate) -> &[Input] {
    candidate.command.as_ref().map_or(&[], |command| command.inputs())
}

/// Under pipefail the status of every stage shows. One whose reader stops early is ended by SIGPIPE, or not, depending
/// on how much either of them moves at a time; native stages move more. So these stay processes: the one that stops,
/// and whatever feeds it up to one that reads to the end before it prints, whose own input nobody cuts.
fn keep_statuses(facts: &[Option<Facts>], verdicts: &mut [Verdict]) {
    let is = |at: usize, ask: fn(&Facts) -> bool| facts[at].as_ref().is_some_and(ask);
    for stopper in (1..verdicts.len()).filter(|&at| is(at, |facts| facts.stops_early)) {
        for at in (0..=stopper).rev() {
            if verdicts[at].native().is_some() {
                let reason = "a status under pipefail depends on how much is read before the end";
                verdicts[at] = Verdict::Process(reason.to_owned());
            }
            if at < stopper && is(at, |facts| facts.blocks_until_eof) {
                break;
            }
        }
    }
}

/// What reads an input that others may read on from must leave it where the real command would. One that reads to the
/// end does. One that stops early does not, as blocks of ours are larger; nor does one that feeds it in the same
/// pass: the real one goes on to read until its write fails.
fn keep_shared_input(candidates: &[Candidate], verdicts: &mut [Verdict]) {
    let shares = |at: usize| {
        let candidate = &candidates[at];
        candidate.shares_stdin && inputs(candidate).contains(&Input::Stdin)
    };
    for stopper in 0..verdicts.len() {
        if !verdicts[stopper].native().is_some_and(|facts| facts.stops_early) {
            continue;
        }
        let feeds = |at: &usize| {
            verdicts[*at].native().is_some_and(|facts| *at == stopper || !facts.blocks_until_eof)
        };
        if (0..=stopper).rev().take_while(feeds).any(shares) {
            let reason = "it may stop early, and others may read on from where the standard input is left";
            verdicts[stopper] = Verdict::Process(reason.to_owned());
        }
    }
}
