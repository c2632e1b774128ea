//! Files whose names arrive as data: what `xargs cat` opens.

use super::files::{FileIdentity, inherited_output, may_have_holes, path};
use pelton_stream::Files;
use pelton_sys::machine;
use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::OnceLock;

/// Opens regular files only, except the output file.
#[derive(Default)]
pub struct Named {
    /// The file that standard output goes to, if any: a command that reads and writes the same file reports
    /// an error, or never ends.
    written: OnceLock<Option<FileIdentity>>,
}

impl Named {
    pub fn new() -> Self {
        Named::default()
    }

    fn is_plain(&self, metadata: &Metadata) -> bool {
        let written = self.written.get_or_init(inherited_output);
        metadata.is_file() && !may_have_holes(metadata) && *written != Some(FileIdentity::of(metadata))
    }
}

impl Files for Named {
    fn look(&self, name: &[u8]) -> Option<u64> {
        let metadata = std::fs::metadata(path(name)).ok().filter(|metadata| self.is_plain(metadata))?;
        match metadata.len() {
            0 => self.open(name).map(|(_, bytes)| bytes),
            bytes => Some(bytes),
        }
    }

    fn may_open(&self, name: &[u8]) -> bool {
        machine::may_read(path(name))
    }

    fn open(&self, name: &[u8]) -> Option<(Box<dyn Read + Send>, u64)> {
        // Opening a FIFO would block.
        let file = OpenOptions::new().read(true).custom_flags(machine::NEVER_WAITS).open(path(name)).ok()?;
        let metadata = file.metadata().ok().filter(|metadata| self.is_plain(metadata))?;
        // Files under /proc are generated when read, and some depend on the reading process.
        if metadata.len() == 0 && file.read_at(&mut [0], 0).ok()? > 0 {
            return None;
        }
        Some((Box::new(file), metadata.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).into_os_string().into_encoded_bytes();
        std::fs::write(dir.path().join("a"), "abc").unwrap();
        std::fs::write(dir.path().join("empty"), "").unwrap();
        let files = Named::new();
        assert_eq!((files.look(&at("a")), files.look(&at("empty"))), (Some(3), Some(0)));
        let (mut file, bytes) = files.open(&at("a")).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((&*text, bytes), ("abc", 3));
        for other in [&at("nosuch")[..], b"/proc/self/stat", b"/dev/null", b"/"] {
            assert!(files.look(other).is_none() && files.open(other).is_none(), "{}", other.escape_ascii());
        }
    }
}
