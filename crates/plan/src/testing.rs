//! Test helpers: pipelines as text, plans as text, and both run in memory.

use crate::graph::{Candidate, Outcome, Planned, Segment, Surroundings, Switches};
use crate::node::Node;
use crate::plan;
use crate::rules::RULES;
use pelton_commands::{
    Accept, Accepted, ByteMap, Class, Command, Context, Facts, Family, Implementation, Input, Locale,
    Special, accept,
};
use pelton_stream::{Chain, Flow, Framing, HandOver, InputKind, Interruption, Kernel};
use std::sync::Arc;

/// Plans this text in the C locale, with a shared standard input.
pub(crate) fn planned(text: &str, pipefail: bool, switches: &Switches) -> Planned {
    planned_in(Locale::C, text, pipefail, switches)
}

fn planned_in(locale: Locale, text: &str, pipefail: bool, switches: &Switches) -> Planned {
    planned_with(Implementation::tested, locale, text, pipefail, switches)
}

/// Plans the text with these implementations.
fn planned_with(
    of_family: fn(Family) -> Implementation,
    locale: Locale,
    text: &str,
    pipefail: bool,
    switches: &Switches,
) -> Planned {
    let candidates = candidates(text, &locale, of_family);
    plan(candidates, &Surroundings { pipefail, ..Surroundings::default() }, switches)
}

/// Parses a pipeline: stages between ` | `, words between blanks, single-quoted if needed; `< f` and `> f` at
/// the end.
fn candidates(text: &str, locale: &Locale, of_family: fn(Family) -> Implementation) -> Vec<Candidate> {
    let stage = |(at, text): (usize, &str)| {
        let redirects = |sign: &str| text.split(' ').any(|word| word == sign);
        let words: Vec<Vec<u8>> = text
            .split(' ')
            .take_while(|word| !matches!(*word, "<" | ">" | "2>"))
            .map(|word| word.trim_matches('\'').as_bytes().to_vec())
            .collect();
        let (name, args) = words.split_first().expect("a word");
        let family = pelton_commands::lookup(name).map_or(Family::GnuCoreutils, |entry| entry.family);
        let context = Context { locale: locale.clone(), implementation: of_family(family) };
        let command = if name == b"keep" { Keep::accept(args) } else { accept(name, args, &context) };
        Candidate {
            name: String::from_utf8_lossy(name).into_owned(),
            args: args.to_vec(),
            text: None,
            implementation: accept(name, args, &context).is_ok().then(|| context.implementation.describe()),
            context: Some(context.clone()),
            command: command.map(|command| Arc::new(Accepted::new(command))),
            stateless: pelton_commands::stateless::stateless(name, args, &context),
            shares_stdin: at == 0 && !redirects("<"),
            reads_a_stage_outside: false,
            redirects_stdout: redirects(">"),
            redirects_stdin: redirects("<"),
            drops_messages: redirects("2>"),
            ends_without_reading: name == b"true",
        }
    };
    text.split(" | ").enumerate().map(stage).collect()
}

/// Returns the plan with everything enabled.
pub(crate) fn plan_text(text: &str) -> String {
    text_of(&planned(text, false, &Switches::default()))
}

/// Returns the plan under pipefail.
pub(crate) fn under_pipefail(text: &str) -> String {
    text_of(&planned(text, true, &Switches::default()))
}

/// Returns the plan where SIGPIPE is ignored.
pub(crate) fn without_sigpipe(text: &str, prints_to_a_stranger: bool) -> String {
    let locale = Locale::C;
    let candidates = candidates(text, &locale, Implementation::tested);
    let surroundings =
        Surroundings { ignores_sigpipe: true, prints_to_a_stranger, ..Surroundings::default() };
    text_of(&plan(candidates, &surroundings, &Switches::default()))
}

/// Plans the text in this locale.
pub(crate) fn in_locale(locale: Locale, text: &str) -> Planned {
    planned_in(locale, text, false, &Switches::default())
}

/// Returns the plan in C.UTF-8.
pub(crate) fn in_utf8(text: &str) -> String {
    text_of(&planned_in(Locale::C_UTF8, text, false, &Switches::default()))
}

/// Returns the real commands of the plan's last node: stages, and arguments separated by blanks.
pub(crate) fn resume_of(text: &str) -> Vec<(usize, String)> {
    let planned = planned(text, false, &Switches::default());
    let Some(Segment::Native { nodes, .. }) = planned.segments.last() else { panic!("not native: {text}") };
    let show = |args: &[Vec<u8>]| String::from_utf8_lossy(&args.join(&b' ')).into_owned();
    let resume = nodes.last().map_or(&[][..], |node| &node.resume);
    resume.iter().map(|resume| (resume.stage, show(&resume.args))).collect()
}

