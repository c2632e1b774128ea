//! Fallback: real commands replace a kernel that does not support its input.

use super::feed::Feed;
use super::out::Out;
use super::reader::Reader;
use super::worker::{Successor, Worker};
use pelton_stream::{Chain, Interruption, Sink, StatusAfter};
use pelton_sys::spawn::{self, Action, Child, Tie};
use pelton_sys::{pipe, signals};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

impl Worker {
    /// Starts the real commands of the interrupted node in its place.
    pub(super) fn hand_over(
        &mut self,
        chain: &mut Chain,
        stop: Interruption,
        out: &mut Out,
    ) -> std::io::Result<()> {
        signals::ignore_sigpipe();
        // A forked copy has one thread.
        chain.detach();
        let node = &self.native.nodes[stop.link];
        let resume = node.resume.clone();
        if resume.is_empty() {
            return Err(std::io::Error::other("a kernel handed over that said it never would"));
        }
        let last_stage = node.stages.end - 1;
        let mut after = chain.split_off(stop.link);
        let mut to_real = pipe::pipe()?;
        let new_out = to_real.write;
        // The copy, if kernels follow: it reads the output of the last real command.
        let mut stdout = None;
        if after.len() > 1 {
            let back = pipe::pipe()?;
            let worker = std::process::id();
            if let Some(pid) = spawn::fork_copy()? {
                self.children.push(Successor { pid, stage: None, status: StatusAfter::default() });
                stdout = Some(back.write);
            } else {
                if self.native.tie == Tie::ToParent && !spawn::dies_with(worker) {
                    spawn::exit_now(127);
                }
                drop((back.write, new_out, to_real.read));
                spawn::exit_now(self.go_on_after(&mut after, stop.link, back.read, out));
            }
            out.forget();
        } else {
            out.flush();
        }
        let count = resume.len();
        let spawn = match self.native.tie {
            Tie::None => spawn::spawn,
            Tie::ToParent => spawn::spawn_tied,
        };
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
            let pid = spawn(&child)?;
            let last = i + 1 == count;
            let stage = Some(if last { last_stage } else { stage });
            let status = if last { stop.status } else { StatusAfter::default() };
            self.children.insert(i, Successor { pid, stage, status });
            if let Some(next) = next {
                to_real.read = next.read;
            }
        }
        // Only the real command reads: if it ends early, no write may block on its pipe.
        drop((stdout, to_real.read));
        *out = Out::to(new_out);
        out.take(&stop.rest);
        Ok(())
    }

    /// Runs in the copy: the kernels after the one that fell back continue with the output of the real
    /// command.
    fn go_on_after(&mut self, after: &mut Chain, link: usize, input: OwnedFd, out: &mut Out) -> i32 {
        signals::default_sigpipe();
        let mut chain = after.split_off(1);
        self.native.nodes.drain(..=link);
        self.children.clear();
        let mut feed = Feed::InTurn(Reader::going_on(File::from(input)).asking(self.native.itself()));
        let mut own = std::mem::replace(out, Out::to_nobody());
        let driven = feed.drive(&mut chain, &mut own);
        self.finish(driven, &mut feed, chain, own)
    }
}
