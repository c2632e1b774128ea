//! One worker: a stack of directories, and what is left to do in each.

use super::bound::Slot;
use super::items::{self, Item};
use super::outlet::Outlet;
use super::pool::{Ancestor, Task};
use super::{Event, Held, Order, Place, Run, Tally, base_of, identity};
use crate::evaluate::Evaluator;
use crate::message;
use crate::query::Follow;
use crate::subject::{Location, Subject};
use pelton_sys::clock;
use pelton_sys::directories::{self, Kind, More};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What one call may fill with names.
const BUFFER: usize = 64 << 10;
/// Entries that are taken at once, and from how many on they are taken by number: GNU find's, whose order that is.
const BATCH: usize = 100_000;
const SORTED_FROM: usize = 10_000;

/// A directory that has been listed, at least in part.
struct Frame {
    place: Place,
    /// Its items are these; those before `at` are done.
    at: usize,
    end: usize,
    first: usize,
    /// How many of them are work.
    work: u32,
    /// Whether there is more to list.
    more: bool,
    /// How deep entries in it are.
    depth: u32,
    /// How much of the path is its own, with what separates it from names.
    path: usize,
    /// How many ancestors entries in it have.
    ancestors: usize,
    /// Its own name among the items of the frame below, if it is to be evaluated after its contents.
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
    /// Frames below this have been closed already.
    closed: usize,
    evaluator: Evaluator<'r>,
    outlet: Outlet,
    buffer: Box<[MaybeUninit<u8>]>,
    spans: Vec<(u64, Range<usize>)>,
    tally: Tally,
    /// Entries are evaluated when their turn has come.
    lazy: bool,
    /// Output and directories keep their order.
    ordered: bool,
    /// The search ended here, in order.
    quit: bool,
    /// The next directory is what the task at hand was made for.
    commissioned: bool,
}

