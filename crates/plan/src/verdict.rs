//! Native or process: a stage's own conditions and those of its position.

use crate::graph::{Candidate, Surroundings, Switches};
use pelton_commands::{Accept, Accepted, Class, Declined, Facts, Input};
use std::sync::Arc;

/// Returns the verdict on each stage: it runs natively, with these facts, or stays a process for a reason.
pub(crate) fn verdicts<'a>(
    candidates: &'a [Candidate],
    surroundings: &Surroundings,
    switches: &Switches,
) -> Vec<Accept<&'a Facts>> {
    let judge = |(at, candidate)| {
        let accepted = own(candidate, switches)?;
        place(candidate, at == 0, at + 1 == candidates.len())?;
        Ok(&accepted.facts)
    };
    let mut verdicts: Vec<Accept<&'a Facts>> = candidates.iter().enumerate().map(judge).collect();
    if surroundings.pipefail || surroundings.ignores_sigpipe {
        let reason = match surroundings.pipefail {
            true => "a status under pipefail depends on how much is read before the end",
            false => {
                "SIGPIPE is ignored, and what is complained of depends on how much is read before the end"
            }
        };
        keep_statuses(candidates, &mut verdicts, reason);
    }
    if surroundings.ignores_sigpipe {
        keep_complaints(candidates, &mut verdicts, surroundings.prints_to_a_stranger);
    }
    keep_shared_input(candidates, &mut verdicts);
    keep_copies(candidates, &mut verdicts);
    keep_diagnostics(candidates, &mut verdicts);
    keep_spawners(candidates, &mut verdicts);
    keep_orders(candidates, &mut verdicts);
    verdicts
}

/// Checks a stage's own conditions.
fn own<'a>(candidate: &'a Candidate, switches: &Switches) -> Accept<&'a Accepted> {
    let accepted = candidate.command.as_ref().map_err(|declined| {
        // The decision names the command already.
        let reason = declined.reason.strip_prefix(candidate.name.as_str());
        Declined::new(reason.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&declined.reason))
    })?;
    if !switches.is_on(&candidate.name) {
        return Declined::because("switched off");
    }
    match accepted.command.kernel() {
        Err(declined)
            if accepted.command.join_kernel().is_err() && accepted.facts.output.copies.is_none() =>
        {
            Err(declined)
        }
        _ => Ok(accepted),
    }
}

/// Checks the conditions of its position.
fn place(candidate: &Candidate, first: bool, last: bool) -> Accept<()> {
    let reads_stdin = candidate.inputs().contains(&Input::Stdin);
    if candidate.redirects_stdout && !last {
        return Declined::because("its output goes into a file, and nothing into the pipe after it");
    }
    if candidate.redirects_stdin && !reads_stdin {
        return Declined::because("it does not read the file that is its standard input");
    }
    if !first && (candidate.redirects_stdin || !reads_stdin) {
        return Declined::because("it does not read the pipe, and what feeds it must see that");
    }
    Ok(())
}

/// Keeps processes whose status depends on timing. Under pipefail the status of every stage shows. SIGPIPE
/// may end a stage whose reader stops early, depending on how much either of them moves at a time; native
/// stages move more. So these stay processes: the stage that stops, and its upstream back to a stage that
/// reads to the end before it prints: what that one ends with depends on whether the pipe holds all of it, and hardly
/// on how much it writes at a time. Before a stage that reads nothing that one stays a process too: its first write
/// comes before the reader has ended, or behind (docs/design/native-passes.md).
fn keep_statuses(candidates: &[Candidate], verdicts: &mut [Accept<&Facts>], reason: &'static str) {
    let is = |at: usize, ask: fn(&Facts) -> bool| candidates[at].facts().is_some_and(ask);
    let blocks = |at: usize| is(at, |facts| facts.output.blocks_until_eof);
    let first_fed = usize::from(!candidates[0].reads_a_stage_outside);
    for stopper in first_fed..verdicts.len() {
        let reads_nothing = candidates[stopper].ends_without_reading;
        if !reads_nothing && !is(stopper, Facts::stops_early) {
            continue;
        }
        let until = (0..stopper).rev().find(|at| blocks(*at));
        let first = until.map_or(0, |at| if reads_nothing && at + 1 == stopper { at } else { at + 1 });
        for verdict in verdicts[first..=stopper].iter_mut().filter(|verdict| verdict.is_ok()) {
            *verdict = Declined::because(reason);
        }
    }
}

