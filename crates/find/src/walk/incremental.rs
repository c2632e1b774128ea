//! A single-threaded search in steps, for callers that do other work in between.

use super::run::Run;
use super::settings::{Order, Settings, Walk};
use super::worker::Worker;
use crate::message;
use crate::query::Query;
use crate::sink::Sink;
use pelton_sys::libc_patterns;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of entries per step.
const ENTRIES: usize = 512;

/// A search in GNU find's order.
pub struct IncrementalWalk {
    run: &'static Run<'static>,
    kept: &'static Kept,
    worker: Worker<'static>,
    started: bool,
    ended: bool,
}

/// Output and commands in order, until the caller takes them.
#[derive(Default)]
struct Kept(Mutex<VecDeque<Piece>>);

enum Piece {
    Text(Vec<u8>),
    Error(Vec<u8>),
    Command(Vec<Vec<u8>>),
}

impl Kept {
    fn pieces(&self) -> MutexGuard<'_, VecDeque<Piece>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Kept {
    fn text(&self, bytes: &[u8]) -> io::Result<()> {
        let mut pieces = self.pieces();
        match pieces.back_mut() {
            Some(Piece::Text(text)) => text.extend_from_slice(bytes),
            _ => pieces.push_back(Piece::Text(bytes.to_vec())),
        }
        Ok(())
    }

    fn error(&self, bytes: &[u8]) {
        self.pieces().push_back(Piece::Error(bytes.to_vec()));
    }

    fn command(&self, paths: Vec<Vec<u8>>) -> Result<(), Vec<Vec<u8>>> {
        self.pieces().push_back(Piece::Command(paths));
        Ok(())
    }
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextEntry {
    /// Call again, after showing the output.
    More,
    /// Run the query's command for these paths.
    Command(Vec<Vec<u8>>),
    /// The search is over.
    Done,
}

impl IncrementalWalk {
    /// Prepares a search. The query and the run are leaked: a process does one such search, and ends.
    pub fn new(query: Query) -> Self {
        if query.manner.utf8 {
            // Messages quote names: this process has not set the locale that the query was parsed in.
            libc_patterns::use_utf8();
        }
        let settings = Settings {
            walk: Walk::Sequential,
            workers: 1,
            slots: 0,
            order: Order::Listed,
            first: false,
            stop_on_error: false,
            promptly: false,
            alone: u64::MAX,
            timeline: false,
        };
        let kept: &Kept = Box::leak(Box::default());
        let run: &Run<'_> = Box::leak(Box::new(Run::new(Box::leak(Box::new(query)), &settings, kept, true)));
        IncrementalWalk { run, kept, worker: Worker::new(run, 0), started: false, ended: false }
    }

    /// Continues until there is output or a command. Appends the output, and error messages that follow it.
    pub fn go_on(&mut self, out: &mut Vec<u8>, errors: &mut Vec<u8>) -> NextEntry {
        if !std::mem::replace(&mut self.started, true) {
            self.worker.start();
        }
        let before = out.len();
        loop {
            while let Some(piece) = { self.kept.pieces().pop_front() } {
                match piece {
                    Piece::Text(text) => out.extend_from_slice(&text),
                    Piece::Error(text) => {
                        errors.extend_from_slice(&text);
                        return NextEntry::More;
                    }
                    Piece::Command(paths) => return NextEntry::Command(paths),
                }
            }
            if self.ended {
                return NextEntry::Done;
            }
            // Return early only with output: without, calling again would make no difference.
            if out.len() > before {
                return NextEntry::More;
            }
            self.ended = !self.worker.advance(ENTRIES);
        }
    }

    /// Returns the message for a command that a signal ended.
    pub fn killed(&self, signal: i32) -> Vec<u8> {
        let mut said = Vec::new();
        message::killed(self.command_name(), signal, self.run.query.manner, &mut said);
        said
    }

    /// Returns the message for a command that cannot be started.
    pub fn not_started(&self, error: &io::Error) -> Vec<u8> {
        let mut said = Vec::new();
        message::failed(self.command_name(), error, self.run.query.manner, &mut said);
        said
    }

    fn command_name(&self) -> &[u8] {
        self.run.query.command().and_then(|line| line.words.first()).map_or(&[], Vec::as_slice)
    }

    /// Returns find's exit status so far.
    pub fn status(&self) -> i32 {
        i32::from(self.run.failed.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Surroundings, parse};

    #[test]
    fn in_pieces_it_finds_what_find_finds() {
        let dir = tempfile::tempdir().unwrap();
        for place in 0..300 {
            let inner = dir.path().join(format!("d{}/e{place}", place % 7));
            std::fs::create_dir_all(&inner).unwrap();
            std::fs::write(inner.join("name.c"), "").unwrap();
        }
        let start = dir.path().to_str().unwrap();
        for expression in
            [&[][..], &["-name", "*.c"], &["-type", "d"], &["-name", "e1*", "-prune", "-o", "-print"]]
        {
            let words: Vec<&str> = [start, "nowhere"].iter().chain(expression).copied().collect();
            let real = std::process::Command::new("find").args(&words).env("LC_ALL", "C").output().unwrap();
            let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            let around = Surroundings { utf8: false, output_is_terminal: false, input_is_terminal: false };
            let mut stroll = IncrementalWalk::new(parse(&words, around).unwrap());
            let (mut out, mut errors) = (Vec::new(), Vec::new());
            while stroll.go_on(&mut out, &mut errors) != NextEntry::Done {}
            assert!(out == real.stdout && errors == real.stderr, "{expression:?}");
            assert_eq!(stroll.status(), real.status.code().unwrap());
        }
    }
}
