//! The process that replaces a stage: it becomes the real command, or shares the lines among several.

use super::cost_probe::{self, Verdict};
use super::dispatcher::Dispatcher;
use super::part_commands::Parts;
use super::source::Source;
use super::status::End;
use crate::environ::locale_of;
use crate::native::elastic;
use crate::stage::Ends;
use pelton_commands::Messages;
use pelton_sys::signals;
use pelton_sys::spawn::{self, Action, Child, Fallback, Tie};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;

impl Parts {
    /// Starts the process that replaces the stage, `tie`d to this one or not.
    ///
    /// # Errors
    /// If the system has no more processes.
    pub fn spawn(mut self, ends: Ends<'_>, tie: Tie) -> std::io::Result<u32> {
        let Ends { stdin, stdout, not_mine } = ends;
        let redirections = std::mem::take(&mut self.redirections);
        let fallback = self.fallback.take().map(Fallback::Program);
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
                let locale = locale_of(&self.real.envp);
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
