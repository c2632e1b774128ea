//! Runs a kernel in blocks of several sizes, and the tool once, and compares.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pelton_commands::{
    Accept, Command, Context, Declined, Family, Implementation, Input, Locale, Lookup, lookup,
};
use pelton_parallel::{Fixed, Helpers};
use pelton_stream::memory::{self, Ended, Little, Source};
use pelton_stream::team::{self, memory::Together};
use pelton_stream::{BLOCK_BYTES, InputKind, Notice, Resources, Storage};

use crate::oracle::{ENVIRONMENT, NOT_SET};
use crate::{Answer, Case, Oracle};

/// The block sizes that every case is run with.
const SIZES: [usize; 4] = [1, 7, 4096, BLOCK_BYTES];

/// Looks up what arguments refer to: files of the case, and the environment that the tool gets.
struct CaseLookup<'a>(&'a Case);

impl Lookup for CaseLookup<'_> {
    fn script(&self, name: &[u8]) -> Accept<Vec<u8>> {
        let found = self.0.files.iter().find(|(known, _)| known.as_bytes() == name);
        found.map(|(_, content)| content.clone()).ok_or_else(|| Declined::new("no such file"))
    }

    fn variable(&self, name: &[u8]) -> Accept<Option<Vec<u8>>> {
        let found = ENVIRONMENT.iter().find(|(known, _)| known.as_bytes() == name);
        match found {
            Some((_, value)) => Ok(Some(value.as_bytes().to_vec())),
            None if name == NOT_SET => Ok(None),
            None => Declined::because("a variable that depends on the machine"),
        }
    }
}

/// How much is done with one case.
#[derive(Clone, Copy)]
pub(crate) enum Care {
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

/// What a comparison has shown.
pub(crate) enum Check {
    /// Kernel and tool did the same.
    Agrees,
    /// The kernel declines the call, or its driver would run the real tool.
    NotCompared,
    /// The tool did not end in time, or printed without end.
    Endless,
    /// They did not do the same.
    Differs(Box<Difference>),
}

/// A case on which kernel and tool differ.
pub struct Difference {
    case: Case,
    block_bytes: usize,
    expected: Answer,
    got: Answer,
    /// Whether it did not show each time.
    sometimes: bool,
}

impl Difference {
    /// Notes that it did not show each time.
    pub(crate) fn sometimes(self) -> Self {
        Difference { sometimes: true, ..self }
    }

    /// Returns a line of `known_cases.rs`, with what happened as a comment.
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
            "{}// blocks of {}: tool: {}\n// kernel: {}\n{}",
            if self.sometimes { "// Not each time.\n" } else { "" },
            self.block_bytes,
            answer(&self.expected),
            answer(&self.got),
            self.case.show()
        )
    }

    /// Returns its case.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// Makes a report: what happened as a comment, and a case for `cases/*.toml`. `other`: the engine's other locale.
    pub(crate) fn found(&self, name: String, other: &str) -> Found {
        let shown = self.show();
        let comment: String = shown.lines().map(|line| format!("# {line}\n")).collect();
        Found { toml: comment + &self.case.toml(&name, other), name, shown }
    }
}

/// A difference that a campaign has found.
pub struct Found {
    /// Its name.
    pub name: String,
    /// What happened, and a line of `known_cases.rs`.
    pub shown: String,
    /// A case for `cases/*.toml`.
    pub toml: String,
}

/// Counts of what was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Command lines with data on which the tool's answer was compared, however many times the kernel ran.
    pub answers: u64,
    /// Runs of the kernel that were compared.
    pub comparisons: u64,
    /// Runs of the real tool.
    pub processes: u64,
    /// Command lines that the kernel declines.
    pub declined: u64,
    /// Runs in which the kernel handed over to the real tool.
    pub handed_over: u64,
}

impl Tally {
    /// Adds other counts.
    pub fn add(&mut self, other: &Tally) {
        self.answers += other.answers;
        self.comparisons += other.comparisons;
        self.processes += other.processes;
        self.declined += other.declined;
        self.handed_over += other.handed_over;
    }
}

/// A program to compare a kernel with.
pub struct Program<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its path; of a builtin, the shell's.
    pub path: &'a Path,
    /// The implementation that the kernel claims to equal.
    pub implementation: Implementation,
}

/// Compares a tool's kernel with the real tool.
pub struct Engine {
    oracle: Oracle,
    implementation: Implementation,
    /// The locale of cases that do not run in C.
    other: (String, Locale),
    /// What was compared so far.
    pub tally: Tally,
    /// Is told of calls that are declined although the tool takes them.
    pub on_declined: Option<fn(&Case, &Declined)>,
}

