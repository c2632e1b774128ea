//! tee: copies the stream to files.
//!
//! A kernel of the driver's, and the only one that writes: the files get a block before the next kernel does,
//! so that they are complete when the stream ends.

use super::files;
use pelton_commands::io_errors::reason;
use pelton_commands::{Copies, Messages};
use pelton_stream::{Flow, Framing, IoControl, Kernel, Notice, Outcome};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;

/// Passes everything on, and writes it to files.
pub struct CopyKernel {
    copies: Copies,
    /// The language of its messages.
    messages: Messages,
    /// Writable files with their names.
    open: Vec<(Vec<u8>, File)>,
    failed: bool,
}

impl CopyKernel {
    /// Makes the kernel; opens nothing yet.
    pub fn new(copies: Copies, messages: Messages) -> Self {
        CopyKernel { copies, messages, open: Vec::new(), failed: false }
    }

    /// Writes the block to all files that are still writable.
    fn copy(&mut self, block: &[u8]) {
        for (name, mut file) in std::mem::take(&mut self.open) {
            match file.write_all(block) {
                Ok(()) => self.open.push((name, file)),
                Err(error) => self.complain(&name, &error),
            }
        }
    }

    fn complain(&mut self, name: &[u8], error: &io::Error) {
        self.failed = true;
        let message = [b"tee: ", name, b": ", reason(error, &self.messages).as_bytes(), b"\n"].concat();
        let _ = io::stderr().write_all(&message);
    }
}

impl Kernel for CopyKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    /// tee opens its files before it reads.
    fn notice(&mut self, notice: Notice<'_>) {
        let Notice::Inputs(_) = notice else { return };
        for name in self.copies.paths.clone() {
            match files::open_copy(&name, &self.copies) {
                Ok(file) => self.open.push((name, file)),
                Err(error) => self.complain(&name, &error),
            }
        }
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.copy(block);
        out.extend_from_slice(block);
        Ok(Flow::More)
    }

    fn status(&self) -> i32 {
        i32::from(self.failed)
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }
}

impl IoControl for CopyKernel {
    fn pass_on(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Option<Range<usize>> {
        self.copy(block);
        Some(0..block.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_stream::InputKind;

    #[test]
    fn a_copy_that_cannot_be_written_ends_and_the_others_go_on() {
        let folder = std::env::temp_dir().join(format!("pelton-tee-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a directory");
        let name = |file: &str| folder.join(file).into_os_string().into_encoded_bytes();
        std::fs::write(folder.join("old"), "longer than what comes\n").expect("a file");
        let paths = vec![b"/dev/full".to_vec(), name("old"), name("no/such"), name("new")];
        let mut kernel = CopyKernel::new(Copies { paths, append: false }, Messages::English);
        kernel.notice(Notice::Inputs(&[InputKind::Other]));
        let mut out = Vec::new();
        for block in [&b"a\nb"[..], b"\nc\n"] {
            assert_eq!(kernel.push(block, &mut out), Ok(Flow::More));
        }
        for file in ["old", "new"] {
            assert_eq!(std::fs::read(folder.join(file)).expect("a copy"), b"a\nb\nc\n");
        }
        assert_eq!((out.as_slice(), kernel.status()), (&b"a\nb\nc\n"[..], 1));
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
