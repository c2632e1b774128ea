//! In-process runs of a command over files whose names arrive as data, without a process for each.
//!
//! Until a run has committed output, it can be undone: on anything that its kernel does not support, the real
//! command runs over the whole list instead. Before it commits, it checks that all its other files will open.

use std::io::Read;
use std::sync::Arc;

use pelton_stream::{Chain, Fed, Files, Flow, InputKind, Kernel, Resources, Sink, block_bytes};

use crate::tool::row::InProcess;
use crate::{Accept, Command, Context, Declined, Implementation, Input, Locale};

/// A result, or the reason for a fallback.
pub(crate) type OrFallback<T> = Result<T, &'static str>;

/// Output bytes that a run buffers before it commits, and the most that it produces at once.
const KEPT_BYTES: usize = 1 << 20;

/// A run that cannot commit before its end, and prints more bytes than this, falls back.
const MOST_BYTES: usize = 64 << 20;

/// A placeholder for a file while arguments are parsed before names are known. It is no option, has no `=`,
/// and occurs in no word of a user: if the name is an option's value or a pattern, it must not be taken for
/// another file operand.
const SOME_FILE: &[u8] = b"pelton:some:file";

/// Whether a kernel can replace the command of this name.
pub(crate) fn is_known(name: &[u8]) -> bool {
    crate::lookup(name).is_some_and(|tool| tool.in_process != InProcess::Never)
}

/// Whether the command of this name reads the files that it is given.
pub(crate) fn reads_files(name: &[u8]) -> bool {
    crate::lookup(name).is_some_and(|tool| matches!(tool.in_process, InProcess::Reads { .. }))
}

/// A command and its arguments, to which file names are added.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: Vec<u8>,
    words: Vec<Vec<u8>>,
    /// The index for the name, unless it follows all arguments.
    at: Option<usize>,
    context: Context,
    /// The command, accepted for one file.
    one: Arc<dyn Command>,
    /// How its kernel replaces a process.
    in_process: InProcess,
}

impl Program {
    /// Accepts a command. `replace`: the placeholder among the arguments if names come one by one. `single`:
    /// they come one by one.
    pub(crate) fn new(
        name: &[u8],
        words: &[Vec<u8>],
        replace: Option<&[u8]>,
        single: bool,
        locale: &Locale,
    ) -> Accept<Self> {
        let Some(tool) = crate::lookup(name) else {
            return Declined::because("no kernel can stand for it");
        };
        let in_process = tool.in_process;
        if in_process == InProcess::Never {
            return Declined::because("no kernel can stand for it");
        }
        if words.iter().any(|word| memchr::memmem::find(word, SOME_FILE).is_some()) {
            return Declined::because("a word of it is what stands for names here");
        }
        let at = match replace {
            None => None,
            Some(pattern) => Some(place_of(pattern, words)?),
        };
        let context = Context { locale: locale.clone(), implementation: Implementation::tested(tool.family) };
        let some = |count: usize| vec![SOME_FILE.to_vec(); count];
        let understand = |files: &[Vec<u8>]| {
            understand(name, &with(words, at, files), read_by(in_process, files), &context)
        };
        let one = understand(&some(1))?;
        if !single {
            understand(&some(2))?;
        }
        let (name, words, one) = (name.to_vec(), words.to_vec(), Arc::from(one));
        Ok(Program { name, words, at, context, one, in_process })
    }

    /// Returns the arguments of a run over these files.
    pub(crate) fn args(&self, files: &[Vec<u8>]) -> Vec<Vec<u8>> {
        with(&self.words, self.at, files)
    }

    fn kernel(&self, files: &[Vec<u8>]) -> OrFallback<(Box<dyn Kernel>, bool)> {
        let is_plain = |name: &Vec<u8>| !name.is_empty() && !name.starts_with(b"-");
        let reuses_kernel = matches!(self.in_process, InProcess::Reads { reuses_kernel: true, .. });
        let known = matches!(files, [file] if is_plain(file)) && reuses_kernel;
        let made = if known {
            self.one.kernel().map(|kernel| (kernel, self.one.resume_args().is_some()))
        } else {
            understand(&self.name, &self.args(files), read_by(self.in_process, files), &self.context)
                .and_then(|command| Ok((command.kernel()?, command.resume_args().is_some())))
        };
        made.map_err(|_| "arguments that only the real command understands")
    }
}

