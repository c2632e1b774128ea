//! Enters directories: opens and lists them, and keeps them open for their entries, up to a limit.

use super::{BATCH, SORTED_FROM, Worker};
use crate::query::Follow;
use crate::walk::listed_directory::{Held, ListedDirectory, identity};
use crate::walk::pool::Ancestor;
use pelton_sys::directories::{self, End, Kind, More};
use std::ffi::CStr;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Worker<'_> {
    /// Enters a subdirectory of the top frame's directory.
    pub(super) fn enter(&mut self, name: Range<usize>, after: Option<Range<usize>>) {
        let Some(frame) = self.frames.last() else { return };
        let depth = frame.depth;
        let follow = self.follows(depth);
        let opened = self
            .open_top()
            .and_then(|()| directories::open_in(self.top(), self.end_at_top(), self.name(&name), follow));
        self.path.extend_from_slice(&self.items[name.start..name.end - 1]);
        let own_path = self.path.len();
        let entered =
            opened.and_then(|opened| Ok(self.may_enter(opened.0.as_fd(), depth)?.then_some(opened)));
        let (fd, mut end) = match entered {
            Ok(Some(opened)) => opened,
            other => {
                if let Err(error) = other {
                    self.complain(own_path, &error);
                }
                return self.left_closed(after);
            }
        };
        if depth == 0 {
            self.start = own_path;
            end = End::of(fd.as_fd());
        }
        if self.path.last() != Some(&b'/') {
            self.path.push(b'/');
        }
        let first = self.items.len();
        let more = self.list(fd.as_fd(), end, depth + 1, own_path);
        if !more && self.print_if_idle(first) {
            drop(fd);
            return self.left_closed(after);
        }
        let place = ListedDirectory::Open(Arc::new(Held::new(fd, end, &self.run.held)));
        let path = self.path.len();
        self.push(place, first, path, depth + 1, more, after);
    }

    /// Ends a directory without a frame: it has no more work, or was not to be entered.
    pub(super) fn left_closed(&mut self, after: Option<Range<usize>>) {
        let Some(frame) = self.frames.last() else { return };
        self.path.truncate(frame.path);
        self.ancestors.truncate(frame.ancestors);
        if let Some(name) = after {
            self.evaluate_at_top(name, Kind::Directory);
        }
        self.output.settle(self.run, &mut self.tally);
    }

    /// Whether it is on the file system to be searched. Records its identity where links are followed.
    pub(super) fn may_enter(&mut self, fd: BorrowedFd<'_>, depth: u32) -> io::Result<bool> {
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

    pub(super) fn follows(&self, depth: u32) -> bool {
        match self.run.query.follow {
            Follow::Never => false,
            Follow::Starts => depth == 0,
            Follow::Always => true,
        }
    }

    pub(super) fn list_more(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        self.items.truncate(frame.first);
        let (first, depth, path) = (frame.first, frame.depth, frame.path);
        let Some(mut frame) = self.frames.pop() else { return };
        if let ListedDirectory::Open(held) = &frame.place {
            let held = Arc::clone(held);
            frame.more = self.list(held.fd.as_fd(), held.end, depth, path - 1);
            let (place, more, after) = (frame.place, frame.more, frame.after);
            self.push(place, first, path, depth, more, after);
        }
    }

    /// Lists a directory, or one batch of it: evaluates entries, or keeps them until it is their turn.
    /// Returns whether there is more.
    pub(super) fn list(&mut self, fd: BorrowedFd<'_>, end: Option<End>, depth: u32, own_path: usize) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        let (mut count, first) = (0, self.items.len());
        self.spans.clear();
        let mut searchable = None;
        let listed = directories::list(fd, end, &mut buffer, |entry| {
            count += 1;
            let before = self.items.len();
            let kind = match entry.kind {
                // In a directory that may not be searched, entries cannot be stat'ed. GNU find then ignores
                // the reported type of subdirectories, which it would stat, but not that of files.
                Kind::Directory if !*searchable.get_or_insert_with(|| directories::may_search(fd)) => {
                    Kind::Unknown
                }
                kind => kind,
            };
            let ends = self.consider(fd, entry.name, kind, depth);
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
        // With -L, GNU find does not check the type of the file system.
        let sorts = || self.run.query.follow == Follow::Always || directories::is_on_disk(fd);
        if self.ordered && count > SORTED_FROM && sorts() {
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

    /// Sorts the items from `first` on by the inodes of their entries.
    pub(super) fn sort(&mut self, first: usize) {
        self.spans.sort_by_key(|(inode, _)| *inode);
        let listed = self.items.split_off(first);
        for (_, span) in &self.spans {
            self.items.extend_from_slice(&listed[span.start - first..span.end - first]);
        }
    }

    /// Returns the name of an item, which ends in a NUL.
    pub(super) fn name(&self, range: &Range<usize>) -> &CStr {
        CStr::from_bytes_with_nul(&self.items[range.clone()]).unwrap_or_default()
    }

    /// Returns the descriptor of the top frame's directory.
    pub(super) fn top(&self) -> BorrowedFd<'_> {
        match self.frames.last().map(|frame| &frame.place) {
            Some(ListedDirectory::Open(held)) => held.fd.as_fd(),
            _ => directories::here(),
        }
    }

    /// Returns how the end of that listing, and of those below it, is recognized, if known.
    fn end_at_top(&self) -> Option<End> {
        match self.frames.last().map(|frame| &frame.place) {
            Some(ListedDirectory::Open(held)) => held.end,
            _ => None,
        }
    }

    /// Reopens the top frame's directory if it was closed.
    pub(super) fn open_top(&mut self) -> io::Result<()> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        let ListedDirectory::Closed(known) = frame.place else { return Ok(()) };
        let fd = directories::open_long(&self.path[..frame.path], true)?;
        if identity(fd.as_fd()) != known {
            return Err(io::ErrorKind::NotFound.into());
        }
        let end = End::of(fd.as_fd());
        frame.place = ListedDirectory::Open(Arc::new(Held::new(fd, end, &self.run.held)));
        self.closed = self.closed.min(self.frames.len() - 1);
        Ok(())
    }

    /// If too many directories are open, closes the one that is needed last.
    pub(super) fn spare_descriptors(&mut self) {
        if self.run.held.load(Ordering::Relaxed) <= self.run.most_held {
            return;
        }
        while self.closed + 1 < self.frames.len() {
            let frame = &mut self.frames[self.closed];
            self.closed += 1;
            if let ListedDirectory::Open(held) = &frame.place {
                // A directory not read to its end would start over.
                if !frame.more {
                    frame.place = ListedDirectory::Closed(identity(held.fd.as_fd()));
                    return;
                }
            }
        }
    }
}
