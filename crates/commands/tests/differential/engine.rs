//! Runs a kernel in blocks of several sizes, and the tool once, and compares.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use pelton_commands::detect::{Detector, SystemProbe};
use pelton_commands::{
    Command, Context, Declined, Family, Implementation, Input, Locale, SystemLocales, lookup,
};
use pelton_parallel::{Fixed, Helpers};
use pelton_stream::memory::{self, Ended, Little, Source};
use pelton_stream::team::{self, memory::Together};
use pelton_stream::{BLOCK_BYTES, InputKind, Notice, Resources, Storage};

use crate::case::Case;
use crate::grammars::{Grammar, without_chance};
use crate::oracle::{Answer, ENDLESS, Oracle, foreign};
use crate::rng::Rng;
use crate::shrink::shrink;

/// The block sizes that every case is run with.
const SIZES: [usize; 4] = [1, 7, 4096, BLOCK_BYTES];

/// How much is done with one case.
#[derive(Clone, Copy)]
enum Care {
    /// Every size, alone and shared.
    Whole,
    /// All of a block, and this one of the smaller sizes, shared by several as well: a campaign's next data get the next.
    Turn(usize),
}

impl Care {
    fn sizes(self) -> Vec<usize> {
        match self {
            Care::Whole => SIZES.to_vec(),
            Care::Turn(turn) => vec![SIZES[turn % 3], BLOCK_BYTES],
        }
    }

    fn shares(self, block_bytes: usize) -> bool {
        matches!(self, Care::Whole) || block_bytes != BLOCK_BYTES
    }
}

/// Commands whose arguments are programs: each gets so many inputs in a row.
const PROGRAMS: [&str; 5] = ["awk", "mawk", "gawk", "original-awk", "sed"];
const INPUTS: u64 = 3;

/// A case on which kernel and tool differ.
pub struct Difference {
    case: Case,
    block_bytes: usize,
    expected: Answer,
    got: Answer,
}

impl Difference {
    /// Ready to paste, with what happened as a comment.
    pub fn show(&self) -> String {
        let answer = |answer: &Answer| {
            format!(
                "status {} out \"{}\" err \"{}\"",
                answer.status,
                answer.stdout.escape_ascii(),
                answer.stderr.escape_ascii()
            )
        };
        format!(
            "// blocks of {}: tool: {}\n// kernel: {}\n{}",
            self.block_bytes,
            answer(&self.expected),
            answer(&self.got),
            self.case.show()
        )
    }

    /// To be kept: the same as a comment, and the case.
    fn keep(&self, name: String, utf8: &str) -> Found {
        let shown = self.show();
        let comment: String = shown.lines().map(|line| format!("# {line}\n")).collect();
        Found { toml: comment + &self.case.toml(&name, utf8), name, shown }
    }
}

/// A difference, written out.
pub struct Found {
    pub name: String,
    /// As a line of `regressions.rs`.
    pub shown: String,
    /// As a case for `cases/*.toml`.
    pub toml: String,
}

/// What a campaign did.
#[derive(Default)]
pub struct Tally {
    /// Command lines with data on which the tool's answer was compared, however many times the kernel ran.
    pub answers: u64,
    pub comparisons: u64,
    pub processes: u64,
    pub declined: u64,
    pub handed_over: u64,
}

