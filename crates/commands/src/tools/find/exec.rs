//! `-exec`: runs a kernel for each list of files, without a process. Falls back to the real command for what
//! the kernel does not support, or if its output cannot be written.

use std::io;

use pelton_find::IncrementalWalk;
use pelton_stream::{BLOCK_BYTES, Resources, Started};
use pelton_sys::wait::Ended;

use crate::tool::in_process_exec::{Program, Progress, Run, RunOutput};

pub(super) struct Exec {
    program: Program,
    /// Whether its status counts: with one run per file, only the expression uses it.
    counts: bool,
    now: Now,
    /// Whether writing output has failed. That ends the real command, which then runs again over each list
    /// and reports it.
    unwritten: bool,
    failed: bool,
    resources: Resources,
    output_is_discarded: bool,
    /// The read buffer.
    block: Vec<u8>,
}

enum Now {
    Idle,
    /// A kernel reads these files.
    Runs(Box<Run>, Vec<Vec<u8>>),
    /// A kernel has read them, and its output is written.
    Ran(Vec<Vec<u8>>),
    /// The real command must be started for these.
    Due(Vec<Vec<u8>>),
    Real(Box<dyn Started>),
}

impl Exec {
    /// `gathers`: it runs for as many files as fit.
    pub(super) fn new(program: Program, gathers: bool) -> Self {
        Exec {
            program,
            counts: gathers,
            now: Now::Idle,
            unwritten: false,
            failed: false,
            resources: Resources::default(),
            output_is_discarded: false,
            block: Vec::new(),
        }
    }

    pub(super) fn attach(&mut self, resources: &Resources) {
        self.resources = resources.clone();
    }

    pub(super) fn output_is_discarded(&mut self) {
        self.output_is_discarded = true;
    }

    /// Whether a run is in progress.
    pub(super) fn is_busy(&self) -> bool {
        !matches!(self.now, Now::Idle)
    }

    /// Whether the output so far must be written first: a process may print next, or a write error must be
    /// detected while its origin is known.
    pub(super) fn requires_flush(&self) -> bool {
        matches!(self.now, Now::Due(_) | Now::Ran(_))
    }

    /// Whether a run whose status counts failed.
    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// Handles a write error: the real command repeats the current run, which only reads files, and reports
    /// the error.
    pub(super) fn leaves_all_to_real_ones(&mut self) -> bool {
        self.unwritten = true;
        self.now = match std::mem::replace(&mut self.now, Now::Idle) {
            Now::Runs(_, files) | Now::Ran(files) => Now::Due(files),
            now => now,
        };
        true
    }

    /// Starts the command for these files.
    pub(super) fn begin(&mut self, files: Vec<Vec<u8>>) {
        let run = match self.unwritten {
            true => None,
            false => Run::new(&self.program, files.clone(), &self.resources, self.output_is_discarded).ok(),
        };
        self.now = match run {
            Some(run) => Now::Runs(Box::new(run), files),
            None => Now::Due(files),
        };
    }

    /// Continues the current run for a while. The walk formats error messages.
    pub(super) fn resume(&mut self, walk: &IncrementalWalk, out: &mut Vec<u8>, errors: &mut Vec<u8>) {
        self.block.resize(BLOCK_BYTES, 0);
        self.now = match std::mem::replace(&mut self.now, Now::Idle) {
            Now::Idle | Now::Ran(_) => Now::Idle,
            Now::Runs(run, files) => self.run_on(run, files, out, errors),
            Now::Due(files) => match self.start(&files) {
                Ok(real) => Now::Real(real),
                Err(error) => {
                    errors.extend(walk.not_started(&error));
                    self.ended(1)
                }
            },
            Now::Real(mut real) => match real.read(&mut self.block) {
                Ok(read @ 1..) => {
                    out.extend_from_slice(&self.block[..read]);
                    Now::Real(real)
                }
                _ => match real.end() {
                    Ok(Ended::Signalled(signal, _)) => {
                        errors.extend(walk.killed(signal));
                        self.ended(1)
                    }
                    ended => self.ended(ended.map_or(1, Ended::status)),
                },
            },
        };
    }

    fn run_on(
        &mut self,
        mut run: Box<Run>,
        files: Vec<Vec<u8>>,
        out: &mut Vec<u8>,
        errors: &mut Vec<u8>,
    ) -> Now {
        let before = (out.len(), errors.len());
        let mut said = RunOutput { out, complaints: errors };
        match run.resume(&self.resources, &mut self.block, &mut said) {
            Ok(Progress::Paused) => Now::Runs(run, files),
            Ok(Progress::Ended(status)) => {
                let idle = self.ended(status);
                if out.len() > before.0 { Now::Ran(files) } else { idle }
            }
            Err(_) => {
                out.truncate(before.0);
                errors.truncate(before.1);
                Now::Due(files)
            }
        }
    }

    fn ended(&mut self, status: i32) -> Now {
        self.failed |= self.counts && status != 0;
        Now::Idle
    }

    fn start(&self, files: &[Vec<u8>]) -> io::Result<Box<dyn Started>> {
        let nobody = || io::Error::other("nobody starts programs");
        self.resources.programs.as_ref().ok_or_else(nobody)?.start(self.program.args(files))
    }
}