impl Engine {
    /// Makes one in C and C.UTF-8.
    ///
    /// # Errors
    /// If no working directory can be made.
    pub fn new(program: Program<'_>) -> io::Result<Self> {
        let oracle = Oracle::new(program.path.to_owned())?;
        let is_builtin = lookup(program.tool.as_bytes()).is_some_and(|tool| tool.family == Family::Bash);
        Ok(Engine {
            oracle: if is_builtin { oracle.of_builtin(program.tool) } else { oracle },
            implementation: program.implementation,
            other: ("C.UTF-8".to_owned(), Locale::C_UTF8),
            tally: Tally::default(),
            on_declined: None,
        })
    }

    /// Gives the tool the locales of this directory.
    #[must_use]
    pub fn with_locales(self, folder: PathBuf) -> Self {
        Engine { oracle: self.oracle.with_locales(folder), ..self }
    }

    /// Takes this locale in place of C.UTF-8; `None` if it is not installed.
    pub fn in_locale(self, name: &str) -> Option<Self> {
        Some(Engine { other: (name.to_owned(), Locale::named(name)?), ..self })
    }

    /// Runs all cases in C.
    #[must_use]
    pub fn in_c_only(self) -> Self {
        Engine { other: ("C".to_owned(), Locale::C), ..self }
    }

    /// Whether a case runs in C.
    pub(crate) fn is_in_c(&self, case: &Case) -> bool {
        !case.utf8 || self.other.1 == Locale::C
    }

    /// Takes the kernel of this implementation from now on.
    pub(crate) fn set_implementation(&mut self, implementation: Implementation) {
        self.implementation = implementation;
    }

    /// Returns the name of the locale in place of C.UTF-8.
    pub(crate) fn other_locale(&self) -> &str {
        &self.other.0
    }

    /// Returns the locale in place of C.UTF-8.
    pub(crate) fn locale(&self) -> &Locale {
        &self.other.1
    }

    fn context(&self, case: &Case) -> Context {
        let locale = if case.utf8 { self.other.1.clone() } else { Locale::C };
        Context { locale, implementation: self.implementation.clone() }
    }

    fn name_of(&self, case: &Case) -> &str {
        if case.utf8 { &self.other.0 } else { "C" }
    }

    /// Returns the first block size with which kernel and tool differ. A call that the tool does not end counts as none.
    ///
    /// # Errors
    /// If the tool cannot be run.
    pub fn check(&mut self, case: &Case) -> io::Result<Option<Difference>> {
        match self.check_with(case, Care::Whole)? {
            Check::Differs(difference) => Ok(Some(*difference)),
            Check::Agrees | Check::NotCompared | Check::Endless => Ok(None),
        }
    }

    pub(crate) fn check_with(&mut self, case: &Case, care: Care) -> io::Result<Check> {
        let Some(command) = self.accept(case)? else { return Ok(Check::NotCompared) };
        self.tally.processes += 1;
        let Some(mut expected) = self.oracle.run(case, self.name_of(case))? else {
            return Ok(Check::Endless);
        };
        if crashed(&expected) {
            return Ok(Check::NotCompared);
        }
        self.tally.answers += 1;
        // Each in its own order, and in the real one where that is known.
        for command in command.in_real_order().into_iter().chain([command]) {
            if command.facts().output.order_is_unspecified {
                sort_lines(&mut expected);
            }
            for block_bytes in care.sizes() {
                let got = self.answer(&*command, case, block_bytes, care, &expected)?;
                // It does not crash each time.
                if command.facts().input.reads_again.is_some() && crashed(&got) {
                    return Ok(Check::NotCompared);
                }
                let differs_in_memory = differs_in_freed_memory(&case.command, &expected, &got)
                    || differs_behind_a_conversion(&expected, &got);
                if got != expected && !differs_in_memory {
                    let difference =
                        Difference { case: case.clone(), block_bytes, expected, got, sometimes: false };
                    return Ok(Check::Differs(Box::new(difference)));
                }
            }
        }
        Ok(Check::Agrees)
    }

