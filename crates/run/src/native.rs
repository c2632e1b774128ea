//! Native segments of a pipeline: what they are made of, and the worker process that runs one.
//!
//! A worker stands where the stages of its segment would stand: it reads what the first of them would read, writes
//! where the last one would write, and tells the status of each. If a kernel hands over, the real command takes its
//! place in the middle of the stream:
//!
//! ```text
//!   worker:  source ► k0 ► k1 ► k2 ► stdout                    k1 hands over:
//!   worker:  source ► k0 ──pipe──► real command 1 ──pipe──► copy of the worker: k2 ► stdout
//! ```
//!
//! The copy is a fork, so k2 goes on with the state that it had.

use crate::environ::Environment;
use crate::plan::{Plan, Request, ShellOption, Step};
use crate::stage::{Kind, StagePlan, Surroundings};
use pelton_commands::detect::{CacheFile, Detector, Store, SystemProbe};
use pelton_commands::{Context, Declined, Family, Implementation, Input, Locale, SystemLocales};
use pelton_plan::{Candidate, Planned, Segment, Switches};
use pelton_stream::{BLOCK_BYTES, Chain, Flow, InputKind, Interruption, Kernel, Sink};
use pelton_syntax::RedirectKind;
use pelton_sys::spawn::{self, Action, Child, Exec, Redirection};
use pelton_sys::{pipe, signals, startup, wait};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is started as one process.
pub enum Unit {
    /// The real command of this stage.
    Process(usize),
    /// A worker.
    Native(Box<Native>),
}

/// A segment ready to be run once.
pub struct Native {
    /// The stages it stands for.
    pub stages: Range<usize>,
    /// What the worker's descriptors become first.
    pub redirections: Vec<Redirection>,
    nodes: Vec<NativeNode>,
    sources: Vec<Source>,
    /// The last stage's name, for the message if its output cannot be written.
    last_name: String,
}

struct NativeNode {
    stages: Range<usize>,
    kernel: Option<Box<dyn Kernel>>,
    resume: Vec<(usize, Exec)>,
}

/// One input of the first kernel.
struct Source {
    name: Option<Vec<u8>>,
    /// `None`: standard input.
    file: Option<File>,
    kind: InputKind,
}

/// What a stage would be as a process, and what the planner needs to know of it.
struct Understood {
    candidate: Candidate,
    exec: Option<Exec>,
    redirections: Vec<Redirection>,
    locale: Option<Locale>,
}

/// How each pipeline of a text would be run, for `explain`: its source text, and its plan.
pub fn explain(
    plan: &Plan,
    request: &Request,
    environment: &Environment,
    switches: &Switches,
) -> Vec<(String, Planned)> {
    let Plan::Steps(steps) = plan else { return Vec::new() };
    let cache = CacheFile::of_user(|name| environment.get(name).map(PathBuf::from));
    let mut detector = Detector::new(&SystemProbe, cache.as_ref().map(|cache| cache as &dyn Store));
    let around = crate::execute::surroundings(request, environment, &[]);
    let text = request.text.to_str().unwrap_or_default();
    let mut pipefail = false;
    let mut explained = Vec::new();
    for step in steps {
        match step {
            Step::Set(options) => {
                let last = options.iter().rev().find(|(option, _)| *option == ShellOption::Pipefail);
                pipefail = last.map_or(pipefail, |(_, on)| *on);
            }
            Step::List(list) => explained.extend(list.iter().map(|(_, pipeline)| {
                let (planned, _) =
                    plan_pipeline(&pipeline.stages, &around, switches, pipefail, &mut detector);
                (pipeline.span.of(text).to_string(), planned)
            })),
        }
    }
    explained
}

