//! What kernels are lent of memory, and where the rest goes.

use super::budget::BUDGET;
use pelton_stream::{Storage, Stored};
use pelton_sys::temporary;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a process of the pipeline may use.
pub struct Memory;

impl Storage for Memory {
    fn memory_bytes(&self) -> usize {
        BUDGET.whole_bytes()
    }

    fn is_too_much(&self, bytes: usize) -> bool {
        BUDGET.is_too_much(bytes)
    }

    fn open(&self) -> usize {
        BUDGET.open()
    }

    fn take(&self, held: usize, wanted: usize) -> Option<usize> {
        BUDGET.take(held, wanted)
    }

    fn give_back(&self, bytes: usize) {
        BUDGET.give_back(bytes);
    }

    fn directory(&self) -> Vec<u8> {
        directory().into_os_string().into_vec()
    }

    fn create(&self, own: Option<&[u8]>) -> io::Result<Arc<dyn Stored>> {
        let path = own.map_or_else(directory, |own| Path::new(OsStr::from_bytes(own)).to_owned());
        Ok(Arc::new(Unnamed(temporary::unnamed_file(&path)?)))
    }
}

/// As sort finds it: `$TMPDIR`, or `/tmp`.
fn directory() -> PathBuf {
    std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

struct Unnamed(File);

impl Stored for Unnamed {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, at)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.0.read_exact_at(bytes, at)
    }
}
