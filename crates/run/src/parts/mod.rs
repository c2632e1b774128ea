//! A real command as several processes, each over some of the lines of its input.
//!
//! A process of pelton's stands where the command would stand. It looks at the first of its input without taking it
//! ([`trial`]): if the command costs too little, or anything is odd, it becomes the command, and nothing was changed.
//! Else it deals the lines out ([`crew`]):
//!
//! ```text
//!            ┌► part 1 (lines 1 to 9000)  ─► at once      ┐
//!   input ───┼► part 2 (9001 to 18000)    ─► kept         ├─► output, in order
//!            └► part 3 (18001 to …)       ─► kept         ┘
//! ```
//!
//! A process does not say when it has finished a line, so each gets a run of lines and then the end of its input, and the
//! next run is for a new process. A run is so long that starting a process costs little beside it ([`grain`]): that is
//! simple, and exact for any command. Processes that live on would save that little, and need a way to tell the output of
//! one block from the next, which no filter offers.
//!
//! Whatever ends a part early would have ended the command: what comes behind it is dropped, and its processes killed.
//! They die with this one too, so that none is left whatever happens.

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
use pelton_commands::io_errors::Caller;
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

/// Less input does not pay for the trial, which costs two starts of the command.
const WORTH_BYTES: u64 = 16 << 20;

/// Whether several processes of a command with this name may share its lines.
pub fn may_be(name: &[u8]) -> bool {
    may_be_stateless(name) || settings::declared().names(name)
}

/// What is known of this call, if the user declared it.
pub fn declared(name: &[u8], args: &[Vec<u8>]) -> Option<Stateless> {
    settings::declared().find(name, args)
}

/// Why a stage that could run as several processes had better not, as far as that is known before it starts.
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
    let own = stage.program(around).ok()?.redirections;
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
    /// Which stage.
    pub stage: usize,
    /// The command as it is.
    real: Exec,
    /// The command for a part: it reads its standard input.
    part: Exec,
    stateless: Stateless,
    redirections: Vec<Redirection>,
    /// If a redirection fails.
    fallback: Option<Exec>,
}

impl Parts {
    /// For this stage; `None` if it cannot be after all.
    pub fn new(
        stage: usize,
        plan: &StagePlan,
        stateless: &Stateless,
        around: &Surroundings<'_>,
    ) -> Option<Self> {
        let native = plan.program(around).ok()?;
        let Action::Exec(real) = native.action else { return None };
        let args = stateless.args.iter().map(|arg| c_string(arg)).collect::<Option<Vec<_>>>()?;
        let argv = real.argv.iter().take(1).cloned().chain(args).collect();
        let part = Exec { argv, ..real.clone() };
        let fallback = plan.shell_exec(around);
        let redirections = native.redirections;
        Some(Parts { stage, real, part, stateless: stateless.clone(), redirections, fallback })
    }

    /// Starts the process that stands for the stage, `tie`d to this one or not.
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

    /// Runs it as several processes; `None`, with nothing taken from its input, if that is not to be.
    fn divide(&self) -> Option<End> {
        let mut source = Source::open(&self.stateless)?;
        signals::ignore_sigpipe();
        let called = String::from_utf8_lossy(self.real.argv.first()?.as_bytes()).into_owned();
        let out = File::from(std::io::stdout().as_fd().try_clone_to_owned().ok()?);
        let mut crew = match cost_probe::judge(&self.part, &self.stateless, &mut source) {
            Verdict::Real => return None,
            Verdict::Parts { grain, first } => {
                elastic::give_way_as_asked();
                let locale = choose::locale_of(&self.real.envp);
                let messages = locale.map_or(Messages::Unknown, |locale| locale.messages);
                Dispatcher::new(self, source, grain, first, Caller::named(called, messages), out)
            }
        };
        if self.stage == 0 {
            crew.count_for_progress();
        }
        Some(crew.run())
    }

    /// As if it had been started in the first place.
    fn become_real(&self) -> i32 {
        let error = spawn::replace(&self.real);
        let path = self.real.path.to_string_lossy();
        // What a shell that cannot start a program says ends with the reason as well.
        let _ = writeln!(std::io::stderr(), "pelton: cannot execute {path}: {error}");
        126
    }
}