/// Returns the kernel of the plan's last node.
pub(crate) fn node_kernel(text: &str) -> Box<dyn Kernel> {
    let planned = planned(text, false, &Switches::default());
    let Some(Segment::Native { nodes, .. }) = planned.segments.last() else { panic!("not native: {text}") };
    nodes.last().expect("a node").kernel().expect("a kernel")
}

/// `keep TEXT`: a fixed-string line filter for tests. It falls back at lines with `!`.
#[derive(Clone, Debug)]
struct Keep {
    text: Vec<u8>,
    found: bool,
    ends_only: bool,
}

impl Keep {
    fn accept(args: &[Vec<u8>]) -> Accept<Box<dyn Command>> {
        Ok(Box::new(Keep { text: args[0].clone(), found: false, ends_only: false }))
    }
}

impl Command for Keep {
    fn facts(&self) -> Facts {
        Facts { class: Class::LineFilter, ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &[Input::Stdin]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(self.clone()))
    }

    fn keeps_same_lines_after(&self, map: &ByteMap) -> bool {
        let same =
            |wanted: &u8| (0..=255u8).all(|byte| (byte == *wanted) == (map.to[usize::from(byte)] == *wanted));
        map.deleted.is_empty() && self.text.iter().all(same)
    }

    fn kernel_for(&self, case: Special<'_>) -> Option<Accept<Box<dyn Kernel>>> {
        (case == Special::LineCount).then(|| {
            let kernel = Keep { ends_only: true, ..self.clone() };
            Ok(Box::new(kernel) as Box<dyn Kernel>)
        })
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        Some(vec![self.text.clone()])
    }
}

impl Kernel for Keep {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> pelton_stream::Outcome {
        let mut consumed = 0;
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            if line.contains(&b'!') {
                return Err(HandOver::at(consumed, "a mark"));
            }
            consumed += line.len();
            if line.windows(self.text.len()).any(|window| window == self.text) {
                self.found = true;
                let from = if self.ends_only { line.len() - usize::from(line.ends_with(b"\n")) } else { 0 };
                out.extend_from_slice(&line[from..]);
            }
        }
        Ok(Flow::More)
    }

    fn status(&self) -> i32 {
        i32::from(!self.found)
    }
}

/// Returns why this rule (or kernel) declined, each time.
pub(crate) fn reasons(text: &str, name: &str) -> Vec<String> {
    let decisions = planned(text, false, &Switches::default()).decisions;
    let reason = |outcome| match outcome {
        Outcome::Declined(reason) => Some(reason),
        Outcome::Fired(_) => None,
    };
    decisions.into_iter().filter(|one| one.name == name).filter_map(|one| reason(one.outcome)).collect()
}

pub(crate) fn text_of(planned: &Planned) -> String {
    let segment = |segment: &Segment| match segment {
        Segment::Process(stage) => planned.stages[*stage].shown.clone(),
        Segment::Native { nodes, .. } => {
            let nodes: Vec<String> = nodes.iter().map(|node| node_text(node, planned)).collect();
            format!("native {{ {} }}", nodes.join(" ; "))
        }
    };
    planned.segments.iter().map(segment).collect::<Vec<_>>().join(" | ")
}

/// Formats a node. A rewritten kernel of several stages is in brackets; its inputs are named if not a pipe.
fn node_text(node: &Node, planned: &Planned) -> String {
    if !node.is_rewritten() {
        return planned.stages[node.stages.end - 1].shown.clone();
    }
    let (label, inputs) = (planned.label(node), &node.inputs);
    let own = planned.stages.iter().any(|stage| stage.shown == label);
    let label = if own { label.to_owned() } else { format!("[{label}]") };
    let name = |input: &Input| match input {
        Input::Stdin => "-".to_owned(),
        Input::File(name) => String::from_utf8_lossy(name).into_owned(),
    };
    if node.stages.start > 0 && inputs == &[Input::Stdin] {
        return label;
    }
    format!("{label} < {}", inputs.iter().map(name).collect::<Vec<_>>().join(" "))
}