pub struct Engine {
    oracle: Oracle,
    implementation: Implementation,
    /// What UTF-8 stands for in cases.
    utf8: (&'static str, Locale),
    pub tally: Tally,
}

impl Engine {
    /// `None` if the installed tool is not one that the kernels claim to equal.
    pub fn new(command: &str) -> Option<Self> {
        let entry = lookup(command.as_bytes())?;
        let is_builtin = entry.family == Family::Bash;
        let name = if is_builtin { "bash" } else { command };
        let foreign = foreign();
        let places = foreign.map_or(vec![Path::new("/usr/bin"), Path::new("/bin")], |root| vec![root]);
        let program = places.into_iter().map(|dir| dir.join(name)).find(|path| path.exists())?;
        let mut implementation = Detector::new(&SystemProbe, None).identify(&program);
        if let (Some(family), Some(_)) =
            (implementation.family(), std::env::var_os("PELTON_ORACLE_AS_TESTED"))
        {
            // Whether kernels equal this version, in all that it may do otherwise, is the question.
            implementation = Implementation::tested(family);
        }
        entry.serves(&implementation).then(|| Engine {
            oracle: if is_builtin { Oracle::of_builtin(program, command) } else { Oracle::new(program) },
            implementation,
            utf8: ("C.UTF-8", Locale::C_UTF8),
            tally: Tally::default(),
        })
    }

    /// With this locale wherever a case says UTF-8; `None` if it is not installed.
    pub fn in_locale(self, name: &'static str) -> Option<Self> {
        Some(Engine { utf8: locale(name)?, ..self })
    }

    /// In which locale a case runs.
    fn name_of(&self, case: &Case) -> &'static str {
        if case.utf8 { self.utf8.0 } else { "C" }
    }

    /// Runs at least so many comparisons, or stops at a few differences.
    pub fn campaign(&mut self, grammar: &Grammar, seed: u64, comparisons: u64) -> (Tally, Vec<Found>) {
        let is_program = PROGRAMS.contains(&grammar.command);
        let mut differences = Vec::new();
        let mut kinds = HashSet::new();
        let mut index = 0;
        while self.tally.comparisons < comparisons && index < comparisons * 3 {
            let (case, care) = match is_program {
                true => (program(grammar, seed, index), Care::Turn(index as usize)),
                false => (made(grammar, seed, index), Care::Whole),
            };
            index += 1;
            if self.check_with(&case, care).is_none() {
                continue;
            }
            let counted = std::mem::take(&mut self.tally);
            let least = shrink(case, |candidate| self.check(candidate).is_some());
            let difference = self.check(&least);
            self.tally = counted;
            // The same arguments after shrinking are taken for the same cause.
            if kinds.insert(least.args.clone()) {
                let name = format!("{}-{seed}-{index}", grammar.command);
                differences.extend(difference.map(|difference| difference.keep(name, self.utf8.0)));
            }
            if differences.len() >= 5 {
                break;
            }
        }
        (std::mem::take(&mut self.tally), differences)
    }

    /// The first block size with which kernel and tool differ.
    pub fn check(&mut self, case: &Case) -> Option<Difference> {
        self.check_with(case, Care::Whole)
    }

