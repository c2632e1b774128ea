//! What a worker leaves to others: directories that become tasks as they are met, and parts of its own work that it gives
//! to whoever has nothing to do.

use super::Worker;
use crate::walk::bound::Slot;
use crate::walk::items;
use crate::walk::pool::Task;
use crate::walk::sequence::SequenceSlot;
use crate::walk::{Event, NameStorage, identity};
use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

impl Worker<'_> {
    /// A directory that was met: somebody else's, or ours.
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
        if let (NameStorage::Open(held), true) = (&place, too_many) {
            place = NameStorage::Closed(identity(held.fd.as_fd()));
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
    pub(super) fn split_for_child(&mut self) -> Option<SequenceSlot> {
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
    pub(super) fn share(&mut self) {
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
}
