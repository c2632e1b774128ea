//! A worker: a stack of directories, and the remaining work in each.

mod directory;
mod entry;
mod tasks;

use super::items::{self, Item};
use super::listed_directory::ListedDirectory;
use super::pool::{Ancestor, Task};
use super::run::Run;
use super::sequence::{Sequence, SequenceSlot};
use super::settings::Order;
use super::tally::{Event, Tally};
use super::task_limit::Slot;
use super::worker_output::WorkerOutput;
use crate::evaluate::Evaluator;
use crate::message;
use crate::pattern::Pattern;
use pelton_sys::clock;
use pelton_sys::directories::{self, Kind};
use std::io;
use std::ops::Range;

/// Size of the buffer for one call that lists names.
const BUFFER: usize = 64 << 10;
/// Maximum entries per batch, and the minimum for which they are sorted by inode: both as in GNU find, to get
/// its order.
const BATCH: usize = 100_000;
const SORTED_FROM: usize = 10_000;

/// A directory that has been listed, at least in part.
struct Frame {
    place: ListedDirectory,
    /// Its range of items; those before `at` are done.
    at: usize,
    end: usize,
    first: usize,
    /// Number of items that are work.
    work: u32,
    /// Whether there is more to list.
    more: bool,
    /// Depth of its entries.
    depth: u32,
    /// Length of its path, with a trailing separator.
    path: usize,
    /// Number of ancestors of its entries.
    ancestors: usize,
    /// Its name among the items of the frame below, if it is evaluated after its contents.
    after: Option<Range<usize>>,
}

pub(super) struct Worker<'r> {
    run: &'r Run<'r>,
    frames: Vec<Frame>,
    items: Vec<u8>,
    path: Vec<u8>,
    start: usize,
    device: u64,
    ancestors: Vec<Ancestor>,
    /// Number of bottom frames whose directories are closed.
    closed: usize,
    evaluator: Evaluator<'r>,
    /// The pattern that names must match first, if there is one.
    wanted: Option<&'r Pattern>,
    output: WorkerOutput,
    buffer: Box<[u8]>,
    spans: Vec<(u64, Range<usize>)>,
    tally: Tally,
    /// Whether entries are evaluated only when it is their turn.
    lazy: bool,
    /// Whether output and directories keep their order.
    ordered: bool,
    /// Whether the search ends at this point of the order.
    quit: bool,
    /// Whether the next directory is the one that the current task was made for.
    commissioned: bool,
}