    /// Returns the command; `None` if it is declined, or if its driver would run the real tool.
    fn accept(&mut self, case: &Case) -> io::Result<Option<Box<dyn Command>>> {
        let name = case.command.as_bytes();
        let command =
            match pelton_commands::accept_with(name, &case.args, &self.context(case), &CaseLookup(case)) {
                Ok(command) => command,
                Err(declined) => {
                    self.tally.declined += 1;
                    if let Some(tell) = self.on_declined
                        && self
                            .oracle
                            .run(case, self.name_of(case))?
                            .is_some_and(|answer| answer.stderr.is_empty())
                    {
                        tell(case, &declined);
                    }
                    return Ok(None);
                }
            };
        // Kernels run in this process: they must not write files here.
        let writes_files = command.facts().output.writes_files();
        // A pipe cannot be read again.
        let cannot_repeat = case.piped
            && command.facts().input.reads_again.is_some()
            && command.inputs().contains(&Input::Stdin);
        let has_kernel = command.kernel().is_ok() || command.join_kernel().is_ok();
        if writes_files || cannot_repeat || !has_kernel {
            self.tally.declined += 1;
            return Ok(None);
        }
        let is_missing = |input: &Input| match input {
            Input::Stdin => false,
            Input::File(name) => !case.files.iter().any(|(known, _)| known.as_bytes() == name),
        };
        Ok((!command.inputs().iter().any(is_missing)).then_some(command))
    }

    /// Returns the kernel's answer; if it is the expected one alone, then the one of several workers, and the one with
    /// helpers.
    fn answer(
        &mut self,
        command: &dyn Command,
        case: &Case,
        block_bytes: usize,
        care: Care,
        expected: &Answer,
    ) -> io::Result<Answer> {
        let any_order = command.facts().output.order_is_unspecified;
        let in_order = |mut answer: Answer| {
            if any_order {
                sort_lines(&mut answer);
            }
            answer
        };
        self.tally.comparisons += 1;
        let alone = in_order(caught("the kernel", || self.native(command, case, block_bytes))?);
        if alone != *expected {
            return Ok(alone);
        }
        if care.shares(block_bytes)
            && let Some(together) = caught_option("a peer", || self.together(command, case, block_bytes))?
        {
            self.tally.comparisons += 1;
            let together = in_order(together);
            if together != *expected {
                return Ok(together);
            }
        }
        let lent = || self.lent(command, case, block_bytes, expected);
        Ok(caught_option("the kernel with helpers", lent)?.map_or(alone, in_order))
    }

    /// The same by several workers, if the kernel can share its work.
    fn together(
        &mut self,
        command: &dyn Command,
        case: &Case,
        block_bytes: usize,
    ) -> io::Result<Option<Answer>> {
        let sources = sources(command, case);
        let Ok(kernel) = command.kernel() else { return Ok(None) };
        let Some(together) = team::memory::run(kernel, &sources, block_bytes, 3) else { return Ok(None) };
        let Together { mut stdout, mut stderr, chain, stop } = together;
        let mut status = chain.statuses().first().copied().unwrap_or(0);
        if let Some(stop) = stop {
            let Some(args) = command.resume_args() else { return Ok(None) };
            let answer = self.oracle.answer(&args, &stop.rest, case.piped, self.name_of(case))?;
            let answer = answer.unwrap_or_else(never_ended);
            self.tally.processes += 1;
            stdout.extend(answer.stdout);
            stderr.extend(answer.stderr);
            status = stop.status.given(answer.status);
        }
        Ok(Some(Answer { stdout, stderr, status }))
    }