/// Keeps processes that would complain where SIGPIPE is ignored: those that print to a reader which may leave early, back to a stage
/// that reads to the end first. Some tools end at once when a pipe is broken, and those before them complain too; others
/// read on.
fn keep_complaints(candidates: &[Candidate], verdicts: &mut [Accept<&Facts>], prints_to_a_stranger: bool) {
    let may_leave = |at: usize| match candidates.get(at) {
        None => prints_to_a_stranger,
        Some(reader) => reader.facts().is_none(),
    };
    let blocks = |at: &usize| candidates[*at].facts().is_some_and(|facts| facts.output.blocks_until_eof);
    for reader in (1..=candidates.len()).filter(|at| may_leave(*at)) {
        let first = (0..reader).rev().find(blocks).map_or(0, |blocking| blocking + 1);
        for verdict in verdicts[first..reader].iter_mut().filter(|verdict| verdict.is_ok()) {
            *verdict = Declined::because(
                "SIGPIPE is ignored, and what it says if its reader leaves depends on the moment",
            );
        }
    }
}

/// Keeps processes that share their input. A stage that reads an input that others may read on from must
/// leave it where the real command would. A stage that reads to the end does. One that stops early does not,
/// as native blocks are larger; nor does its feeder in the same pass: the real one continues to read until
/// its write fails.
fn keep_shared_input(candidates: &[Candidate], verdicts: &mut [Accept<&Facts>]) {
    let shares = |at: usize| {
        let candidate = &candidates[at];
        candidate.shares_stdin && candidate.inputs().contains(&Input::Stdin)
    };
    for stopper in 0..verdicts.len() {
        if !verdicts[stopper].as_ref().is_ok_and(|facts| facts.stops_early()) {
            continue;
        }
        let feeds = |at: &usize| {
            verdicts[*at].as_ref().is_ok_and(|facts| *at == stopper || !facts.output.blocks_until_eof)
        };
        if (0..=stopper).rev().take_while(feeds).any(shares) {
            let reason = "it may stop early, and others may read on from where the standard input is left";
            verdicts[stopper] = Declined::because(reason);
        }
    }
}

/// Keeps a command that also writes files (`tee`, an awk) a process if a later reader may end early. Its files otherwise
/// get everything; how much they get then is a race, which the real command must run itself.
fn keep_copies(candidates: &[Candidate], verdicts: &mut [Accept<&Facts>]) {
    for at in 0..verdicts.len() {
        if !verdicts[at].as_ref().is_ok_and(|facts| facts.output.goes_to_files_too()) {
            continue;
        }
        let mut behind = candidates[at + 1..].iter().map(Candidate::facts);
        let reason = loop {
            match behind.next() {
                None => break None,
                Some(None) => {
                    break Some("what reads it may leave early, and how much its files hold then is a race");
                }
                Some(Some(facts)) if facts.stops_early() => {
                    break Some("what reads it leaves early, and how much its files hold then is a race");
                }
                Some(Some(facts)) if facts.output.blocks_until_eof => break None,
                Some(Some(_)) => {}
            }
        };
        if let Some(reason) = reason {
            verdicts[at] = Declined::because(reason);
        }
    }
}

