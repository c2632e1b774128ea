//! What is printed, gathered until it is worth a system call or somebody may be waiting for it.

use std::io::{self, Write};

use pelton_sys::padded::Text;

/// Written when there is more than this, in bytes.
const ENOUGH: usize = 64 * 1024;

/// A buffer before a writer, or, without one, a buffer.
#[derive(Default)]
pub struct Out<'a> {
    text: Text,
    to: Option<Box<dyn Write + Send + 'a>>,
    error: Option<io::Error>,
}

impl<'a> Out<'a> {
    /// To be written there.
    pub fn new(to: impl Write + Send + 'a) -> Self {
        Out { text: Text::default(), to: Some(Box::new(to)), error: None }
    }

    /// To be kept.
    pub fn kept() -> Self {
        Out::default()
    }

    /// What is not written yet.
    #[inline(always)]
    pub fn text(&mut self) -> &mut Text {
        &mut self.text
    }

    /// To be called now and then: writes if there is much. An error is told by the next [`flush`](Self::flush).
    #[inline(always)]
    pub fn relieve(&mut self) {
        if self.text.len() >= ENOUGH {
            self.write();
        }
    }

    fn write(&mut self) {
        if let Some(to) = &mut self.to {
            if self.error.is_none() {
                self.error = to.write_all(self.text.bytes()).and_then(|()| to.flush()).err();
            }
            self.text.truncate(0);
        }
    }

    /// Writes all.
    ///
    /// # Errors
    /// If that failed, now or before.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.text.is_empty() {
            self.write();
        }
        self.error.take().map_or(Ok(()), Err)
    }
}