/// Plans one pipeline for native running.
pub fn plan_pipeline(
    stages: &[StagePlan],
    around: &Surroundings<'_>,
    switches: &Switches,
    pipefail: bool,
    detector: &mut Detector<'_>,
) -> (Planned, Vec<Unit>) {
    let mut execs = Vec::with_capacity(stages.len());
    let mut redirections = Vec::with_capacity(stages.len());
    let mut candidates = Vec::with_capacity(stages.len());
    let mut locales = Vec::with_capacity(stages.len());
    for (i, stage) in stages.iter().enumerate() {
        let understood = understand(i, stage, around, detector);
        execs.push(understood.exec);
        locales.push(understood.locale);
        redirections.push(understood.redirections);
        candidates.push(understood.candidate);
    }
    let mut locales: Vec<Locale> = locales.into_iter().flatten().collect();
    locales.dedup();
    if locales.len() > 1 {
        // Rules read arguments again, in one locale for all.
        for candidate in candidates.iter_mut().filter(|candidate| candidate.command.is_ok()) {
            candidate.command = Declined::because("the stages run in different locales");
        }
    }
    let locale = locales.pop().unwrap_or(Locale::C);
    let context = Context { locale, implementation: Implementation::tested(Family::GnuCoreutils) };
    let planned = pelton_plan::plan(candidates, &pelton_plan::Surroundings { pipefail, context }, switches);
    let mut units = Vec::new();
    for segment in &planned.segments {
        match segment {
            Segment::Process(stage) => units.push(Unit::Process(*stage)),
            Segment::Native { stages: range, nodes } => {
                match make(range.clone(), nodes, stages, &execs, &mut redirections) {
                    Some(native) => units.push(Unit::Native(Box::new(native))),
                    None => units.extend(range.clone().map(Unit::Process)),
                }
            }
        }
    }
    (planned, units)
}

fn understand(
    i: usize,
    stage: &StagePlan,
    around: &Surroundings<'_>,
    detector: &mut Detector<'_>,
) -> Understood {
    let reads_file = stage.syntax.redirects.iter().any(|r| matches!(r.kind, RedirectKind::Read(_)));
    let writes_file = stage.syntax.redirects.iter().any(|r| !matches!(r.kind, RedirectKind::Read(_)));
    let mut understood = Understood {
        candidate: Candidate {
            name: stage.name.clone(),
            args: Vec::new(),
            command: Err(Declined::new("")),
            shares_stdin: i == 0 && !reads_file,
            redirects_stdout: writes_file,
            redirects_stdin: reads_file,
        },
        exec: None,
        redirections: Vec::new(),
        locale: None,
    };
    match command_of(stage, around, detector, &mut understood) {
        Ok(command) => understood.candidate.command = Ok(command),
        Err(declined) => understood.candidate.command = Err(declined),
    }
    understood
}

fn command_of(
    stage: &StagePlan,
    around: &Surroundings<'_>,
    detector: &mut Detector<'_>,
    understood: &mut Understood,
) -> pelton_commands::Accept<Box<dyn pelton_commands::Command>> {
    match &stage.kind {
        Kind::Program => {}
        Kind::Builtin(_) => return Declined::because("a builtin of the shell"),
        Kind::Shell { reason } => {
            return Declined::because(format!("the shell runs it, because of {reason}"));
        }
    }
    let native = stage.program(around).map_err(Declined::new)?;
    let Action::Exec(exec) = native.action else { return Declined::because("no program") };
    let path = Path::new(std::ffi::OsStr::from_bytes(exec.path.as_bytes()));
    let name = path.file_name().map(|name| name.as_bytes().to_vec()).unwrap_or_default();
    if pelton_commands::lookup(&name).is_none() {
        return Declined::because(format!("{} has no kernel", String::from_utf8_lossy(&name)));
    }
    check_redirects(stage)?;
    let variable = |wanted: &str| {
        let value = |pair: &std::ffi::CString| {
            let rest = pair.as_bytes().strip_prefix(wanted.as_bytes())?;
            rest.strip_prefix(b"=").map(<[u8]>::to_vec)
        };
        exec.envp.iter().find_map(value)
    };
    let locale = Locale::resolve(variable, &SystemLocales::default())?;
    let context = Context { locale: locale.clone(), implementation: detector.identify(path) };
    let args: Vec<Vec<u8>> = exec.argv.iter().skip(1).map(|arg| arg.as_bytes().to_vec()).collect();
    let command = pelton_commands::accept(&name, &args, &context)?;
    understood.candidate.name = String::from_utf8_lossy(&name).into_owned();
    understood.candidate.args = args;
    understood.exec = Some(exec);
    understood.locale = Some(locale);
    understood.redirections = native.redirections;
    Ok(command)
}