    fn check_with(&mut self, case: &Case, care: Care) -> Option<Difference> {
        let locale = if case.utf8 { self.utf8.1.clone() } else { Locale::C };
        let context = Context { locale, implementation: self.implementation.clone() };
        let script = |name: &[u8]| match case.files.iter().find(|(known, _)| known.as_bytes() == name) {
            Some((_, content)) => Ok(content.clone()),
            None => Err(Declined::new("no such file")),
        };
        let name = case.command.as_bytes();
        let command = match pelton_commands::accept_with(name, &case.args, &context, &script) {
            Ok(command) => command,
            Err(declined) => {
                self.tally.declined += 1;
                self.show_declined(case, &declined);
                return None;
            }
        };
        if command.kernel().is_err() && command.join_kernel().is_err() {
            self.tally.declined += 1;
            return None;
        }
        let missing = |input: &Input| match input {
            Input::Stdin => false,
            Input::File(name) => !case.files.iter().any(|(known, _)| known.as_bytes() == name),
        };
        if command.inputs().iter().any(missing) {
            // The driver's affair: it runs the real tool.
            return None;
        }
        let mut expected = self.oracle.run(case, self.name_of(case));
        self.tally.processes += 1;
        if expected.status == ENDLESS {
            return None;
        }
        self.tally.answers += 1;
        let any_order = command.facts().output.order_is_unspecified;
        if any_order {
            sort_lines(&mut expected);
        }
        care.sizes().into_iter().find_map(|block_bytes| {
            self.tally.comparisons += 1;
            let run = AssertUnwindSafe(|| self.native(&*command, case, block_bytes));
            let mut got = catch_unwind(run).unwrap_or_else(|_| panicked("the kernel panicked"));
            if any_order {
                sort_lines(&mut got);
            }
            if got == expected && care.shares(block_bytes) {
                let run = AssertUnwindSafe(|| self.together(&*command, case, block_bytes));
                let together = catch_unwind(run).unwrap_or_else(|_| Some(panicked("a peer panicked")));
                self.tally.comparisons += u64::from(together.is_some());
                got = together.unwrap_or(got);
                if any_order {
                    sort_lines(&mut got);
                }
            }
            if got == expected {
                let run = AssertUnwindSafe(|| self.lent(&*command, case, block_bytes, &expected));
                let lent =
                    catch_unwind(run).unwrap_or_else(|_| Some(panicked("the kernel with others panicked")));
                got = lent.unwrap_or(got);
            }
            (got != expected).then(|| Difference {
                case: case.clone(),
                block_bytes,
                expected: expected.clone(),
                got,
            })
        })
    }

    /// With PELTON_FUZZ_DECLINED set: which command lines are declined although the tool takes them.
    fn show_declined(&self, case: &Case, declined: &Declined) {
        if std::env::var_os("PELTON_FUZZ_DECLINED").is_some()
            && self.oracle.run(case, self.name_of(case)).stderr.is_empty()
        {
            crate::say(&format!(
                "declined ({declined}): {}",
                Case { stdin: Vec::new(), ..case.clone() }.show()
            ));
        }
    }

    /// The same by several workers, if the kernel can share its work.
    fn together(&mut self, command: &dyn Command, case: &Case, block_bytes: usize) -> Option<Answer> {
        let sources = sources(command, case);
        let together = team::memory::run(command.kernel().ok()?, &sources, block_bytes, 3)?;
        let Together { mut stdout, mut stderr, chain, stop } = together;
        let mut status = chain.statuses().first().copied().unwrap_or(0);
        if let Some(stop) = stop {
            let args = command.resume_args()?;
            let answer = self.oracle.answer(&args, &stop.rest, true, self.name_of(case));
            self.tally.processes += 1;
            stdout.extend(answer.stdout);
            stderr.extend(answer.stderr);
            status = stop.status.given(answer.status);
        }
        Some(Answer { stdout, stderr, status })
    }

    /// The same with others who may help, for commands that let them.
    fn lent(
        &mut self,
        command: &dyn Command,
        case: &Case,
        block_bytes: usize,
        expected: &Answer,
    ) -> Option<Answer> {
        if block_bytes != LENT_BYTES || !LENT.contains(&case.command.as_str()) || command.kernel().is_err() {
            return None;
        }
        // From each line a run of its own to a few of them.
        let little = [1, 100, 1000, 4000][case.stdin.len() % 4];
        let resources =
            [None, Some(little)].map(|bytes| resources(bytes.map(|bytes| Arc::new(Little(bytes)) as _)));
        let answers =
            resources.map(|resources| self.with_means(command, case, block_bytes, Some(&resources)));
        let [with_all, with_little] = answers;
        if with_all != *expected {
            return Some(with_all);
        }
        Some(with_little)
    }

    fn native(&mut self, command: &dyn Command, case: &Case, block_bytes: usize) -> Answer {
        self.with_means(command, case, block_bytes, None)
    }

