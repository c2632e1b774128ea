//! A real command as several processes, each over some of the lines of its input.
//!
//! A pelton process replaces the command. It inspects the first part of its input without consuming it
//! ([`cost_probe`]): if the command costs too little, or anything is unusual, it becomes the command, and
//! nothing has changed. Otherwise it distributes the lines ([`dispatcher`]):
//!
//! ```text
//!            ┌► part 1 (lines 1 to 9000)  ─► at once      ┐
//!   input ───┼► part 2 (9001 to 18000)    ─► buffered     ├─► output, in order
//!            └► part 3 (18001 to …)       ─► buffered     ┘
//! ```
//!
//! A process does not report finished lines, so each gets a run of lines and then EOF, and the next run goes
//! to a new process. A run is long enough that a process start costs little beside it ([`part_size`]): that
//! is simple, and exact for any command. Long-lived processes would save that little, and need a way to tell
//! the output of one block from the next, which no filter offers.
//!
//! Whatever ends a part early would have ended the command: later parts are dropped, and their processes
//! killed. They die with this process too, so that none is left in any case.

mod cost_probe;
mod dispatcher;
mod part_process;
mod part_size;
mod pending;
mod settings;
mod source;
mod status;

pub use settings::{set_declared, set_part_bytes};

use crate::c_string;
use crate::native::choose;
use crate::native::elastic;
use crate::native::files;
use crate::stage::{Ends, StagePlan, Surroundings};
use cost_probe::Verdict;
use dispatcher::{Dispatcher, End};
use pelton_commands::stateless::{Data, Stateless, may_be_stateless};
use pelton_commands::{Input, Messages};
use pelton_sys::signals;
use pelton_sys::spawn::{self, Action, Child, Exec, Redirection, Tie};
use source::Source;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Less input is not worth the trial, which costs two starts of the command.
const WORTH_BYTES: u64 = 16 << 20;

/// Whether several processes of a command with this name may share its lines.
pub fn may_be(name: &[u8]) -> bool {
    may_be_stateless(name) || settings::declared().names(name)
}

/// Returns the properties of this call, if the user declared it.
pub fn declared(name: &[u8], args: &[Vec<u8>]) -> Option<Stateless> {
    settings::declared().find(name, args)
}

/// Returns why a stage that could be split should not be, as far as known before it starts.
pub fn refusal(
    stateless: &Stateless,
    stage: &StagePlan,
    first: bool,
    input_bytes: Option<u64>,
    around: &Surroundings<'_>,
) -> Option<String> {
    if let Err(declined) = files::standard_streams() {
        return Some(declined.reason);
    }
    let home = around.environment.get("HOME").map(Path::new);
    if stateless.data == Data::Json && home.is_none_or(|home| home.join(".jq").exists()) {
        return Some("what .jq at home defines".to_owned());
    }
    if settings::part_bytes().is_some() {
        return None;
    }
    if !elastic::Elastic::new().may_grow() {
        return Some("there is one core for it, or --jobs allows no more".to_owned());
    }
    let own = stage.program(around).ok()?.child.redirections;
    let redirected = own.iter().rev().find_map(|redirection| match redirection {
        Redirection::Open { fd: 0, path, .. } => Some(path.as_bytes()),
        _ => None,
    });
    let file = match &stateless.input {
        Input::File(name) => Some(name.as_slice()),
        Input::Stdin => redirected,
    };
    if first && file.is_none() && std::io::stdin().is_terminal() {
        return Some("its standard input is a terminal".to_owned());
    }
    let size =
        |name: &[u8]| std::fs::metadata(Path::new(OsStr::from_bytes(name))).ok().map(|file| file.len());
    let bytes = file.map_or(input_bytes, size)?;
    (bytes < WORTH_BYTES).then(|| "its input is small".to_owned())
}

/// A stage that may run as several processes.
pub struct Parts {
    /// The index of the stage.
    pub stage: usize,
    /// The unchanged command.
    real: Exec,
    /// The command for a part: it reads standard input.
    part: Exec,
    stateless: Stateless,
    redirections: Vec<Redirection>,
    /// The fallback if a redirection fails.
    fallback: Option<Exec>,
}

impl Parts {
    /// Makes the parts of this stage; `None` if it cannot be split after all.
    pub fn new(
        stage: usize,
        plan: &StagePlan,
        stateless: &Stateless,
        around: &Surroundings<'_>,
    ) -> Option<Self> {
        let child = plan.program(around).ok()?.child;
        let Action::Exec(real) = child.action else { return None };
        let args = stateless.args.iter().map(|arg| c_string(arg)).collect::<Option<Vec<_>>>()?;
        let argv = real.argv.iter().take(1).cloned().chain(args).collect();
        let part = Exec { argv, ..real.clone() };
        let fallback = plan.shell_exec(around);
        let redirections = child.redirections;
        Some(Parts { stage, real, part, stateless: stateless.clone(), redirections, fallback })
    }

    /// Starts the process that replaces the stage, `tie`d to this one or not.
    ///
    /// # Errors
    /// If the system has no more processes.
    pub fn spawn(mut self, ends: Ends<'_>, tie: Tie) -> std::io::Result<u32> {
        let Ends { stdin, stdout, not_mine } = ends;
        let (redirections, fallback) = (std::mem::take(&mut self.redirections), self.fallback.take());
        let child = Child { action: Action::Exit(0), fallback, stdin, stdout, redirections, not_mine };
        spawn::spawn_worker(&child, tie, &mut || self.run())
    }

    fn run(&self) -> i32 {
        let Some(end) = self.divide() else { return self.become_real() };
        match end {
            End::Status(status) => status,
            End::Signal(signal) => signals::die_by(signal),
        }
    }

    /// Runs it as several processes; `None`, with no input consumed, if that does not pay.
    fn divide(&self) -> Option<End> {
        let mut source = Source::open(&self.stateless)?;
        signals::ignore_sigpipe();
        let called = String::from_utf8_lossy(self.real.argv.first()?.as_bytes()).into_owned();
        let out = File::from(std::io::stdout().as_fd().try_clone_to_owned().ok()?);
        let mut dispatcher = match cost_probe::judge(&self.part, &self.stateless, &mut source) {
            Verdict::Real => return None,
            Verdict::Parts { grain, first } => {
                elastic::give_way_as_asked();
                let locale = choose::locale_of(&self.real.envp);
                let messages = locale.map_or(Messages::Unknown, |locale| locale.messages);
                Dispatcher::new(self, source, grain, first, pelton_commands::caller(called, messages), out)
            }
        };
        if self.stage == 0 {
            dispatcher.count_for_progress();
        }
        Some(dispatcher.run())
    }

    /// Becomes the real command, as if it had been started at first.
    fn become_real(&self) -> i32 {
        let error = spawn::replace(&self.real);
        let path = self.real.path.to_string_lossy();
        // A shell's message for a program that cannot be started ends with the reason too.
        let _ = writeln!(std::io::stderr(), "pelton: cannot execute {path}: {error}");
        126
    }
}