/// Only plain files, and only as standard input and standard output: everything else is the real command's.
fn check_redirects(stage: &StagePlan) -> Result<(), Declined> {
    if stage.syntax.pipes_stderr {
        return Declined::because("its standard error goes into the pipe");
    }
    for redirect in &stage.syntax.redirects {
        let plain = match redirect.kind {
            RedirectKind::Read(_) => redirect.fd.is_none_or(|fd| fd == 0),
            RedirectKind::Write(_) | RedirectKind::Append(_) | RedirectKind::Clobber(_) => {
                redirect.fd.is_none_or(|fd| fd == 1)
            }
            _ => false,
        };
        if !plain {
            return Declined::because("a redirection that only the real command can have");
        }
    }
    if stage.syntax.redirects.len() > 2 {
        return Declined::because("several redirections");
    }
    Ok(())
}

/// Opens what the segment reads and checks what it writes. `None` if anything is not as plain as kernels need it: the
/// stages then run as processes, and say themselves what is wrong.
fn make(
    range: Range<usize>,
    nodes: &[pelton_plan::Node],
    stages: &[StagePlan],
    execs: &[Option<Exec>],
    redirections: &mut [Vec<Redirection>],
) -> Option<Native> {
    if (0..3).any(|fd| !startup::was_open(fd)) || startup::sigpipe_was_ignored() {
        return None;
    }
    let mut made = Vec::with_capacity(nodes.len());
    for node in nodes {
        let resume = node.resume.iter().map(|resume| {
            let exec = execs[resume.stage].as_ref()?;
            let args = resume.args.iter().map(|arg| crate::c_string(arg)).collect::<Option<Vec<_>>>()?;
            let argv = exec.argv.iter().take(1).cloned().chain(args).collect();
            Some((resume.stage, Exec { argv, ..exec.clone() }))
        });
        made.push(NativeNode {
            stages: node.stages.clone(),
            kernel: Some(node.work.kernel().ok()?),
            resume: resume.collect::<Option<_>>()?,
        });
    }
    let own: Vec<Redirection> = range.clone().flat_map(|i| std::mem::take(&mut redirections[i])).collect();
    let stdin = own.iter().find_map(|r| match r {
        Redirection::Open { fd: 0, path, .. } => Some(path),
        _ => None,
    });
    let sources = open_sources(nodes.first()?.work.inputs(), stdin, range.start > 0)?;
    check_output(&own, &sources, range.end == stages.len())?;
    Some(Native {
        last_name: stages[range.end - 1].name.clone(),
        stages: range,
        redirections: own,
        nodes: made,
        sources,
    })
}

/// At most this many files are opened before a segment starts.
const FILES: usize = 64;

fn open_sources(inputs: &[Input], stdin: Option<&std::ffi::CString>, from_pipe: bool) -> Option<Vec<Source>> {
    if inputs.len() > FILES {
        return None;
    }
    let open = |input: &Input| match input {
        Input::File(name) => {
            let file = open_regular(name)?;
            let kind = InputKind::Regular { bytes: file.metadata().ok()?.len() };
            Some(Source { name: Some(name.clone()), file: Some(file), kind })
        }
        Input::Stdin => Some(Source { name: None, file: None, kind: stdin_kind(stdin, from_pipe)? }),
    };
    inputs.iter().map(open).collect()
}

fn stdin_kind(stdin: Option<&std::ffi::CString>, from_pipe: bool) -> Option<InputKind> {
    let metadata = match stdin {
        Some(path) => open_regular(path.as_bytes())?.metadata().ok()?,
        None if from_pipe => return Some(InputKind::Other),
        None => {
            let mut file = File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
            let metadata = file.metadata().ok()?;
            // Somebody read from it before: tac goes back to the beginning all the same, others do not.
            if metadata.is_file() && file.stream_position().ok()? != 0 {
                return None;
            }
            metadata
        }
    };
    match metadata.file_type() {
        kind if kind.is_file() => Some(InputKind::Regular { bytes: metadata.len() }),
        kind if kind.is_fifo() || kind.is_char_device() || kind.is_socket() => Some(InputKind::Other),
        _ => None,
    }
}

