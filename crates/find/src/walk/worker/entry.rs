//! Evaluates entries, when they are listed or when it is their turn, and decides how the walk continues.

use super::{BUFFER, Worker};
use crate::evaluate::Evaluator;
use crate::message::{self, NameStyle};
use crate::query::Follow;
use crate::subject::{Location, Subject};
use crate::walk::items;
use crate::walk::listed_directory::ListedDirectory;
use crate::walk::pool::Ancestor;
use pelton_sys::directories::{self, Kind};
use std::ffi::{CStr, CString};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

/// The consequences of an evaluation for the walk.
struct Verdict {
    descend: bool,
    quit: bool,
}

impl Worker<'_> {
    /// Processes an entry of the directory being listed. Returns whether to stop listing.
    pub(super) fn consider(&mut self, at: BorrowedFd<'_>, name: &CStr, kind: Kind, depth: u32) -> bool {
        if self.lazy {
            items::put_entry(&mut self.items, name, kind);
            return false;
        }
        if self.is_out(name, kind, depth) {
            if kind == Kind::Directory && depth < self.run.query.max_depth {
                items::put_directory(&mut self.items, name);
            }
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

    /// Whether the name alone rules the entry out, without a test or an action. That is the case for most
    /// entries.
    fn is_out(&self, name: &CStr, kind: Kind, depth: u32) -> bool {
        // The kind is known, and links are not followed.
        let plain = kind != Kind::Unknown && depth > 0 && self.run.query.follow != Follow::Always;
        plain && self.wanted.is_some_and(|pattern| !pattern.matches(name))
    }

    /// Moves the output of the evaluation to where it belongs.
    pub(super) fn settle(&mut self, quit: bool) {
        let said = &mut self.evaluator.said;
        if self.ordered {
            if !said.errors.is_empty() {
                items::put_error(&mut self.items, &said.errors);
            }
            if !said.text.is_empty() {
                items::put_text(&mut self.items, &said.text);
            }
        } else {
            self.output.errors.append(&mut said.errors);
            // If two workers find the entry that ends the search, the second one's output is dropped.
            if !quit || !self.run.found.swap(true, Ordering::Relaxed) {
                self.output.text.append(&mut said.text);
            }
            self.output.settle(self.run, &mut self.tally);
        }
        said.text.clear();
        said.errors.clear();
    }

    /// Evaluates the expression for an entry.
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

    /// Processes an entry whose turn it is.
    pub(super) fn turn(&mut self, name: Range<usize>, kind: Kind) {
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

    /// Returns the kind of an entry, and whether it is a directory to enter. Calls stat(2) if the kind is
    /// unknown or links are followed. A loop is not entered. Errors are not reported here: the evaluation
    /// reports them.
    pub(super) fn kind_at_top(&mut self, name: &Range<usize>, kind: Kind) -> (Kind, bool) {
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

    /// Evaluates an entry of the top frame's directory. Returns whether to enter it.
    pub(super) fn evaluate_at_top(&mut self, name: Range<usize>, kind: Kind) -> bool {
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
                // Keeps the descriptor open while `self` changes.
                let place = self.frames.last().map(|frame| frame.place.clone());
                let at = match &place {
                    Some(ListedDirectory::Open(held)) => held.fd.as_fd(),
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
}

/// Whether a directory is one of its own ancestors, which is reported.
fn is_loop(
    subject: &mut Subject<'_>,
    ancestors: &[Ancestor],
    evaluator: &mut Evaluator<'_>,
    manner: NameStyle,
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

/// Returns the starting point's last component, without trailing slashes: the name that -name tests.
fn base_of(start: &CStr) -> CString {
    let bytes = start.to_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(bytes.len().min(1), |last| last + 1);
    let begin = bytes[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let base = if begin < end { &bytes[begin..end] } else { &bytes[..end] };
    CString::new(base).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_starting_point() {
        for (start, base) in [
            (c"a/b", "b"),
            (c"a/b//", "b"),
            (c"/", "/"),
            (c"//", "/"),
            (c"", ""),
            (c".", "."),
            (c"x/..", ".."),
        ] {
            assert_eq!(base_of(start).to_str(), Ok(base), "{start:?}");
        }
    }
}