fn place_of(pattern: &[u8], words: &[Vec<u8>]) -> Accept<usize> {
    let holds = |word: &Vec<u8>| memchr::memmem::find(word, pattern).is_some();
    let mut places = (0..words.len()).filter(|&at| holds(&words[at]));
    match (places.next(), places.next()) {
        (Some(at), None) if words[at] == pattern => Ok(at),
        _ => Declined::because("the name stands within a word, in several, or in none"),
    }
}

fn with(words: &[Vec<u8>], at: Option<usize>, files: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (before, behind) = words.split_at(at.unwrap_or(words.len()));
    let behind = behind.get(usize::from(at.is_some())..).unwrap_or_default();
    [before, files, behind].concat()
}

/// Returns those of the named files that the command reads.
fn read_by(in_process: InProcess, files: &[Vec<u8>]) -> &[Vec<u8>] {
    if in_process == InProcess::Prints { &[] } else { files }
}

/// Accepts the command if it reads these files in this order, and does nothing else. No command that reads a script or
/// writes copies comes here: [`crate::accept`] reads no scripts, and `tee` never runs in process.
fn understand(
    name: &[u8],
    args: &[Vec<u8>],
    files: &[Vec<u8>],
    context: &Context,
) -> Accept<Box<dyn Command>> {
    let command = crate::accept(name, args, context)?;
    let mut inputs = command.inputs().iter();
    let reads = files.iter().all(|file| inputs.next() == Some(&Input::File(file.clone())));
    if !reads || inputs.next().is_some() {
        return Declined::because("it does more than to read the files that are named");
    }
    command.kernel()?;
    Ok(command)
}

/// A run in progress.
pub(crate) struct Run {
    chain: Chain,
    name: Vec<u8>,
    files: Vec<Vec<u8>>,
    at: usize,
    open: Option<Box<dyn Read + Send>>,
    /// Whether all files were stat'ed before the first was read.
    looked: bool,
    /// Whether the kernel has begun the current file.
    begun: bool,
    /// Whether output was committed.
    committed: bool,
    /// Whether there is data on which the kernel stops, so that the real command runs over the whole list.
    may_give_up: bool,
    /// Whether a file was lost after the commit, too late for a fallback.
    failed: bool,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Output must be committed first.
    Paused,
    /// It ended with this status.
    Ended(i32),
}

/// The output of a run.
pub(crate) struct RunOutput<'a> {
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) complaints: &'a mut Vec<u8>,
}

impl Sink for RunOutput<'_> {
    fn take(&mut self, bytes: &[u8]) -> Flow {
        self.out.extend_from_slice(bytes);
        Flow::More
    }

    fn complain(&mut self, text: &[u8]) {
        self.complaints.extend_from_slice(text);
    }
}

impl Run {
    /// Starts a run over these files, at least one.
    pub(crate) fn new(
        program: &Program,
        files: Vec<Vec<u8>>,
        resources: &Resources,
        null: bool,
    ) -> OrFallback<Self> {
        let opener = opener(resources)?;
        let (kernel, may_give_up) = program.kernel(&files)?;
        let mut chain = Chain::new(vec![kernel]);
        let storage = resources.storage.clone();
        chain.attach(&Resources { storage, ..Resources::default() }, std::slice::from_ref(&resources.itself));
        if null {
            chain.output_is_discarded();
        }
        let files = read_by(program.in_process, &files).to_vec();
        let needs_all_sizes = matches!(program.in_process, InProcess::Reads { needs_all_sizes: true, .. });
        let looked = files.len() > 1 && needs_all_sizes;
        let (mut open, mut kinds) = (None, Vec::new());
        if let [file] = &files[..] {
            let (file, bytes) = opener.open(file).ok_or(NOT_PLAIN)?;
            open = Some(file);
            kinds.push(InputKind::Regular { bytes });
        } else if looked {
            let kind = |bytes| InputKind::Regular { bytes };
            let all = files.iter().map(|file| opener.look(file).map(kind)).collect::<Option<_>>();
            kinds = all.ok_or(NOT_PLAIN)?;
        }
        chain.begin(&kinds, &mut Vec::new()).map_err(|_| UNJUDGED)?;
        let name = program.name.clone();
        let (begun, committed, failed) = (false, false, false);
        Ok(Run { chain, name, files, at: 0, open, looked, begun, committed, may_give_up, failed })
    }

