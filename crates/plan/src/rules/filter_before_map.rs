//! filter-before-map (P9): `tr a A | grep 00` → only lines with 00 are mapped.
//!
//! **Proof.** A filter prints some of its lines unchanged. If it keeps a line exactly if it keeps the mapped
//! line, then mapping its output equals filtering the mapped lines, byte by byte and in the same order, and
//! its status, whether it kept a line, is the same. Only less is mapped.
//!
//! **Conditions.** The filter itself declares that the map cannot change its verdict on any line. Line ends
//! are kept, and nothing becomes one. Text stays text for the filter, and nothing else becomes
//! text: the map makes and removes no NUL, and in a multibyte locale it changes only ASCII. If the filter falls
//! back at unsupported data, the real commands continue in their original order, so that data is filtered after the map.
//!
//! The other rewrites of this form, a filter before a map of whole lines (`cut`, `sed s/ab/c/`), would need
//! to know the neighbours of each byte in a line, which no command declares.

use super::{Rewrite, Rule, Site};
use crate::node::{MakeKernel, Node, Resume, Work};
use pelton_commands::{Accept, Accepted, ByteMap, ByteMapKernel, Charset, Class, Declined, Input, Locale};
use pelton_stream::{Flow, Framing, IoControl, Kernel, Notice, Outcome, Parallel, Peer, Sharing, known};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    name: "filter-before-map",
    summary: "tr a A | grep 00: only the lines that are kept are mapped",
    rewrite,
};

fn rewrite(first: &Node, second: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let map = first.byte_map()?;
    let Work::Own { stage, accepted } = &second.work else { return None };
    if map == ByteMap::identity() || !matches!(accepted.facts.class, Class::LineFilter) {
        return None;
    }
    let filter = site.stages[*stage].shown.clone();
    Some(judge(&map, accepted, site.locale_of(*stage)?).and_then(|()| {
        let node = Node {
            // A filter that reads the files itself could print their names.
            as_pipe: first.as_pipe || first.inputs != [Input::Stdin] || first.stages.start == 0,
            resume: resume(first, second, site)?,
            ..first.with(
                second,
                work(map, Arc::clone(accepted), filter.clone()),
                ns_per_byte(first, second, site),
            )
        };
        let gain = format!("only what {filter} keeps is mapped; no byte that it looks at is touched");
        Ok(Rewrite::one(node, gain))
    }))
}

fn judge(map: &ByteMap, filter: &Accepted, locale: &Locale) -> Accept<()> {
    let facts = &filter.facts;
    let (creates, removes) = (map.creates(), map.removes());
    if facts.stops_early() {
        return Declined::because("the filter may stop early");
    }
    if creates.contains(facts.record_end) || removes.contains(facts.record_end) {
        return Declined::because("the map changes what ends a line");
    }
    if creates.contains(0) || removes.contains(0) {
        return Declined::because("the map makes or removes NULs, and text with NULs is no text to a filter");
    }
    let one_byte = locale.ctype == Charset::C;
    if !one_byte && creates.union(&removes).iter().any(|byte| !byte.is_ascii()) {
        return Declined::because("the map changes bytes of characters that have several");
    }
    if !filter.command.keeps_same_lines_after(map) {
        return Declined::because("the filter may look at bytes that the map changes");
    }
    Ok(())
}

/// The filter reads everything, the map only what it keeps.
fn ns_per_byte(map: &Node, filter: &Node, site: &Site) -> Option<f64> {
    let kept = site.stages[filter.stages.start].rate?.passes;
    Some(filter.ns_per_byte? + kept * map.ns_per_byte?)
}

/// Returns the real commands in their original order.
fn resume(map: &Node, filter: &Node, site: &Site) -> Accept<Vec<Resume>> {
    let maps = site.real_maps(map);
    match (maps.is_empty(), filter.resume.is_empty()) {
        (_, true) => Ok(Vec::new()),
        (true, false) => Declined::because("nothing real could go on with the map if the filter hands over"),
        (false, false) => Ok([maps, filter.resume.clone()].concat()),
    }
}

fn work(map: ByteMap, filter: Arc<Accepted>, shown: String) -> Work {
    let make: MakeKernel = Arc::new(move || {
        Ok(Box::new(FilterThenMap {
            filter: filter.command.kernel()?,
            map: ByteMapKernel::new(&map),
            kept: Vec::new(),
        }))
    });
    Work::Made { make, label: format!("{shown}, and then the map"), groups: None }
}

/// A filter, followed by a map of its output.
struct FilterThenMap {
    filter: Box<dyn Kernel>,
    map: ByteMapKernel,
    /// The filter's output. Empty between calls.
    kept: Vec<u8>,
}

impl FilterThenMap {
    /// Calls the filter once. Its output before a fallback is mapped too.
    fn step(
        &mut self,
        call: impl FnOnce(&mut dyn Kernel, &mut Vec<u8>) -> Outcome,
        out: &mut Vec<u8>,
    ) -> Outcome {
        let outcome = call(self.filter.as_mut(), &mut self.kept);
        if !self.kept.is_empty() {
            self.map.push(&self.kept, out)?;
            self.kept.clear();
        }
        outcome
    }
}

impl Kernel for FilterThenMap {
    fn framing(&self) -> Framing {
        self.filter.framing()
    }

    fn notice(&mut self, notice: Notice<'_>) {
        self.filter.notice(notice);
    }

    fn begin_input(&mut self, name: Option<&[u8]>, _out: &mut Vec<u8>) {
        // A line filter prints nothing here.
        self.filter.begin_input(name, &mut self.kept);
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.step(|filter, kept| filter.push(block, kept), out)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.step(|filter, kept| filter.end_input(kept), out)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.step(|filter, kept| filter.finish(kept), out)
    }

