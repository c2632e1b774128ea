//! Where a worker writes.

use pelton_stream::{Flow, Sink};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};

/// Buffered output to a descriptor.
pub struct Out {
    file: Option<File>,
    buffer: Vec<u8>,
    pub error: Option<std::io::Error>,
}

const OUT_BYTES: usize = 64 * 1024;

impl Out {
    pub fn stdout() -> std::io::Result<Self> {
        Ok(Out::to(std::io::stdout().as_fd().try_clone_to_owned()?))
    }

    pub fn to(fd: OwnedFd) -> Self {
        Out { file: Some(File::from(fd)), buffer: Vec::with_capacity(OUT_BYTES), error: None }
    }

    pub fn to_nobody() -> Self {
        Out { file: None, buffer: Vec::new(), error: None }
    }

    /// Something has not been written yet.
    pub fn holds_any(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Drops what is buffered: a copy of this process writes it.
    pub fn forget(&mut self) {
        self.buffer.clear();
    }

    pub fn flush(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.write(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
    }

    /// A broken pipe ends this process, as it would the real command, unless SIGPIPE is ignored by now.
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_some() || bytes.is_empty() {
            return;
        }
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(bytes)
        {
            self.error = Some(error);
        }
    }

    fn wanted(&self) -> Flow {
        if self.error.is_some() { Flow::Done } else { Flow::More }
    }
}

impl Sink for Out {
    fn take(&mut self, bytes: &[u8]) -> Flow {
        if self.buffer.len() + bytes.len() <= OUT_BYTES {
            self.buffer.extend_from_slice(bytes);
            return self.wanted();
        }
        self.flush();
        if bytes.len() >= OUT_BYTES {
            self.write(bytes);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        self.wanted()
    }
}

/// What the real command says if its output cannot be written, and the status it ends with.
pub fn write_failure(name: &str, error: &std::io::Error) -> (String, i32) {
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    match name {
        "wc" => ("wc: write error\n".into(), 1),
        "sort" => (format!("sort: write failed: 'standard output': {reason}\n"), 2),
        "grep" => (format!("grep: write error: {reason}\n"), 2),
        "sed" => (format!("sed: couldn't flush stdout: {reason}\n"), 4),
        _ => (format!("{name}: write error: {reason}\n"), 1),
    }
}