    /// The same with helpers, for commands that use them.
    fn lent(
        &mut self,
        command: &dyn Command,
        case: &Case,
        block_bytes: usize,
        expected: &Answer,
    ) -> io::Result<Option<Answer>> {
        if block_bytes != LENT_BYTES || !LENT.contains(&case.command.as_str()) || command.kernel().is_err() {
            return Ok(None);
        }
        // From each line a run of its own to a few of them.
        let little = [1, 100, 1000, 4000][case.stdin.len() % 4];
        let resources =
            [None, Some(little)].map(|bytes| resources(bytes.map(|bytes| Arc::new(Little(bytes)) as _)));
        for resources in resources {
            let answer = self.with_means(command, case, block_bytes, Some(&resources))?;
            if answer != *expected {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    fn native(&mut self, command: &dyn Command, case: &Case, block_bytes: usize) -> io::Result<Answer> {
        // For what a kernel leaves to the real tool.
        let itself = command.facts().input.reads_again.map(|_| self.oracle.again(self.name_of(case)));
        let resources = itself.map(|itself| Resources { itself: Some(itself), ..Resources::default() });
        self.with_means(command, case, block_bytes, resources.as_ref())
    }

    fn with_means(
        &mut self,
        command: &dyn Command,
        case: &Case,
        block_bytes: usize,
        resources: Option<&Resources>,
    ) -> io::Result<Answer> {
        let sources = sources(command, case);
        let mut stdout = Vec::new();
        let Ok(mut kernel) = command.kernel() else {
            let mut kernel = command.join_kernel().unwrap_or_else(|declined| panic!("{declined}"));
            let bytes: Vec<&[u8]> = sources.iter().map(|source| source.bytes).collect();
            let stderr = memory::run_join(&mut *kernel, &bytes, block_bytes, &mut stdout);
            return Ok(Answer { stdout, stderr, status: kernel.status() });
        };
        if let Some(resources) = resources {
            kernel.notice(Notice::Resources(resources));
        }
        match memory::run(&mut *kernel, &sources, block_bytes, &mut stdout) {
            Ended::Whole => Ok(Answer { stdout, stderr: kernel.messages(), status: kernel.status() }),
            Ended::HandedOver { input, offset, hand_over } => {
                self.tally.handed_over += 1;
                let Some(args) = command.resume_args() else {
                    panic!("hands over without a way: {}", hand_over.reason)
                };
                let mut rest = hand_over.unconsumed;
                rest.extend_from_slice(sources.get(input).map_or(&b""[..], |source| &source.bytes[offset..]));
                sources.iter().skip(input + 1).for_each(|source| rest.extend_from_slice(source.bytes));
                let answer = self.oracle.answer(&args, &rest, case.piped, self.name_of(case))?;
                let answer = answer.unwrap_or_else(never_ended);
                self.tally.processes += 1;
                stdout.extend(answer.stdout);
                let stderr = [kernel.messages(), answer.stderr].concat();
                Ok(Answer { stdout, stderr, status: hand_over.status.given(answer.status) })
            }
        }
    }
}

/// Whether only lines with infinity or NaN differ: all versions of gawk print freed memory for them where they stand in a
/// computed field of the record, and other bytes each time.
fn differs_in_freed_memory(command: &str, expected: &Answer, got: &Answer) -> bool {
    let lines = |answer: &Answer| answer.stdout.split(|byte| *byte == b'\n').count();
    let is_special =
        |line: &[u8]| line.windows(4).any(|name| [&b"+inf"[..], b"-inf", b"+nan", b"-nan"].contains(&name));
    // Without the sign, if the program has replaced it.
    let is_part = |line: &[u8]| line.windows(3).any(|name| [&b"inf"[..], b"nan"].contains(&name));
    let pairs = || expected.stdout.split(|byte| *byte == b'\n').zip(got.stdout.split(|byte| *byte == b'\n'));
    matches!(command, "awk" | "gawk")
        && (expected.status, &expected.stderr, lines(expected)) == (got.status, &got.stderr, lines(got))
        && pairs().all(|(real, ours)| real == ours || is_special(ours) || real.contains(&0) && is_part(ours))
}

/// Whether the one true awk met a conversion that is none: it goes on with what lies in memory, other bytes each time. A kernel
/// has it run again then, and gives what that run gave.
fn differs_behind_a_conversion(expected: &Answer, got: &Answer) -> bool {
    [expected, got].iter().all(|one| one.stderr.starts_with(b"original-awk: weird printf conversion "))
}

/// Whether a signal ended the tool, or it found that it is broken, as mawk 20250131 does at large field numbers.
fn crashed(answer: &Answer) -> bool {
    answer.status == -1 || answer.stderr.starts_with(b"mawk: bozo: ")
}

/// Sorts the lines of an answer whose order is not specified.
fn sort_lines(answer: &mut Answer) {
    let mut lines: Vec<&[u8]> = answer.stdout.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    answer.stdout = lines.concat();
}

/// Returns the answer, or a panic in the form of one. In a release a panic ends the process.
fn caught(who: &str, run: impl FnOnce() -> io::Result<Answer>) -> io::Result<Answer> {
    caught_option(who, || run().map(Some)).map(|answer| answer.unwrap_or_else(|| panicked(who)))
}

fn caught_option(who: &str, run: impl FnOnce() -> io::Result<Option<Answer>>) -> io::Result<Option<Answer>> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Ok(Some(panicked(who))))
}

/// Stands for the answer of a tool that was handed the rest of the input and did not end.
fn never_ended() -> Answer {
    Answer { stdout: Vec::new(), stderr: b"the real tool did not end\n".to_vec(), status: -2 }
}

fn panicked(who: &str) -> Answer {
    Answer { stdout: Vec::new(), stderr: format!("{who} panicked").into_bytes(), status: -2 }
}

/// Tools that use helpers, or are told how much memory there is.
const LENT: [&str; 1] = ["sort"];

/// Those are compared with blocks of this size only: starting threads costs more than their work here.
pub const LENT_BYTES: usize = 7;

/// Makes resources: three workers that share even little work, and this storage.
pub fn resources(storage: Option<Arc<dyn Storage>>) -> Resources {
    Resources { helpers: Helpers::new(Arc::new(Fixed(3))).eager(), storage, ..Resources::default() }
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