/// A regular file, open for reading. Looked at before it is opened, since opening a FIFO may block.
fn open_regular(name: &[u8]) -> Option<File> {
    let path = Path::new(std::ffi::OsStr::from_bytes(name));
    std::fs::metadata(path).ok()?.is_file().then(|| File::open(path).ok())?
}

/// The file that is written must be a plain one that can be written, and none of those that are read: GNU cat and
/// others notice that.
fn check_output(redirections: &[Redirection], sources: &[Source], last: bool) -> Option<()> {
    let mut outputs = Vec::new();
    for redirection in redirections {
        let Redirection::Open { fd: 1, path, .. } = redirection else { continue };
        let path = Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()));
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => outputs.push(metadata),
            Ok(metadata) if metadata.file_type().is_char_device() => {}
            Ok(_) => return None,
            Err(_) => {
                let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
                parent.is_dir().then_some(())?;
            }
        }
    }
    if outputs.is_empty() && last {
        outputs.push(File::from(std::io::stdout().as_fd().try_clone_to_owned().ok()?).metadata().ok()?);
    }
    let same = |file: &File| {
        let Ok(input) = file.metadata() else { return true };
        outputs.iter().any(|o| o.is_file() && o.dev() == input.dev() && o.ino() == input.ino())
    };
    (!sources.iter().filter_map(|source| source.file.as_ref()).any(same)).then_some(())
}

impl Native {
    /// Starts the worker; `statuses` is where it tells them.
    pub fn spawn(
        mut self,
        stdin: Option<BorrowedFd<'_>>,
        stdout: Option<BorrowedFd<'_>>,
        not_mine: Option<BorrowedFd<'_>>,
        statuses: BorrowedFd<'_>,
    ) -> std::io::Result<u32> {
        let redirections = std::mem::take(&mut self.redirections);
        let child = Child { action: Action::Exit(0), fallback: None, stdin, stdout, redirections, not_mine };
        let statuses = File::from(statuses.try_clone_to_owned()?);
        let mut worker = Worker { native: self, statuses, children: Vec::new() };
        spawn::spawn_worker(&child, &mut || worker.run())
    }
}

/// In the worker process.
struct Worker {
    native: Native,
    statuses: File,
    /// Real commands and copies that took over: process, and the stage whose status its exit is, if any.
    children: Vec<(u32, Option<usize>)>,
}

/// How the worker's driving of its chain ended.
enum Drive {
    Over,
    Interrupted(Vec<Interruption>),
}

impl Worker {
    /// The exit status of the last stage.
    fn run(&mut self) -> i32 {
        let kernels = self.native.nodes.iter_mut().filter_map(|node| node.kernel.take()).collect();
        let mut chain = Chain::new(kernels);
        let mut out = match Out::stdout() {
            Ok(out) => out,
            Err(_) => return 127,
        };
        let kinds: Vec<InputKind> = self.native.sources.iter().map(|source| source.kind).collect();
        let mut reader = Reader { sources: std::mem::take(&mut self.native.sources), at: 0, open: false };
        let begun = chain.begin(&kinds, &mut out);
        let mut state = match begun {
            Ok(_) => drive(&mut chain, &mut reader, &mut out),
            Err(interruptions) => Drive::Interrupted(interruptions),
        };
        while let Drive::Interrupted(interruptions) = state {
            for interruption in interruptions {
                match self.hand_over(&mut chain, interruption, &mut out) {
                    Ok(()) => {}
                    Err(_) => return 127,
                }
            }
            state = drive(&mut chain, &mut reader, &mut out);
        }
        self.end(&chain, out)
    }

    fn end(&mut self, chain: &Chain, mut out: Out) -> i32 {
        out.flush();
        let failed = out.error.take();
        drop(out);
        let mut last = 0;
        for (i, status) in chain.statuses().into_iter().enumerate() {
            let stage = self.native.nodes[i].stages.end - 1;
            last = status;
            self.tell(stage, status);
        }
        // A broken pipe is no error but an end, as SIGPIPE would have made it.
        if let Some(error) = failed.filter(|error| error.kind() != std::io::ErrorKind::BrokenPipe) {
            let (message, status) = write_failure(&self.native.last_name, &error);
            let _ = std::io::stderr().write_all(message.as_bytes());
            last = status;
            self.tell(self.native.stages.end - 1, last);
        }
        for (pid, stage) in std::mem::take(&mut self.children) {
            let status = wait::reap(pid).map_or(127, |(ended, _)| ended.status());
            if let Some(stage) = stage {
                self.tell(stage, status);
            }
            last = status;
        }
        last
    }