    /// Continues until the end, or until enough was printed for one call. `block` is the read buffer.
    pub(crate) fn resume(
        &mut self,
        resources: &Resources,
        block: &mut [u8],
        said: &mut RunOutput<'_>,
    ) -> OrFallback<Progress> {
        let opener = opener(resources)?;
        let before = said.out.len();
        while self.at < self.files.len() {
            let printed = said.out.len() - before;
            if (printed >= KEPT_BYTES || !said.complaints.is_empty()) && self.may_commit(opener) {
                return Ok(Progress::Paused);
            }
            // Diagnostics follow the output printed before them, and neither may be written too early.
            if printed >= MOST_BYTES || !said.complaints.is_empty() {
                return Err("more than is kept");
            }
            if !self.begin(opener, said)? {
                self.at += 1;
                continue;
            }
            match self.read(block, said)? {
                Flow::More if self.open.is_some() => {}
                Flow::Done => self.at = self.files.len(),
                _ => {
                    (self.open, self.begun) = (None, false);
                    let ended = self.chain.end_input(said).map_err(|_| UNJUDGED)?;
                    self.at = if ended == Flow::Done { self.files.len() } else { self.at + 1 };
                }
            }
        }
        self.chain.finish(said).map_err(|_| UNJUDGED)?;
        let status = self.chain.statuses().first().copied().unwrap_or(0);
        Ok(Progress::Ended(status.max(i32::from(self.failed))))
    }

    /// Commits if possible: from here on nothing can be undone.
    fn may_commit(&mut self, files: &dyn Files) -> bool {
        let rest = &self.files[(self.at + usize::from(self.begun)).min(self.files.len())..];
        let is_plain = |file: &Vec<u8>| self.looked || files.look(file).is_some();
        self.committed |= !self.may_give_up && rest.iter().all(|file| is_plain(file) && files.may_open(file));
        self.committed
    }

    /// Opens the current file, if it is not open. Returns `false` if it has gone since it was checked, too
    /// late for a fallback.
    fn begin(&mut self, files: &dyn Files, said: &mut RunOutput<'_>) -> OrFallback<bool> {
        if self.open.is_none() {
            let name = &self.files[self.at];
            match files.open(name) {
                Some((file, bytes)) => {
                    self.open = Some(file);
                    if !self.looked {
                        self.chain.set_input(InputKind::Regular { bytes });
                    }
                }
                None if self.committed => {
                    said.complain(&[&self.name[..], b": ", name, b": No such file or directory\n"].concat());
                    self.failed = true;
                    return Ok(false);
                }
                None => return Err(NOT_PLAIN),
            }
        }
        if !std::mem::replace(&mut self.begun, true) {
            self.chain.begin_input(Some(&self.files[self.at]), said).map_err(|_| UNJUDGED)?;
        }
        Ok(true)
    }

    /// Reads and processes the next block; closes the file at its end.
    fn read(&mut self, block: &mut [u8], said: &mut RunOutput<'_>) -> OrFallback<Flow> {
        let Some(file) = &mut self.open else { return Ok(Flow::More) };
        let read = match file.read(block) {
            Ok(read) => read,
            Err(error) if self.committed => {
                let text = error.to_string();
                let reason = text.split(" (os error").next().unwrap_or_default();
                let file = &self.files[self.at];
                said.complain(&[&self.name[..], b": ", file, b": ", reason.as_bytes(), b"\n"].concat());
                self.failed = true;
                self.chain.input_is_unreadable();
                0
            }
            Err(_) => return Err("a file that cannot be read"),
        };
        // A short read: the file ends there.
        if read < block.len() {
            self.open = None;
        }
        give(&mut self.chain, &block[..read], said).map_err(|_| UNJUDGED)
    }
}

const NOT_PLAIN: &str = "a file that is not plain, or cannot be opened";
const UNJUDGED: &str = "data that only the real command can judge";

fn opener(resources: &Resources) -> OrFallback<&dyn Files> {
    resources.files.as_deref().ok_or("nobody opens files")
}

fn give(chain: &mut Chain, block: &[u8], said: &mut RunOutput<'_>) -> Fed {
    if block.is_empty() {
        return Ok(Flow::More);
    }
    chain.arrives(block);
    for piece in block.chunks(block_bytes()) {
        let flow = chain.feed(piece, said)?;
        if flow != Flow::More {
            return Ok(flow);
        }
    }
    Ok(Flow::More)
}
