//! Events on files: that they were opened or written to.

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Bytes of one round of events; an event of a file without a name has 16.
const EVENTS: usize = 1024;

/// Files that are watched (inotify).
pub struct FileEvents(OwnedFd);

/// A watched file, by the order of the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedFile(i32);

impl FileEvents {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// If the user has too many of these (`/proc/sys/fs/inotify/max_user_instances`).
    pub fn new() -> io::Result<Self> {
        Ok(FileEvents(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?))
    }

    /// Reports each time that `path` is opened, and its removal.
    ///
    /// # Errors
    /// If it is not readable, or too many files are watched.
    pub fn watch_opening(&self, path: &Path) -> io::Result<WatchedFile> {
        self.watch(path, WatchFlags::OPEN)
    }

    /// Reports each time that a writer closes `path`, and its removal.
    ///
    /// # Errors
    /// If it is not readable, or too many files are watched.
    pub fn watch_writing(&self, path: &Path) -> io::Result<WatchedFile> {
        self.watch(path, WatchFlags::CLOSE_WRITE)
    }

    fn watch(&self, path: &Path, events: WatchFlags) -> io::Result<WatchedFile> {
        // A removal changes the number of links, even while the file is open.
        Ok(WatchedFile(inotify::add_watch(&self.0, path, events | WatchFlags::ATTRIB)?))
    }

    /// Returns the files with events since the last call, in order. Equal ones in a row may be reported once.
    /// `None` for events that were lost.
    pub fn take(&self) -> Vec<Option<FileEvent>> {
        let mut buffer = [MaybeUninit::uninit(); EVENTS];
        let mut reader = Reader::new(&self.0, &mut buffer);
        let mut taken = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let removed = event.events().contains(inotify::ReadFlags::ATTRIB);
                    let file = WatchedFile(event.wd());
                    taken.push((event.wd() >= 0).then_some(FileEvent { file, is_attribute: removed }));
                }
                Err(Errno::INTR) => {}
                Err(_) => return taken,
            }
        }
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEvent {
    /// The file.
    pub file: WatchedFile,
    /// Whether only its links or permissions changed.
    pub is_attribute: bool,
}

impl AsFd for FileEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_and_writing_are_told_apart_and_in_order() {
        let directory = std::env::temp_dir();
        let path = |name: &str| directory.join(format!("pelton-events-{name}-{}", std::process::id()));
        let (begin, end) = (path("begin"), path("end"));
        std::fs::write(&begin, "").expect("written");
        std::fs::write(&end, "").expect("written");
        let events = FileEvents::new().expect("inotify");
        let opened = events.watch_opening(&begin).expect("watched");
        let written = events.watch_writing(&end).expect("watched");
        assert_eq!(events.take(), []);
        std::fs::read(&begin).expect("read");
        std::fs::write(&end, "x").expect("written");
        std::fs::read(&end).expect("read");
        std::fs::remove_file(&begin).expect("removed");
        std::fs::remove_file(&end).expect("removed");
        let of = |file, is_attribute| Some(FileEvent { file, is_attribute });
        let taken = events.take();
        assert_eq!(taken[..3], [of(opened, false), of(written, false), of(opened, true)]);
    }
}