/// What evaluating an entry means for the walk.
struct Verdict {
    descend: bool,
    quit: bool,
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
            outlet: Outlet::default(),
            buffer: vec![MaybeUninit::uninit(); BUFFER].into_boxed_slice(),
            spans: Vec::new(),
            tally: Tally { worker: index, ..Tally::default() },
            lazy: run.query.is_serial(),
            ordered: run.settings.order == Order::Listed,
            quit: false,
            commissioned: false,
        }
    }

    /// The first worker: begins at the starting points, and calls `help` once it looks as if others could help.
    pub fn begin(mut self, help: &dyn Fn()) -> Tally {
        let mut help = (self.run.settings.workers > 1 && !self.lazy).then_some(help);
        self.outlet.part = self.run.sequence.as_ref().map(super::Sequence::first);
        self.note(Event::Runs);
        self.tally.tasks = 1;
        self.take_starts();
        self.work(&mut help);
        self.finish_task(Slot::None);
        self.go_on(help)
    }

    /// Does tasks until there are none, and will be none.
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
            if self.tally.directories >= self.run.settings.alone {
                if let Some(help) = help.take() {
                    help();
                }
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

    /// Takes the starting points as if they were names in a directory.
    fn take_starts(&mut self) {
        let starts = &self.run.query.starts;
        for start in starts {
            if self.quit || self.run.stops() {
                break;
            }
            self.consider(directories::here(), start, Kind::Unknown, 0);
        }
        self.push(Place::Here, 0, 0, 0, false, None);
    }

    fn take(&mut self, task: Task) {
        self.path = task.path;
        self.start = task.start;
        self.device = task.device;
        self.ancestors = task.ancestors;
        self.items = task.items;
        self.closed = 0;
        self.commissioned = !self.run.bound.makes_none();
        self.outlet.part = task.part;
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
        self.outlet.flush(run, &mut self.tally);
        if let (Some(part), Some(sequence)) = (self.outlet.part.take(), &run.sequence) {
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

    /// Serial searches keep what they print where commands can see to it that it is out before they start.
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
        place: Place,
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

    /// The next item of the directory on top.
    fn step(&mut self) {
        if self.is_over() {
            return self.abandon();
        }
        if self.run.pool.is_hungry() {
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
        self.outlet.settle(self.run, &mut self.tally);
    }

    fn is_over(&self) -> bool {
        self.quit || self.run.stops() || self.outlet.part.as_ref().is_some_and(super::sequence::Part::is_dead)
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

    /// A directory that was met: somebody else's, or ours.
    fn descend(&mut self, name: Range<usize>) {
        let free = if std::mem::take(&mut self.commissioned) {
            None
        } else {
            self.run.bound.take(self.run.pool.waiting())
        };
        match free {
            Some(slot) => self.make_task(name, slot),
            None => self.enter(name, None),
        }
    }

    fn make_task(&mut self, name: Range<usize>, slot: Slot) {
        let run = self.run;
        let mut packed = Vec::with_capacity(name.len() + 5);
        if let Ok(name) = CStr::from_bytes_with_nul(&self.items[name]) {
            items::put_directory(&mut packed, name);
        }
        let Some(frame) = self.frames.last() else { return };
        let mut place = frame.place.clone();
        let (path, depth, ancestors) = (frame.path, frame.depth, frame.ancestors);
        if let Place::Open(held) = &place {
            if run.held.load(Ordering::Relaxed) > run.most_held {
                place = Place::Closed(identity(held.fd.as_fd()));
            }
        }
        let part = self.split_for_child();
        self.tally.made += 1;
        self.note(Event::Makes);
        run.pool.push(Task {
            items: packed,
            more: false,
            place,
            path: self.path[..path].to_vec(),
            start: self.start,
            device: self.device,
            depth,
            ancestors: self.ancestors[..ancestors].to_vec(),
            part,
            slot,
        });
    }

    /// In order, the child's output comes behind what we have said so far, and before what we shall say.
    fn split_for_child(&mut self) -> Option<super::sequence::Part> {
        let run = self.run;
        let sequence = run.sequence.as_ref()?;
        self.outlet.flush(run, &mut self.tally);
        let before = self.outlet.part.take()?;
        let child = sequence.split(&before);
        self.outlet.part = Some(sequence.split(&child));
        if let Err(error) = sequence.close(&before, false) {
            run.lose(&error);
        }
        Some(child)
    }

    /// Gives away what we would come to last, to whoever has nothing to do.
    fn share(&mut self) {
        let Some(oldest) = self.frames.iter().position(|frame| frame.work > 0 || frame.more) else { return };
        let top = self.frames.len() - 1;
        let keep = match (self.frames[oldest].work, oldest == top) {
            // One piece of work is ours if we have nothing else.
            (0 | 1, true) => return,
            (work, _) => work / 2,
        };
        let task = self.cut(oldest, keep);
        self.tally.made += 1;
        self.note(Event::Makes);
        self.run.pool.push(task);
    }

    /// Cuts a frame behind the first `keep` pieces of its work; what frames below it still print goes along.
    fn cut(&mut self, index: usize, keep: u32) -> Task {
        let frame = &mut self.frames[index];
        let (mut at, mut kept) = (frame.at, 0);
        while kept < keep && at < frame.end {
            let (item, next) = items::get(&self.items, at);
            kept += u32::from(items::is_work(&item));
            at = next;
        }
        let mut packed = self.items[at..frame.end].to_vec();
        let more = frame.more;
        (frame.work, frame.end, frame.more) = (kept, at, false);
        let (path, depth, ancestors, place) = (frame.path, frame.depth, frame.ancestors, frame.place.clone());
        for below in self.frames[..index].iter_mut().rev() {
            packed.extend_from_slice(&self.items[below.at..below.end]);
            below.end = below.at;
        }
        let sequence = self.run.sequence.as_ref();
        let part = sequence.zip(self.outlet.part.as_ref()).map(|(sequence, part)| sequence.split(part));
        Task {
            items: packed,
            more,
            place,
            path: self.path[..path].to_vec(),
            start: self.start,
            device: self.device,
            depth,
            ancestors: self.ancestors[..ancestors].to_vec(),
            part,
            slot: Slot::None,
        }
    }

    /// Goes into a directory of the frame on top.
    fn enter(&mut self, name: Range<usize>, after: Option<Range<usize>>) {
        let Some(frame) = self.frames.last() else { return };
        let depth = frame.depth;
        let follow = self.follows(depth);
        let opened = self.open_top().and_then(|()| directories::open(self.top(), self.name(&name), follow));
        self.path.extend_from_slice(&self.items[name.start..name.end - 1]);
        let own_path = self.path.len();
        let entered = opened.and_then(|fd| Ok(self.may_enter(fd.as_fd(), depth)?.then_some(fd)));
        let fd = match entered {
            Ok(Some(fd)) => fd,
            other => {
                if let Err(error) = other {
                    self.complain(own_path, &error);
                }
                return self.left_closed(after);
            }
        };
        if depth == 0 {
            self.start = own_path;
        }
        if self.path.last() != Some(&b'/') {
            self.path.push(b'/');
        }
        let first = self.items.len();
        let more = self.list(fd.as_fd(), depth + 1, own_path);
        if !more && self.print_if_idle(first) {
            drop(fd);
            return self.left_closed(after);
        }
        let place = Place::Open(Arc::new(Held::new(fd, &self.run.held)));
        let path = self.path.len();
        self.push(place, first, path, depth + 1, more, after);
    }

    /// If there is no work among the items from `first` on, prints what there is, and is done with them.
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
            Item::Text(range) => self.outlet.text.extend_from_slice(&self.items[range]),
            Item::Error(range) => {
                self.outlet.errors.extend_from_slice(&self.items[range]);
                self.quit |= self.run.settings.stop_on_error;
            }
            _ => {}
        }
    }

    /// A directory that has nothing more, or was not to be opened.
    fn left_closed(&mut self, after: Option<Range<usize>>) {
        let Some(frame) = self.frames.last() else { return };
        self.path.truncate(frame.path);
        self.ancestors.truncate(frame.ancestors);
        if let Some(name) = after {
            self.evaluate_at_top(name, Kind::Directory);
        }
        self.outlet.settle(self.run, &mut self.tally);
    }

    /// Whether it is on the file system that is searched; and, where links are followed, who it is.
    fn may_enter(&mut self, fd: BorrowedFd<'_>, depth: u32) -> io::Result<bool> {
        let query = self.run.query;
        if !query.one_file_system && query.follow != Follow::Always {
            return Ok(true);
        }
        let status = directories::own_status(fd)?;
        let path = self.path.len();
        self.ancestors.push(Ancestor { device: status.device, inode: status.inode, path });
        if depth == 0 {
            self.device = status.device;
        }
        Ok(!query.one_file_system || status.device == self.device)
    }

    fn follows(&self, depth: u32) -> bool {
        match self.run.query.follow {
            Follow::Never => false,
            Follow::Starts => depth == 0,
            Follow::Always => true,
        }
    }

    fn list_more(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        self.items.truncate(frame.first);
        let (first, depth, path) = (frame.first, frame.depth, frame.path);
        let Some(mut frame) = self.frames.pop() else { return };
        if let Place::Open(held) = &frame.place {
            let held = Arc::clone(held);
            frame.more = self.list(held.fd.as_fd(), depth, path - 1);
            let (place, more, after) = (frame.place, frame.more, frame.after);
            self.push(place, first, path, depth, more, after);
        }
    }

    /// Lists a directory, or as much of it as is taken at once: evaluates entries, or keeps them until their turn has
    /// come. Whether there is more.
    fn list(&mut self, fd: BorrowedFd<'_>, depth: u32, own_path: usize) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        let (mut count, first) = (0, self.items.len());
        self.spans.clear();
        let listed = directories::list(fd, &mut buffer, |entry| {
            count += 1;
            let before = self.items.len();
            let ends = self.consider(fd, entry.name, entry.kind, depth);
            if self.ordered && self.items.len() > before {
                self.spans.push((entry.inode, before..self.items.len()));
            }
            if ends || count == BATCH || (count % 256 == 0 && self.run.stops()) {
                More::Later
            } else {
                More::Yes
            }
        });
        self.buffer = buffer;
        self.tally.directories += 1;
        self.tally.entries += count as u64;
        if self.ordered && count > SORTED_FROM && directories::is_on_disk(fd) {
            self.sort(first);
        }
        match listed {
            Ok(ended) => !ended && !self.is_over(),
            Err(error) => {
                self.complain(own_path, &error);
                false
            }
        }
    }

    /// Takes items in the order of their entries' numbers.
    fn sort(&mut self, first: usize) {
        self.spans.sort_by_key(|(inode, _)| *inode);
        let listed = self.items.split_off(first);
        for (_, span) in &self.spans {
            self.items.extend_from_slice(&listed[span.start - first..span.end - first]);
        }
    }

    /// An entry of a directory that is being listed. Whether nothing more of it is wanted.
    fn consider(&mut self, at: BorrowedFd<'_>, name: &CStr, kind: Kind, depth: u32) -> bool {
        if self.lazy {
            items::put_entry(&mut self.items, name, kind);
            return false;
        }
        let verdict = self.evaluate(at, name, kind, depth);
        self.settle(verdict.quit);
        if verdict.descend && !verdict.quit {
            items::put_directory(&mut self.items, name);
        }
        if verdict.quit {
            if self.ordered {
                items::put_quit(&mut self.items);
                return false;
            }
            self.run.stop();
            return true;
        }
        false
    }

    /// What was just said goes where it belongs.
    fn settle(&mut self, quit: bool) {
        let said = &mut self.evaluator.said;
        if self.ordered {
            if !said.errors.is_empty() {
                items::put_error(&mut self.items, &said.errors);
            }
            if !said.text.is_empty() {
                items::put_text(&mut self.items, &said.text);
            }
        } else {
            self.outlet.errors.append(&mut said.errors);
            // Of two who find what ends the search, the second one finds nothing.
            if !quit || !self.run.found.swap(true, Ordering::Relaxed) {
                self.outlet.text.append(&mut said.text);
            }
            self.outlet.settle(self.run, &mut self.tally);
        }
        said.text.clear();
        said.errors.clear();
    }

    /// Asks the expression about an entry.
    fn evaluate(&mut self, at: BorrowedFd<'_>, name: &CStr, kind: Kind, depth: u32) -> Verdict {
        let query = self.run.query;
        let follow = self.follows(depth);
        let base_of_start;
        let (prefix, base) = if depth == 0 {
            base_of_start = base_of(name);
            (&[][..], base_of_start.as_c_str())
        } else {
            (&self.path[..], name)
        };
        let location = Location { at, prefix, start: self.start, depth, follow };
        let mut subject = Subject::new(location, name, base, kind);
        let nothing = Verdict { descend: false, quit: false };
        let known = subject.resolve(&mut self.evaluator.said, query.manner);
        if !known || (depth == 0 && subject.kind == Kind::Unknown) {
            return nothing;
        }
        let directory = subject.kind == Kind::Directory;
        if directory
            && query.follow == Follow::Always
            && is_loop(&mut subject, &self.ancestors, &mut self.evaluator, query.manner)
        {
            return nothing;
        }
        let mut quit = false;
        if depth >= query.min_depth {
            quit = match self.evaluator.holds(&mut subject) {
                Ok(holds) => holds && self.run.settings.first,
                Err(_) => true,
            };
        }
        Verdict { descend: directory && !subject.pruned && depth < query.max_depth, quit }
    }

    /// An entry whose turn has come.
    fn turn(&mut self, name: Range<usize>, kind: Kind) {
        let Some(frame) = self.frames.last() else { return };
        let depth = frame.depth;
        if !self.run.query.contents_first {
            if self.evaluate_at_top(name.clone(), kind) {
                self.enter(name, None);
            }
            return;
        }
        let (kind, enter) = self.kind_at_top(&name, kind);
        if enter && depth < self.run.query.max_depth {
            self.enter(name.clone(), Some(name));
        } else {
            self.evaluate_at_top(name, kind);
        }
    }

    /// What an entry is, if its directory did not say or links are followed, and whether it is a directory to enter: no
    /// loop, that is. Nothing is said of what goes wrong: evaluating it does.
    fn kind_at_top(&mut self, name: &Range<usize>, kind: Kind) -> (Kind, bool) {
        let follow = self.frames.last().is_some_and(|frame| self.follows(frame.depth));
        if kind != Kind::Unknown && !(follow && matches!(kind, Kind::Link | Kind::Directory)) {
            return (kind, kind == Kind::Directory);
        }
        let asked = self.open_top().and_then(|()| directories::status(self.top(), self.name(name), follow));
        let Ok(status) = asked else { return (kind, false) };
        let is_ancestor = |one: &Ancestor| (one.device, one.inode) == (status.device, status.inode);
        let loops = self.run.query.follow == Follow::Always && self.ancestors.iter().any(is_ancestor);
        let enter = status.kind() == Kind::Directory && !loops;
        (if enter { status.kind() } else { kind }, enter)
    }

    /// Evaluates an entry of the directory on top now. Whether to go into it.
    fn evaluate_at_top(&mut self, name: Range<usize>, kind: Kind) -> bool {
        let Some(depth) = self.frames.last().map(|frame| frame.depth) else { return false };
        let opened = self.open_top();
        let items = std::mem::take(&mut self.items);
        let bytes = &items[name.start..name.end];
        let verdict = match opened {
            Err(error) => {
                let path = self.path.len();
                self.path.extend_from_slice(&bytes[..bytes.len() - 1]);
                self.complain(self.path.len(), &error);
                self.path.truncate(path);
                Verdict { descend: false, quit: false }
            }
            Ok(()) => {
                // Its own share in the descriptor, since we change meanwhile.
                let place = self.frames.last().map(|frame| frame.place.clone());
                let at = match &place {
                    Some(Place::Open(held)) => held.fd.as_fd(),
                    _ => directories::here(),
                };
                self.evaluate(at, CStr::from_bytes_with_nul(bytes).unwrap_or_default(), kind, depth)
            }
        };
        self.items = items;
        if self.run.settings.promptly
            || self.evaluator.said.text.len() > BUFFER
            || !self.evaluator.said.errors.is_empty()
        {
            self.tell();
        }
        self.quit |= verdict.quit;
        verdict.descend && !self.quit
    }

    /// The name of an item, which ends in a NUL.
    fn name(&self, range: &Range<usize>) -> &CStr {
        CStr::from_bytes_with_nul(&self.items[range.clone()]).unwrap_or_default()
    }

    /// The descriptor of the directory on top.
    fn top(&self) -> BorrowedFd<'_> {
        match self.frames.last().map(|frame| &frame.place) {
            Some(Place::Open(held)) => held.fd.as_fd(),
            _ => directories::here(),
        }
    }

    /// Opens the directory on top again if it was closed.
    fn open_top(&mut self) -> io::Result<()> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        let Place::Closed(known) = frame.place else { return Ok(()) };
        let fd = directories::open_long(&self.path[..frame.path], true)?;
        if identity(fd.as_fd()) != known {
            return Err(io::ErrorKind::NotFound.into());
        }
        frame.place = Place::Open(Arc::new(Held::new(fd, &self.run.held)));
        self.closed = self.closed.min(self.frames.len() - 1);
        Ok(())
    }

    /// Closes the directory that we come back to last, if too many are open.
    fn spare_descriptors(&mut self) {
        if self.run.held.load(Ordering::Relaxed) <= self.run.most_held {
            return;
        }
        while self.closed + 1 < self.frames.len() {
            let frame = &mut self.frames[self.closed];
            self.closed += 1;
            if let Place::Open(held) = &frame.place {
                // What is not read to its end would begin anew.
                if !frame.more {
                    frame.place = Place::Closed(identity(held.fd.as_fd()));
                    return;
                }
            }
        }
    }

    /// Says that something went wrong with the directory whose path is that much of ours.
    fn complain(&mut self, path: usize, error: &io::Error) {
        let manner = self.run.query.manner;
        let into = if self.lazy { &mut self.evaluator.said.errors } else { &mut self.outlet.errors };
        message::failed(&self.path[..path], error, manner, into);
        if self.lazy {
            self.evaluator.said.failed = true;
            self.tell();
        } else {
            // In order, it is the end here; otherwise everybody's.
            self.quit |= self.ordered && self.run.settings.stop_on_error;
            self.outlet.settle(self.run, &mut self.tally);
        }
    }
}

/// Whether a directory is one of those it is in, which is said.
fn is_loop(
    subject: &mut Subject<'_>,
    ancestors: &[Ancestor],
    evaluator: &mut Evaluator<'_>,
    manner: crate::query::Manner,
) -> bool {
    let Some(status) = subject.status(&mut evaluator.said, manner) else { return false };
    let same = |one: &&Ancestor| (one.device, one.inode) == (status.device, status.inode);
    let Some(ancestor) = ancestors.iter().find(same) else { return false };
    let mut path = Vec::new();
    subject.path(&mut path);
    let ancestor = path[..ancestor.path].to_vec();
    message::is_loop(&path, &ancestor, manner, &mut evaluator.said.errors);
    evaluator.said.failed = true;
    true
}