    fn tell(&mut self, stage: usize, status: i32) {
        let mut message = (stage as u32).to_ne_bytes().to_vec();
        message.extend_from_slice(&status.to_ne_bytes());
        // A parent that is gone asks nothing.
        let _ = self.statuses.write_all(&message);
    }

    /// Puts the real commands of the interrupted node in its place.
    fn hand_over(&mut self, chain: &mut Chain, stop: Interruption, out: &mut Out) -> std::io::Result<()> {
        signals::ignore_sigpipe();
        let node = &self.native.nodes[stop.link];
        let resume = node.resume.clone();
        if resume.is_empty() {
            return Err(std::io::Error::other("a kernel handed over that said it never would"));
        }
        let last_stage = node.stages.end - 1;
        let mut after = chain.split_off(stop.link);
        let mut to_real = pipe::pipe()?;
        let new_out = to_real.write;
        // The copy, if kernels follow: it reads what the last real command writes.
        let mut stdout = None;
        if after.len() > 1 {
            let back = pipe::pipe()?;
            if let Some(pid) = spawn::fork_copy()? {
                self.children.push((pid, None));
                stdout = Some(back.write);
            } else {
                drop((back.write, new_out, to_real.read));
                spawn::exit_now(self.go_on_after(&mut after, stop.link, back.read, out));
            }
            out.forget();
        } else {
            out.flush();
        }
        let count = resume.len();
        for (i, (stage, exec)) in resume.into_iter().enumerate() {
            let next = if i + 1 < count { Some(pipe::pipe()?) } else { None };
            let child = Child {
                action: Action::Exec(exec),
                fallback: None,
                stdin: Some(to_real.read.as_fd()),
                stdout: next.as_ref().map(|pipe| pipe.write.as_fd()).or(stdout.as_ref().map(|fd| fd.as_fd())),
                redirections: vec![],
                not_mine: Some(new_out.as_fd()),
            };
            let pid = spawn::spawn(&child)?;
            self.children.insert(i, (pid, Some(if i + 1 == count { last_stage } else { stage })));
            if let Some(next) = next {
                to_real.read = next.read;
            }
        }
        drop(stdout);
        *out = Out::to(new_out);
        out.take(&stop.rest);
        Ok(())
    }

    /// In the copy: the kernels behind the one that handed over go on with what the real command writes.
    fn go_on_after(&mut self, after: &mut Chain, link: usize, input: OwnedFd, out: &mut Out) -> i32 {
        signals::default_sigpipe();
        let mut chain = after.split_off(1);
        self.native.nodes.drain(..=link);
        self.children.clear();
        let source = Source { name: None, file: Some(File::from(input)), kind: InputKind::Other };
        let mut reader = Reader { sources: vec![source], at: 0, open: true };
        let mut own = std::mem::replace(out, Out::to_nobody());
        let mut state = drive(&mut chain, &mut reader, &mut own);
        while let Drive::Interrupted(interruptions) = state {
            for interruption in interruptions {
                if self.hand_over(&mut chain, interruption, &mut own).is_err() {
                    return 127;
                }
            }
            state = drive(&mut chain, &mut reader, &mut own);
        }
        self.end(&chain, own)
    }
}

/// What the real command says if its output cannot be written, and the status it ends with.
fn write_failure(name: &str, error: &std::io::Error) -> (String, i32) {
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    match name {
        "wc" => ("wc: write error\n".into(), 1),
        "sort" => (format!("sort: write failed: 'standard output': {reason}\n"), 2),
        "grep" => (format!("grep: write error: {reason}\n"), 2),
        "sed" => (format!("sed: couldn't flush stdout: {reason}\n"), 4),
        _ => (format!("{name}: write error: {reason}\n"), 1),
    }
}