/// Keeps processes whose diagnostics depend on timing. A join reports at its end what it found in the middle,
/// and rev reports at once what it cannot read, while its output is still buffered. Whether they live to do
/// so depends on when their reader ends, and on how much they write at a time.
fn keep_diagnostics(candidates: &[Candidate], verdicts: &mut [Accept<&Facts>]) {
    for at in 0..verdicts.len() {
        let Ok(native) = &verdicts[at] else { continue };
        let is_join = matches!(native.class, Class::Join) && candidates[at].name != "paste";
        let checks = is_join && candidates[at].args.iter().all(|arg| arg != b"--nocheck-order");
        // Damage is reported where it is met, which may be behind what a reader wants.
        let meets_damage = native.input.reads_again.is_some();
        if !checks && !meets_damage && !native.diagnostics.overtake_output {
            continue;
        }
        // grep -q does both: it prints nothing before its end, and may end early. An xargs ends early only on
        // an error, soon or late depending on its lists: a race in any case.
        let known = candidates[at + 1..].iter().filter_map(Candidate::facts);
        let mut behind = known.filter(|facts| facts.child.is_none());
        let decides = behind.find(|facts| facts.stops_early() || facts.output.blocks_until_eof);
        if decides.is_some_and(Facts::stops_early) {
            let reason = "what it complains of depends on when its reader leaves";
            verdicts[at] = Declined::because(reason);
        }
    }
}

/// Keeps processes that start a program. If its reader ends early, xargs (or find -exec) sees SIGPIPE end the
/// program it runs, reports it, and ends with its own status; a kernel in the middle just ends. So a later
/// stage must read everything before it prints, and nothing between them may end earlier; or it is the last
/// stage, and runs a program other than echo: its worker then reports it too.
fn keep_spawners(candidates: &[Candidate], verdicts: &mut [Accept<&Facts>]) {
    for at in 0..verdicts.len() {
        let Some(child) = verdicts[at].as_ref().ok().and_then(|facts| facts.child.as_ref()) else { continue };
        let is_last = at + 1 == candidates.len();
        if is_last && child.name != "echo" {
            continue;
        }
        let reader = candidates.get(at + 1).and_then(Candidate::facts);
        if child.starts_often && reader.is_some_and(|facts| facts.input.depends_on_reads) {
            let reason = "what it starts prints piece by piece, and what reads that can tell";
            verdicts[at] = Declined::because(reason);
            continue;
        }
        let mut readers = candidates[at + 1..].iter().map_while(|candidate| {
            let facts = candidate.facts().filter(|facts| takes_the_pipe(candidate, facts))?;
            Some(facts.output.blocks_until_eof)
        });
        if candidates[at].redirects_stdout || !readers.any(|blocks| blocks) {
            let reason =
                "it says something if its reader leaves, and nothing behind it reads to the end first";
            verdicts[at] = Declined::because(reason);
        }
    }
}

/// Lets commands whose order would show print in the real order, where that is known.
pub(crate) fn put_in_order(candidates: &mut [Candidate]) {
    for at in 0..candidates.len() {
        if let Ok(accepted) = &candidates[at].command
            && accepted.facts.output.order_is_unspecified
            && !is_sorted(candidates, at)
            && let Some(command) = accepted.command.in_real_order()
        {
            candidates[at].command = Ok(Arc::new(Accepted::new(command)));
        }
    }
}

/// Keeps awk a process if its array order could show, and is not known.
fn keep_orders(candidates: &[Candidate], verdicts: &mut [Accept<&Facts>]) {
    for (at, verdict) in verdicts.iter_mut().enumerate() {
        let has_own_order = verdict.as_ref().is_ok_and(|facts| facts.output.order_is_unspecified);
        if has_own_order && !is_sorted(candidates, at) {
            let reason =
                "it prints in the order in which it keeps an array, and nothing sorts what it prints";
            *verdict = Declined::because(reason);
        }
    }
}

/// Whether a later stage sorts the lines of this one, natively or not.
fn is_sorted(candidates: &[Candidate], at: usize) -> bool {
    candidates.get(at + 1).is_some_and(|reader| candidates[at].is_sorted_by(reader))
}

/// Whether it reads the whole pipe before it, and nothing else that might make it fail.
fn takes_the_pipe(candidate: &Candidate, facts: &Facts) -> bool {
    let side_by_side = matches!(facts.class, Class::Join);
    let reads_pipe = candidate.inputs() == [Input::Stdin] && !candidate.redirects_stdin;
    reads_pipe && !facts.stops_early() && !facts.output.writes_files() && !side_by_side
}

