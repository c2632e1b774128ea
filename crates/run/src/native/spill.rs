//! How much memory a kernel may fill, and where the rest goes.

use pelton_stream::{Storage, Stored};
use pelton_sys::{machine, temporary};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// 0: a share of what is available.
static MEMORY_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Sets how much memory each sort and each grouping may fill, in bytes, before anything is started.
pub fn set_memory_bytes(bytes: usize) {
    MEMORY_BYTES.store(bytes.max(1), Ordering::Relaxed);
}

/// Unless it was set, a kernel may fill this part of what is available when it has filled [`ALWAYS_BYTES`].
const SHARE: u64 = 2;
/// So much may be filled without asking how much there is. In bytes.
const ALWAYS_BYTES: usize = 16 << 20;

/// What a process of the pipeline may use: decided once.
pub struct Memory;

impl Storage for Memory {
    fn memory_bytes(&self) -> usize {
        static DEFAULT: OnceLock<usize> = OnceLock::new();
        let default = || {
            let available = machine::available_memory().map(|bytes| bytes / SHARE);
            available
                .map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX).max(ALWAYS_BYTES))
        };
        match MEMORY_BYTES.load(Ordering::Relaxed) {
            0 => *DEFAULT.get_or_init(default),
            bytes => bytes,
        }
    }

    fn is_too_much(&self, bytes: usize) -> bool {
        let is_set = MEMORY_BYTES.load(Ordering::Relaxed) > 0;
        (is_set || bytes > ALWAYS_BYTES) && bytes > self.memory_bytes()
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
