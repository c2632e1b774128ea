//! Passes work to other workers: directories that become tasks when they are found, and parts of the
//! remaining work for idle workers.

use super::Worker;
use crate::walk::items;
use crate::walk::listed_directory::{ListedDirectory, identity};
use crate::walk::pool::Task;
use crate::walk::sequence::SequenceSlot;
use crate::walk::tally::Event;
use crate::walk::task_limit::Slot;
use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

impl Worker<'_> {
    /// Makes a directory a task, or enters it.
    pub(super) fn descend(&mut self, name: Range<usize>) {
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

    pub(super) fn make_task(&mut self, name: Range<usize>, slot: Slot) {
        let run = self.run;
        let mut packed = Vec::with_capacity(name.len() + 5);
        if let Ok(name) = CStr::from_bytes_with_nul(&self.items[name]) {
            items::put_directory(&mut packed, name);
        }
        let Some(frame) = self.frames.last() else { return };
        let mut place = frame.place.clone();
        let (path, depth, ancestors) = (frame.path, frame.depth, frame.ancestors);
        let too_many = run.held.load(Ordering::Relaxed) > run.most_held;
        if let (ListedDirectory::Open(held), true) = (&place, too_many) {
            place = ListedDirectory::Closed(identity(held.fd.as_fd()));
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

    /// With ordered output, splits the part: the child's output comes after the output so far, and before all
    /// later output.
    pub(super) fn split_for_child(&mut self) -> Option<SequenceSlot> {
        let run = self.run;
        let sequence = run.sequence.as_ref()?;
        self.output.flush(run, &mut self.tally);
        let before = self.output.part.take()?;
        let child = sequence.split(&before);
        self.output.part = Some(sequence.split(&child));
        if let Err(error) = sequence.close(&before, false) {
            run.lose(&error);
        }
        Some(child)
    }

    /// Gives the work that would be reached last to an idle worker.
    pub(super) fn share(&mut self) {
        let Some(oldest) = self.frames.iter().position(|frame| frame.work > 0 || frame.more) else { return };
        let top = self.frames.len() - 1;
        let keep = match (self.frames[oldest].work, oldest == top) {
            // A worker keeps its only piece of work.
            (0 | 1, true) => return,
            (work, _) => work / 2,
        };
        let task = self.cut(oldest, keep);
        self.tally.made += 1;
        self.note(Event::Makes);
        self.run.pool.push(task);
    }

    /// Splits a frame after `keep` pieces of work. The remaining output of the frames below moves along.
    pub(super) fn cut(&mut self, index: usize, keep: u32) -> Task {
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
        let part = sequence.zip(self.output.part.as_ref()).map(|(sequence, part)| sequence.split(part));
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
}