impl<'r> Worker<'r> {
    pub fn new(run: &'r Run<'r>, index: usize) -> Self {
        Worker {
            run,
            frames: Vec::new(),
            items: Vec::new(),
            path: Vec::new(),
            start: 0,
            device: 0,
            ancestors: Vec::new(),
            closed: 0,
            evaluator: Evaluator::new(run.query, run.sink),
            wanted: run.query.first_asks(),
            output: WorkerOutput::default(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            spans: Vec::new(),
            tally: Tally { worker: index, ..Tally::default() },
            lazy: run.query.is_serial(),
            ordered: run.settings.order == Order::Listed,
            quit: false,
            commissioned: false,
        }
    }

    /// Runs the first worker: begins at the starting points, and calls `help` once other workers could help.
    pub fn begin(mut self, help: &dyn Fn()) -> Tally {
        let mut help = (self.run.settings.workers > 1 && !self.lazy).then_some(help);
        self.output.part = self.run.sequence.as_ref().map(Sequence::first);
        self.start();
        self.work(&mut help);
        self.finish_task(Slot::None);
        self.go_on(help)
    }

    pub fn start(&mut self) {
        self.note(Event::Runs);
        self.tally.tasks = 1;
        self.take_starts();
    }

    /// Processes this many entries, for a worker that runs alone. Returns whether there are more.
    pub fn advance(&mut self, entries: usize) -> bool {
        for _ in 0..entries {
            if self.frames.is_empty() {
                self.finish_task(Slot::None);
                return false;
            }
            self.step();
        }
        true
    }

    /// Does tasks until there are no more.
    pub fn serve(self) -> Tally {
        self.go_on(None)
    }

    fn go_on(mut self, mut help: Option<&dyn Fn()>) -> Tally {
        while let Some(task) = self.next_task() {
            let slot = task.slot;
            self.tally.tasks += 1;
            self.note(Event::Runs);
            self.take(task);
            self.work(&mut help);
            self.finish_task(slot);
        }
        self.run.pool.clear();
        self.note(Event::Ends);
        self.tally.statuses = self.evaluator.said.asked;
        self.tally.cpu_ns = clock::thread_cpu_ns();
        self.tally
    }

    fn work(&mut self, help: &mut Option<&dyn Fn()>) {
        while !self.frames.is_empty() {
            self.step();
            if self.tally.directories >= self.run.settings.alone
                && let Some(help) = help.take()
            {
                help();
            }
        }
    }

    fn next_task(&mut self) -> Option<Task> {
        if let Some(task) = self.run.pool.try_next().filter(|_| !self.run.stops()) {
            return Some(task);
        }
        self.note(Event::Waits);
        let began = clock::now_ns();
        let task = self.run.pool.next(&self.run.stop);
        self.tally.waited_ns += clock::now_ns() - began;
        task
    }

    fn note(&mut self, event: Event) {
        self.tally.note(self.run.settings.timeline, self.run.started_ns, event);
    }

    /// Processes the starting points like names in a directory.
    fn take_starts(&mut self) {
        let starts = &self.run.query.starts;
        for start in starts {
            if self.quit || self.run.stops() {
                break;
            }
            self.consider(directories::here(), start, Kind::Unknown, 0);
        }
        self.push(ListedDirectory::Here, 0, 0, 0, false, None);
    }

    fn take(&mut self, task: Task) {
        self.path = task.path;
        self.start = task.start;
        self.device = task.device;
        self.ancestors = task.ancestors;
        self.items = task.items;
        self.closed = 0;
        self.commissioned = !self.run.bound.makes_none();
        self.output.part = task.part;
        let path = self.path.len();
        self.push(task.place, 0, path, task.depth, task.more, None);
    }

    fn finish_task(&mut self, slot: Slot) {
        let run = self.run;
        if self.lazy {
            let Evaluator { said, commands, .. } = &mut self.evaluator;
            commands.finish(said);
            self.tell();
            if self.evaluator.commands.failed {
                run.fail();
            }
        }
        self.output.flush(run, &mut self.tally);
        if let (Some(part), Some(sequence)) = (self.output.part.take(), &run.sequence) {
            match sequence.close(&part, self.quit) {
                Ok(false) => {}
                Ok(true) => run.stop(),
                Err(error) => run.lose(&error),
            }
        }
        self.quit = false;
        self.commissioned = false;
        run.bound.give_back(slot);
    }

    /// Passes output on. Serial searches hold it where commands can flush it before they start.
    fn tell(&mut self) {
        let said = &mut self.evaluator.said;
        let failed = std::mem::take(&mut said.failed);
        said.tell(self.run.sink);
        if let Some(error) = said.lost.take() {
            self.run.lose(&error);
        }
        if failed {
            self.run.fail();
        }
    }

    fn push(
        &mut self,
        place: ListedDirectory,
        first: usize,
        path: usize,
        depth: u32,
        more: bool,
        after: Option<Range<usize>>,
    ) {
        let (mut work, mut at) = (0, first);
        while at < self.items.len() {
            let (item, next) = items::get(&self.items, at);
            work += u32::from(items::is_work(&item));
            at = next;
        }
        let (end, ancestors) = (self.items.len(), self.ancestors.len());
        self.frames.push(Frame { place, at: first, end, first, work, more, depth, path, ancestors, after });
        self.spare_descriptors();
    }

    /// Processes the next item of the top frame.
    fn step(&mut self) {
        if self.is_over() {
            return self.abandon();
        }
        if self.run.pool.has_idle_worker() {
            self.share();
        }
        let Some(frame) = self.frames.last_mut() else { return };
        self.path.truncate(frame.path);
        self.ancestors.truncate(frame.ancestors);
        if frame.at >= frame.end {
            return if frame.more { self.list_more() } else { self.leave() };
        }
        let (item, next) = items::get(&self.items, frame.at);
        frame.at = next;
        frame.work -= u32::from(items::is_work(&item));
        match item {
            Item::Text(_) | Item::Error(_) => self.print(item),
            Item::Quit => {
                self.quit = true;
                return self.abandon();
            }
            Item::Entry(name, kind) => return self.turn(name, kind),
            Item::Directory(name) => return self.descend(name),
        }
        self.output.settle(self.run, &mut self.tally);
    }

    fn is_over(&self) -> bool {
        self.quit || self.run.stops() || self.output.part.as_ref().is_some_and(SequenceSlot::is_dead)
    }

    fn abandon(&mut self) {
        self.frames.clear();
        self.items.clear();
        self.closed = 0;
    }

    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.items.truncate(frame.first);
        self.closed = self.closed.min(self.frames.len());
        drop(frame.place);
        if let (Some(name), Some(below)) = (frame.after, self.frames.last()) {
            self.path.truncate(below.path);
            self.ancestors.truncate(below.ancestors);
            self.evaluate_at_top(name, Kind::Directory);
        }
    }

    /// If none of the items from `first` on is work, prints and removes them.
    fn print_if_idle(&mut self, first: usize) -> bool {
        let mut at = first;
        while at < self.items.len() {
            let (item, next) = items::get(&self.items, at);
            if items::is_work(&item) {
                return false;
            }
            at = next;
        }
        at = first;
        while at < self.items.len() {
            let (item, next) = items::get(&self.items, at);
            self.print(item);
            at = next;
        }
        self.items.truncate(first);
        true
    }

    fn print(&mut self, item: Item) {
        match item {
            Item::Text(range) => self.output.text.extend_from_slice(&self.items[range]),
            Item::Error(range) => {
                self.output.errors.extend_from_slice(&self.items[range]);
                self.quit |= self.run.settings.stop_on_error;
            }
            _ => {}
        }
    }

    /// Reports an error for the directory whose path is this prefix of `self.path`.
    fn complain(&mut self, path: usize, error: &io::Error) {
        let manner = self.run.query.manner;
        let into = if self.lazy { &mut self.evaluator.said.errors } else { &mut self.output.errors };
        message::failed(&self.path[..path], error, manner, into);
        if self.lazy {
            self.evaluator.said.failed = true;
            self.tell();
        } else {
            // In order, the search ends here; otherwise, it ends for all workers.
            self.quit |= self.ordered && self.run.settings.stop_on_error;
            self.output.settle(self.run, &mut self.tally);
        }
    }
}