/// Runs the plan in memory with all rules, and with none, over several texts in blocks of several sizes, and
/// compares the outputs and the last status; with coreutils of another version and with busybox as well, if these run
/// natively.
pub(crate) fn assert_same(text: &str) {
    let without = Switches { without: RULES.iter().map(|rule| rule.name.to_owned()).collect(), only: vec![] };
    for of_family in [Implementation::tested, other_version, as_busybox] {
        let plan = |switches| planned_with(of_family, Locale::C, text, false, switches);
        let (rewritten, plain) = (plan(&Switches::default()), plan(&without));
        if of_family(Family::GnuCoreutils) == Implementation::tested(Family::GnuCoreutils) {
            assert_ne!(text_of(&rewritten), text_of(&plain), "no rule fired: {text}");
        } else if !matches!(plain.segments.as_slice(), [Segment::Native { .. }]) {
            continue;
        }
        for data in DATA {
            for block_bytes in [1, 7, 4096] {
                let Some(expected) = run(&plain, data, block_bytes) else { continue };
                let got = run(&rewritten, data, block_bytes).expect("no hand-over");
                assert_eq!(got, expected, "{text} over {data:?} in blocks of {block_bytes}");
            }
        }
    }
}

/// Returns coreutils 9.10, whose sort takes no byte for a thousands separator.
fn other_version(family: Family) -> Implementation {
    match family {
        Family::GnuCoreutils => Implementation::Known { family, version: "9.10".to_owned() },
        family => Implementation::tested(family),
    }
}

/// Returns busybox, of which most applets take a NUL for the end of a line.
fn as_busybox(family: Family) -> Implementation {
    match family {
        Family::GnuCoreutils => {
            Implementation::Known { family: Family::Busybox, version: "1.37.0 (Debian)".to_owned() }
        }
        family => Implementation::tested(family),
    }
}

/// The contents of the files f and g and of the standard input.
const DATA: &[[&[u8]; 3]] = &[
    [b"", b"", b""],
    [b"b a\nabc\nb a\n", b"x", b"\n\n"],
    [b"no end", b"of lines\n a\n", b"a"],
    [b"10 z\n9 y\n10 z\n9 x\n8\n\n\n8", b"9 y\n", b"\xff\0\n\0"],
    [b"{\"a\": [1, {\"b a\": \"x\"}]}", b"[\"a\", 1] {", b"null"],
    [b"1\x802\n3\n5\n", b"", b""],
    [b"\n", b"\n\nccc\xc3\xa9\n", b"b\nb\n"],
    [b"b\0a 1\nb\0a 2\0\0", b"\0a\0", b"x\0y\nx\0"],
];

/// Returns the output and the last status; `None` if busybox' real sort would have to go on.
fn run(planned: &Planned, data: &[&[u8]; 3], block_bytes: usize) -> Option<(Vec<u8>, i32)> {
    let [Segment::Native { nodes, .. }] = planned.segments.as_slice() else {
        panic!("not one native segment")
    };
    let kernels: Vec<Box<dyn Kernel>> = nodes.iter().map(|node| node.kernel().expect("a kernel")).collect();
    let mut chain = Chain::new(kernels);
    let mut out = Vec::new();
    if let Err(interruptions) = drive(&mut chain, &nodes[0].inputs, data, block_bytes, &mut out) {
        let is_number = |one: &Interruption| one.reason.contains("numbers that only it reads");
        assert!(interruptions.iter().all(is_number), "{interruptions:?}");
        return None;
    }
    Some((out, chain.statuses().last().copied().unwrap_or(0)))
}

fn drive(
    chain: &mut Chain,
    inputs: &[Input],
    data: &[&[u8]; 3],
    block_bytes: usize,
    out: &mut Vec<u8>,
) -> Result<(), Vec<Interruption>> {
    let text = |input: &Input| match input {
        Input::File(name) if name == b"f" => (Some(name.clone()), data[0]),
        Input::File(name) => (Some(name.clone()), data[1]),
        Input::Stdin => (None, data[2]),
    };
    let texts: Vec<_> = inputs.iter().map(text).collect();
    // As if the standard input were a file too: a stage after a cat must not notice.
    let kinds: Vec<InputKind> =
        texts.iter().map(|(_, text)| InputKind::Regular { bytes: text.len() as u64 }).collect();
    chain.begin(&kinds, out)?;
    'inputs: for (name, text) in texts {
        chain.begin_input(name.as_deref(), out)?;
        for block in text.chunks(block_bytes) {
            match chain.push(block, out)? {
                Flow::More | Flow::Pending => {}
                Flow::NextInput => break,
                Flow::Done => break 'inputs,
            }
        }
        if chain.end_input(out)? == Flow::Done {
            break;
        }
    }
    chain.finish(out).map(drop)
}