    fn messages(&mut self) -> Vec<u8> {
        self.filter.messages()
    }

    fn status(&self) -> i32 {
        self.filter.status()
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        if self.filter.io_control().is_some() { Some(self) } else { None }
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        if self.filter.parallel().is_some() { Some(self) } else { None }
    }
}

/// The map changes the output, and the filter gets its input as blocks.
impl IoControl for FilterThenMap {
    fn ignores_epipe(&mut self) -> bool {
        self.filter.io_control().is_some_and(|io| io.ignores_epipe())
    }
}

impl Parallel for FilterThenMap {
    fn fork(&mut self) -> Option<Peer> {
        let peer = self.filter.parallel()?.fork().filter(|peer| peer.share == Sharing::Blocks)?;
        let kernel = FilterThenMap { filter: peer.kernel, map: self.map.clone(), kept: Vec::new() };
        Some(Peer { kernel: Box::new(kernel), ..peer })
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        if let (Some(peer), Some(filter)) = (known::<FilterThenMap>(peer), self.filter.parallel()) {
            filter.merge(peer.filter);
        }
    }

    fn take_printed_bytes(&mut self) -> u64 {
        self.filter.parallel().map_or(0, |filter| filter.take_printed_bytes())
    }

    fn pass(&mut self, read: u64, printed: u64, out: &mut Vec<u8>) {
        // The map takes all bytes.
        let _ = self.step(
            |filter, kept| {
                if let Some(filter) = filter.parallel() {
                    filter.pass(read, printed, kept);
                }
                Ok(Flow::More)
            },
            out,
        );
    }

    fn keeps_records_whole(&mut self, end: u8) -> bool {
        let keeps = self.filter.parallel().is_some_and(|filter| filter.keeps_records_whole(end));
        keeps && self.map.keeps_records_whole(end)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, in_utf8, node_kernel, plan_text, reasons, resume_of};
    use pelton_stream::HandOver;

    // `keep TEXT` is a fixed-string filter for tests; it falls back at `!`.

    #[test]
    fn a_map_that_the_filter_does_not_see() {
        for (text, plan) in [
            ("tr a A < f | keep 00", "native { [keep 00, and then the map] < - }"),
            ("cat f | tr a A | keep 00", "native { [keep 00, and then the map] < f }"),
            ("seq 9 | tr a A | tr b B | keep 00", "native { seq 9 ; [keep 00, and then the map] }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }

    #[test]
    fn lookalikes_stay() {
        let seen = "the filter may look at bytes that the map changes";
        let ends = "the map changes what ends a line";
        for (text, reason) in [
            // It searches for what the map makes, or removes.
            ("tr a 0 < f | keep 00", seen),
            ("tr 0 a < f | keep 00", seen),
            ("tr a-z A-Z < f | keep B", seen),
            ("tr a-z A-Z < f | keep b", seen),
            ("tr 0a a0 < f | keep a", seen),
            // A deleted byte may have been between.
            ("tr -d a < f | keep 00", seen),
            ("tr -cd 0 < f | keep 00", ends),
            // Line ends.
            ("tr a '\\n' < f | keep 00", ends),
            ("tr '\\n' _ < f | keep 00", ends),
            ("tr -d '\\n' < f | keep 00", ends),
            // NULs.
            (
                "tr a '\\0' < f | keep 00",
                "the map makes or removes NULs, and text with NULs is no text to a filter",
            ),
            (
                "tr -d '\\0' < f | keep 00",
                "the map makes or removes NULs, and text with NULs is no text to a filter",
            ),
            // One map commutes, the other does not.
            ("tr a A < f | tr b 0 | keep 00", seen),
        ] {
            assert_eq!(reasons(text, "filter-before-map"), [reason], "{text}");
        }
    }

    #[test]
    fn what_is_no_byte_map_or_no_filter_is_no_case() {
        for text in [
            "tr -s a < f | keep 00",
            "keep 00 < f | tr a A",
            "tr a A < f | tail -n 1",
            "tr a A < f | sort | keep 00",
            "cut -c 1 < f | keep 00",
            "cat < f | keep 00",
        ] {
            assert_eq!(reasons(text, "filter-before-map"), [""; 0], "{text}");
            assert!(!plan_text(text).contains("and then the map"), "{text}");
        }
    }

    #[test]
    fn characters_of_several_bytes() {
        let high = "tr '\\303' '\\304' < f | keep 00";
        assert_eq!(reasons(high, "filter-before-map"), [""; 0]);
        assert!(in_utf8(high).starts_with("native { tr "), "{}", in_utf8(high));
        assert!(in_utf8("tr a A < f | keep 00").contains("and then the map"));
    }

    #[test]
    fn the_real_commands_go_on_in_their_own_order() {
        let text = "tr a A < f | tr b B | keep 00";
        assert_eq!(resume_of(text), [(0, "a A"), (1, "b B"), (2, "00")].map(|(s, a)| (s, a.to_owned())));
        let mut kernel = node_kernel(text);
        let mut out = Vec::new();
        let outcome = kernel.push(b"a00\nab\n!\n00b\n", &mut out);
        assert_eq!(outcome, Err(HandOver::at(7, "a mark")));
        assert_eq!(out, b"A00\n");
    }

    #[test]
    fn the_output_is_the_same() {
        for text in ["tr a A < f | keep b", "cat f | tr a-f A-F | keep 9", "tr '\\377' x < f | keep 'y'"] {
            assert_same(text);
        }
    }
}