#[cfg(test)]
mod tests {
    use crate::Switches;
    use crate::testing::{plan_text, planned, reasons, text_of, under_pipefail, without_sigpipe};

    #[test]
    fn neighbours_run_in_one_pass() {
        assert_eq!(plan_text("tr -s a | sort -u"), "native { tr -s a ; sort -u }");
        assert_eq!(
            plan_text("nosuch | tr -s a | sort -u | nosuch"),
            "nosuch | native { tr -s a ; sort -u } | nosuch"
        );
    }

    #[test]
    fn what_is_not_understood_is_a_process_and_says_why() {
        assert_eq!(reasons("tail -f x", "tail"), ["following a file"]);
        assert_eq!(reasons("nosuch", "nosuch"), ["pelton has no native nosuch"]);
        assert_eq!(
            reasons("find . -mmin 1", "find"),
            ["a test depends on the current time or on another file"]
        );
        let gathers = "it runs rm once it has gathered all items, or as many as fit an argument list";
        assert_eq!(reasons("find . | xargs rm", "xargs"), [gathers]);
    }

    #[test]
    fn only_the_first_of_a_pass_reads_files() {
        assert_eq!(plan_text("sort f | cat -n - g | nl"), "native { sort f } | native { cat -n - g ; nl }");
        let reason = "it does not read the pipe, and what feeds it must see that";
        for (text, plan) in [
            ("sort f | tac g | nl", "native { sort f } | tac g | native { nl }"),
            ("sort f | seq 3 | nl", "native { sort f } | seq 3 | native { nl }"),
            ("sort f | tac < g | nl", "native { sort f } | tac | native { nl }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
            let name = text.split(' ').nth(3).unwrap_or_default();
            assert_eq!(reasons(text, name), [reason], "{text}");
        }
        assert_eq!(plan_text("sort f < g"), "sort f");
        assert_eq!(plan_text("sort > f | nl"), "sort | native { nl }");
        assert_eq!(plan_text("sort f | nl > g"), "native { sort f ; nl }");
    }

    #[test]
    fn what_reads_side_by_side_begins_a_pass() {
        for (text, plan) in [
            ("paste f g | nl", "native { paste f g ; nl }"),
            ("sort f | comm - g | nl", "native { sort f } | native { comm - g ; nl }"),
            ("cat f | comm g -", "cat f | native { comm g - }"),
            ("sort f | comm f g | nl", "native { sort f } | comm f g | native { nl }"),
            // It may stop at the first line out of order, and others may read on.
            ("comm --check-order - g", "comm --check-order - g"),
            ("comm - g", "native { comm - g }"),
            ("comm f g | nl | head -n 1", "comm f g | native { nl ; head -n 1 }"),
            ("comm --nocheck-order f g | head -n 1", "native { comm --nocheck-order f g ; head -n 1 }"),
            ("paste f g | head -n 1", "native { paste f g ; head -n 1 }"),
            ("comm f g | tac | head -n 1", "native { comm f g ; tac ; head -n 1 }"),
            ("comm f g | grep -q x", "comm f g | native { grep -q x }"),
            ("join - g", "join - g"),
            ("join -a 1 -a 2 - g", "native { join -a 1 -a 2 - g }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }

    #[test]
    fn rev_is_native_where_its_reader_stays() {
        for (text, plan) in [
            ("nosuch | rev | cut -c 2-", "nosuch | native { rev ; cut -c 2- }"),
            ("nosuch | rev | head -c 40", "nosuch | rev | native { head -c 40 }"),
            ("nosuch | rev | nl | head", "nosuch | rev | native { nl ; head }"),
            ("nosuch | rev | tac | head", "nosuch | native { rev ; tac ; head }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }

    #[test]
    fn xargs_is_native_where_its_reader_stays() {
        for (text, plan) in [
            ("nosuch | xargs -n 1 | sort", "nosuch | native { xargs -n 1 ; sort }"),
            ("nosuch | xargs -n 1 | nl | wc > f", "nosuch | native { xargs -n 1 ; nl ; wc }"),
            ("nosuch | xargs -n 1 echo x | tac | head", "nosuch | native { xargs -n 1 echo x ; tac ; head }"),
            ("nosuch | xargs wc -l", "nosuch | native { xargs wc -l }"),
            ("nosuch | xargs cat | head", "nosuch | xargs cat | native { head }"),
            ("find . | xargs cat | sort", "native { find . ; xargs cat ; sort }"),
            ("find . -type f -exec cat {} +", "native { find . -type f -exec cat '{}' + }"),
            ("find . -type f -exec cat {} + | sort", "native { find . -type f -exec cat '{}' + ; sort }"),
            ("find . -type f -exec cat {} + | head", "find . -type f -exec cat '{}' + | native { head }"),
            // A process for a list of files costs little.
            ("find . -type f -exec grep x {} +", "find . -type f -exec grep x '{}' +"),
            (
                "find . -type f -exec grep x {} + | sort",
                "native { find . -type f -exec grep x '{}' + ; sort }",
            ),
            // At a NUL in one of the files, grep has read parts of earlier files.
            ("nosuch | xargs -n 1 cat | grep x | sort", "nosuch | xargs -n 1 cat | native { grep x ; sort }"),
            (
                "nosuch | xargs cat | grep x | sort",
                "nosuch | native { xargs cat } | native { grep x ; sort }",
            ),
            // Writing to a file or a terminal may fail, and the next reader is not known.
            ("nosuch | xargs -n 1", "nosuch | xargs -n 1"),
            ("nosuch | xargs -n 1 | cat", "nosuch | xargs -n 1 | cat"),
            ("nosuch | xargs -n 1 | nl | head", "nosuch | xargs -n 1 | native { nl ; head }"),
            ("nosuch | xargs -n 1 | nosuch | sort", "nosuch | xargs -n 1 | nosuch | native { sort }"),
            ("nosuch | xargs -n 1 | sort - g", "nosuch | xargs -n 1 | native { sort - g }"),
            ("nosuch | xargs -n 1 | sort < f", "nosuch | xargs -n 1 | sort"),
            // It may stop at an unmatched quote, and others may read on.
            ("xargs -n 1 | sort", "xargs -n 1 | native { sort }"),
            ("xargs -n 1 < f | sort", "native { xargs -n 1 ; sort }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }

    #[test]
    fn awk_prints_an_array_natively_where_it_is_sorted() {
        let counts = "awk '{c[NF]++}END{for(k&in&c)print(c[k])}' f".replace('&', "\t");
        let other = "it prints in the order in which it keeps an array, and nothing sorts what it prints";
        for (behind, native) in [
            ("sort -rn", true),
            ("sort -k2", true),
            ("sort -u", false),
            ("sort -s -k2", false),
            ("nl", false),
            ("head", false),
        ] {
            let text = format!("{counts} | {behind}");
            assert_eq!(reasons(&text, "awk").as_slice() != [other], native, "{text}");
            assert_eq!(plan_text(&text).starts_with("native { awk"), native, "{text}");
        }
        assert_eq!(reasons(&counts, "awk"), [other]);
        // The order of keys that are text is known.
        let known = counts.replace("NF", "$1");
        assert_eq!(plan_text(&format!("{known} | nl")).matches("native").count(), 1);
    }

    #[test]
    fn tee_is_native_where_its_files_get_everything() {
        for (text, plan) in [
            ("sort f | tee g | nl", "native { sort f ; tee g ; nl }"),
            ("sort f | tee -a g h", "native { sort f ; tee -a g h }"),
            ("sort f | tee g | head -n 1", "native { sort f } | tee g | native { head -n 1 }"),
            ("sort f | tee g | tac | head -n 1", "native { sort f ; tee g ; tac ; head -n 1 }"),
            ("sort f | tee g | nosuch", "native { sort f } | tee g | nosuch"),
            ("nosuch | tee g | nosuch", "nosuch | tee g | nosuch"),
            ("tee g", "native { tee g }"),
            ("cat f | tee g | nl", "native { cat f ; tee g ; nl }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }

    #[test]
    fn a_shared_input_is_left_where_the_real_command_leaves_it() {
        for (text, plan) in [
            ("head -n 1", "head -n 1"),
            ("head -n 1 f", "native { head -n 1 f }"),
            ("head -n 1 < f", "native { head -n 1 }"),
            ("sort -C", "sort -C"),
            ("tr -s a | head -n 1", "native { tr -s a } | head -n 1"),
            // tac reads to the end before it prints.
            ("tac | tr -s a | head -n 1", "native { tac ; tr -s a ; head -n 1 }"),
            ("nosuch | head -n 1", "nosuch | native { head -n 1 }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }

    #[test]
    fn under_pipefail_what_is_cut_off_stays_real() {
        for (text, plan) in [
            ("tr -s a < f | head -n 1", "tr -s a | head -n 1"),
            ("nosuch | head -n 1 | nl", "nosuch | head -n 1 | native { nl }"),
            // sort may be ended while it prints; how much that is does not depend on how it writes.
            ("tr -s a < f | sort | nl | head -n 1", "native { tr -s a ; sort } | nl | head -n 1"),
            ("sort f | head -n 1 | nl", "native { sort f } | head -n 1 | native { nl }"),
            ("head -n 1 f | nl", "native { head -n 1 f ; nl }"),
            // true has ended before most programs print.
            ("tr -s a < f | sort | nl | true", "native { tr -s a ; sort } | nl | true"),
            ("tr -s a < f | sort | true", "native { tr -s a } | sort | true"),
            ("wc -l < f | true", "wc -l | true"),
            ("tr -s a < f | sort | uniq -c", "native { tr -s a ; [sort the distinct lines] }"),
        ] {
            assert_eq!(under_pipefail(text), plan, "{text}");
        }
    }

    #[test]
    fn where_sigpipe_is_ignored_what_may_complain_stays_real() {
        for (text, to_file, to_stranger) in [
            ("tr -s a < f | sort | head -n 1", "native { tr -s a ; sort } | head -n 1", ""),
            ("tr -s a < f | head -n 1", "tr -s a | head -n 1", ""),
            ("tr -s a < f | cut -c 1", "native { tr -s a ; cut -c 1 }", "tr -s a | cut -c 1"),
            ("tr -s a < f | sort", "native { tr -s a ; sort }", ""),
            ("tr -s a < f | sort | nl", "native { tr -s a ; sort ; nl }", "native { tr -s a ; sort } | nl"),
            ("sort f | nl | nosuch", "native { sort f } | nl | nosuch", ""),
            ("tr -s a < f | nl | nosuch", "tr -s a | nl | nosuch", ""),
        ] {
            assert_eq!(without_sigpipe(text, false), to_file, "{text}");
            let to_stranger = if to_stranger.is_empty() { to_file } else { to_stranger };
            assert_eq!(without_sigpipe(text, true), to_stranger, "{text}");
        }
    }

    #[test]
    fn a_copy_alone_stays_a_process() {
        for text in ["cat f", "cat f | nosuch", "nosuch | cat | nosuch", "cat"] {
            assert_eq!(plan_text(text), text);
        }
    }

    #[test]
    fn switches() {
        let off = |names: &[&str]| Switches {
            without: names.iter().map(|name| (*name).to_owned()).collect(),
            only: vec![],
        };
        for (text, switches, plan) in [
            ("sort f | nl", off(&["sort"]), "sort f | native { nl }"),
            ("sort f | uniq -c", off(&["sort-uniq"]), "native { sort f ; uniq -c }"),
            (
                "sort f | nl",
                Switches { without: vec![], only: vec!["nl".to_owned()] },
                "sort f | native { nl }",
            ),
        ] {
            assert_eq!(text_of(&planned(text, false, &switches)), plan);
        }
        assert_eq!(
            planned("sort f | nl", false, &off(&["sort"])).summary().segments[0].reason.as_deref(),
            Some("switched off")
        );
    }

    #[test]
    fn every_name_is_listed_once() {
        let mut names = crate::list_names();
        assert!(names.contains(&"sort") && names.contains(&"top-k"));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