    fn with_means(
        &mut self,
        command: &dyn Command,
        case: &Case,
        block_bytes: usize,
        resources: Option<&Resources>,
    ) -> Answer {
        let sources = sources(command, case);
        let mut stdout = Vec::new();
        let Ok(mut kernel) = command.kernel() else {
            let mut kernel = command.join_kernel().unwrap_or_else(|declined| panic!("{declined}"));
            let bytes: Vec<&[u8]> = sources.iter().map(|source| source.bytes).collect();
            let stderr = memory::run_join(&mut *kernel, &bytes, block_bytes, &mut stdout);
            return Answer { stdout, stderr, status: kernel.status() };
        };
        if let Some(resources) = resources {
            kernel.notice(Notice::Resources(resources));
        }
        match memory::run(&mut *kernel, &sources, block_bytes, &mut stdout) {
            Ended::Whole => Answer { stdout, stderr: kernel.messages(), status: kernel.status() },
            Ended::HandedOver { input, offset, hand_over } => {
                self.tally.handed_over += 1;
                let Some(args) = command.resume_args() else {
                    panic!("hands over without a way: {}", hand_over.reason)
                };
                let mut rest = hand_over.unconsumed;
                rest.extend_from_slice(sources.get(input).map_or(&b""[..], |source| &source.bytes[offset..]));
                sources.iter().skip(input + 1).for_each(|source| rest.extend_from_slice(source.bytes));
                let answer = self.oracle.answer(&args, &rest, true, self.name_of(case));
                self.tally.processes += 1;
                stdout.extend(answer.stdout);
                let stderr = [kernel.messages(), answer.stderr].concat();
                Answer { stdout, stderr, status: hand_over.status.given(answer.status) }
            }
        }
    }
}

/// The case with this number.
fn made(grammar: &Grammar, seed: u64, index: u64) -> Case {
    let mut rng = Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(index));
    (grammar.case)(&mut rng, grammar.command)
}

/// The same, but several in a row are one program, over what each would read.
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

/// What is left of an answer where the order of its lines does not count.
fn sort_lines(answer: &mut Answer) {
    let mut lines: Vec<&[u8]> = answer.stdout.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    answer.stdout = lines.concat();
}

fn panicked(how: &str) -> Answer {
    Answer { stdout: Vec::new(), stderr: how.as_bytes().to_vec(), status: -2 }
}

/// Those that let others help, or are told how much memory there is.
const LENT: [&str; 1] = ["sort"];

/// With blocks of this size: threads cost more than what they do here.
pub const LENT_BYTES: usize = 7;

/// Three workers, who share whatever there is, and perhaps little memory.
pub fn resources(storage: Option<Arc<dyn Storage>>) -> Resources {
    Resources { helpers: Helpers::new(Arc::new(Fixed(3))).eager(), storage, ..Resources::default() }
}

/// The locale of this name, if it is installed.
pub fn locale(name: &'static str) -> Option<(&'static str, Locale)> {
    let variable = |category: &str| (category == "LC_ALL").then(|| name.as_bytes().to_vec());
    let locale = Locale::resolve(variable, &SystemLocales::default()).ok()?;
    (locale != Locale::C).then_some((name, locale))
}

/// What the command reads. Standard input can be read to its end only once.
fn sources<'a>(command: &'a dyn Command, case: &'a Case) -> Vec<Source<'a>> {
    let mut stdin_read = false;
    let source = |input: &'a Input| match input {
        Input::Stdin => {
            let bytes: &[u8] = if std::mem::replace(&mut stdin_read, true) { b"" } else { &case.stdin };
            let kind = match case.piped {
                true => InputKind::Other,
                false => InputKind::Regular { bytes: case.stdin.len() as u64 },
            };
            Source { name: None, bytes, kind }
        }
        Input::File(name) => {
            let found = case.files.iter().find(|(known, _)| known.as_bytes() == name);
            let bytes = found.map_or(&b""[..], |(_, bytes)| bytes);
            Source { name: Some(name), bytes, kind: InputKind::Regular { bytes: bytes.len() as u64 } }
        }
    };
    command.inputs().iter().map(source).collect()
}