/// The statuses that a worker told, by stage; later ones count.
pub fn told(statuses: OwnedFd) -> Vec<(usize, i32)> {
    let mut bytes = Vec::new();
    // What cannot be read is missing, and the caller has a status for that.
    let _ = File::from(statuses).read_to_end(&mut bytes);
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, i32::from_ne_bytes);
    bytes.chunks_exact(8).map(|message| (number(&message[..4]) as usize, number(&message[4..]))).collect()
}

/// The inputs of the first kernel, one after another.
struct Reader {
    sources: Vec<Source>,
    at: usize,
    /// Whether the current source has been announced to the kernel.
    open: bool,
}

/// Reads on until everything ended or a kernel hands over.
fn drive(chain: &mut Chain, reader: &mut Reader, out: &mut Out) -> Drive {
    match drive_on(chain, reader, out) {
        Ok(()) => Drive::Over,
        Err(interruptions) => Drive::Interrupted(interruptions),
    }
}

fn drive_on(chain: &mut Chain, reader: &mut Reader, out: &mut Out) -> Result<(), Vec<Interruption>> {
    let mut block = vec![0; BLOCK_BYTES];
    while let Some(source) = reader.sources.get_mut(reader.at) {
        if !reader.open {
            reader.open = true;
            chain.begin_input(source.name.as_deref(), out)?;
        }
        let flow = read_source(chain, source, &mut block, out)?;
        reader.open = false;
        if flow == Flow::Done {
            reader.at = reader.sources.len();
            break;
        }
        reader.at += 1;
        if chain.end_input(out)? == Flow::Done {
            reader.at = reader.sources.len();
        }
    }
    chain.finish(out).map(drop)
}

fn read_source(
    chain: &mut Chain,
    source: &mut Source,
    block: &mut [u8],
    out: &mut Out,
) -> Result<Flow, Vec<Interruption>> {
    let regular = matches!(source.kind, InputKind::Regular { .. });
    if source.file.is_none() {
        source.file = std::io::stdin().as_fd().try_clone_to_owned().ok().map(File::from);
    }
    let Some(file) = &mut source.file else { return Ok(Flow::More) };
    loop {
        let n = match file.read(block) {
            Ok(0) => return Ok(Flow::More),
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return Ok(Flow::More),
        };
        match chain.push(&block[..n], out)? {
            Flow::More => {}
            Flow::NextInput => return Ok(Flow::More),
            Flow::Done => return Ok(Flow::Done),
        }
        // A stream that trickles is passed on as it trickles. What comes in several pieces at once is not: the real
        // commands would write it in one, and a reader that takes too much (`sh -c 'head -1; cat'`) can tell.
        if !regular && n < block.len() && !pipe::is_readable_within(file.as_fd(), TRICKLE) {
            out.flush();
        }
    }
}

/// An input that gives nothing for so long trickles.
const TRICKLE: Duration = Duration::from_millis(40);

/// Buffered output to a descriptor.
struct Out {
    file: Option<File>,
    buffer: Vec<u8>,
    error: Option<std::io::Error>,
}

const OUT_BYTES: usize = 64 * 1024;

impl Out {
    fn stdout() -> std::io::Result<Self> {
        Ok(Out::to(std::io::stdout().as_fd().try_clone_to_owned()?))
    }

    fn to(fd: OwnedFd) -> Self {
        Out { file: Some(File::from(fd)), buffer: Vec::with_capacity(OUT_BYTES), error: None }
    }

    fn to_nobody() -> Self {
        Out { file: None, buffer: Vec::new(), error: None }
    }

    /// Drops what is buffered: a copy of this process writes it.
    fn forget(&mut self) {
        self.buffer.clear();
    }

    fn flush(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.write(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
    }

    /// A broken pipe ends this process, as it would the real command, unless SIGPIPE is ignored by now.
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_some() || bytes.is_empty() {
            return;
        }
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(bytes)
        {
            self.error = Some(error);
        }
    }

    fn wanted(&self) -> Flow {
        if self.error.is_some() { Flow::Done } else { Flow::More }
    }
}

impl Sink for Out {
    fn take(&mut self, bytes: &[u8]) -> Flow {
        if self.buffer.len() + bytes.len() <= OUT_BYTES {
            self.buffer.extend_from_slice(bytes);
            return self.wanted();
        }
        self.flush();
        if bytes.len() >= OUT_BYTES {
            self.write(bytes);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        self.wanted()
    }
}
