//! The least that a walk costs: opens every directory, lists it, closes it, and does nothing else, on one thread. What
//! `cargo xtask bench find` measures walks against.
//!
//! `floor TREE`

use pelton_sys::directories::{self, Kind, More};
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

fn main() {
    let tree = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let tree = CString::new(tree).unwrap_or_default();
    let mut buffer = vec![MaybeUninit::uninit(); 64 << 10];
    let mut names = Vec::new();
    visit(directories::here(), &tree, &mut buffer, &mut names);
}

/// Names of directories lie in `names` one after the other, those of the deepest last.
fn visit(at: BorrowedFd<'_>, name: &CStr, buffer: &mut [MaybeUninit<u8>], names: &mut Vec<u8>) {
    let Ok(fd) = directories::open(at, name, false) else { return };
    let first = names.len();
    let _ = directories::list(fd.as_fd(), None, buffer, |entry| {
        if entry.kind == Kind::Directory {
            names.extend_from_slice(entry.name.to_bytes_with_nul());
        }
        More::Yes
    });
    let mut next = first;
    while next < names.len() {
        let Ok(name) = CStr::from_bytes_until_nul(&names[next..]) else { return };
        let name = name.to_owned();
        next += name.to_bytes_with_nul().len();
        visit(fd.as_fd(), &name, buffer, names);
    }
    names.truncate(first);
}
