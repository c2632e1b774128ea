//! Starts the worker of a segment.

use super::meter::PassCounters;
use super::segment::Native;
use super::statuses::{failed, told};
use super::worker::Worker;
use crate::stage::Ends;
use pelton_sys::pipe;
use pelton_sys::spawn::{self, Action, Child, Exec, Fallback, Gate};
use std::convert::Infallible;
use std::fs::File;
use std::os::fd::BorrowedFd;

/// Makes the shell that runs the stages if a redirection fails against the forecast.
pub type MakeShell<'a> = &'a dyn Fn() -> Option<Exec>;

impl Native {
    /// Starts the worker, which reports to `statuses`.
    pub fn spawn(
        mut self,
        ends: Ends<'_>,
        shell: MakeShell<'_>,
        statuses: BorrowedFd<'_>,
    ) -> std::io::Result<u32> {
        let child = self.child(ends, shell);
        let tie = self.tie;
        let statuses = File::from(statuses.try_clone_to_owned()?);
        let mut worker = Worker::new(self, Some(statuses));
        spawn::spawn_worker(&child, tie, &mut || worker.run())
    }

    /// Returns its process, without the work.
    fn child<'e>(&mut self, Ends { stdin, stdout, not_mine }: Ends<'e>, shell: MakeShell<'e>) -> Child<'e> {
        let members = self.members.iter_mut();
        let redirections = members.flat_map(|stage| std::mem::take(&mut stage.redirections)).collect();
        let fallback = Some(Fallback::Made(shell));
        Child { action: Action::Exit(0), fallback, stdin, stdout, redirections, not_mine }
    }

    /// Runs the worker in this process, which ends with the status of its pipeline: it runs nothing else. A
    /// calling shell waits for it as for the last stage.
    ///
    /// # Errors
    /// If no pipe can be created.
    pub fn become_worker(mut self, pipefail: bool, shell: MakeShell<'_>) -> std::io::Result<Infallible> {
        let (statuses, mut read) = match pipefail.then(pipe::pipe).transpose()? {
            Some(pipe) => (Some(File::from(pipe.write)), Some(pipe.read)),
            None => (None, None),
        };
        let child = self.child(Ends::default(), shell);
        let mut worker = Some(Worker::new(self, statuses));
        spawn::become_worker(&child, &mut || {
            let last = worker.take().map_or(127, |mut worker| worker.run());
            // All writers have ended: the worker has waited for its copies.
            read.take().map_or(last, |statuses| failed(&told(statuses)).unwrap_or(last))
        })
    }

    /// Starts a worker that waits at a gate, and counts its kernels' work in `meter`.
    pub fn spawn_metered(
        mut self,
        ends: Ends<'_>,
        shell: MakeShell<'_>,
        statuses: BorrowedFd<'_>,
        meter: &PassCounters,
    ) -> std::io::Result<(u32, Gate)> {
        for node in &mut self.nodes {
            node.kernel = node.kernel.take().map(|kernel| meter.wrap(node.stages.start, kernel));
        }
        self.join = self.join.map(|(stage, join)| (stage, join.measured(meter.tell(stage))));
        let child = self.child(ends, shell);
        let tie = self.tie;
        let statuses = File::from(statuses.try_clone_to_owned()?);
        let mut worker = Worker::new(self, Some(statuses));
        spawn::spawn_worker_gated(&child, tie, &mut || {
            meter.install();
            worker.run()
        })
    }
}
