//! Buffers output until a write is worthwhile or a reader may be waiting.

use std::io::{self, Write};

use pelton_simd::padded::Text;

/// Buffered bytes that trigger a write.
const ENOUGH: usize = 64 * 1024;

/// A buffer in front of a writer; without a writer, just a buffer.
#[derive(Default)]
pub struct Out<'a> {
    text: Text,
    to: Option<Box<dyn Write + Send + 'a>>,
    error: Option<io::Error>,
}

impl<'a> Out<'a> {
    /// Makes a buffer in front of this writer.
    pub fn new(to: impl Write + Send + 'a) -> Self {
        Out { text: Text::default(), to: Some(Box::new(to)), error: None }
    }

    /// Makes a buffer without a writer.
    pub fn kept() -> Self {
        Out::default()
    }

    /// Returns the text not yet written.
    #[inline(always)]
    pub fn text(&mut self) -> &mut Text {
        &mut self.text
    }

    /// Writes if the buffer is large. The next [`flush`](Self::flush) reports an error.
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

    /// Writes everything.
    ///
    /// # Errors
    /// If this or an earlier write failed.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.text.is_empty() {
            self.write();
        }
        self.error.take().map_or(Ok(()), Err)
    }
}
