//! Index entries: the position of a line, and eight bytes of its key.

/// An index entry.
pub(crate) trait Item: Copy + Send + Sync {
    /// Returns the next eight bytes to compare, complemented if the order is descending.
    fn window(&self) -> u64;
    /// Sets these bytes.
    fn set_window(&mut self, window: u64);
    /// Returns the position of its key in the arena of keys: offset and length.
    fn key(&self) -> (usize, usize);
    /// Returns the position of its line in the arena of lines. The offset also gives the original order of
    /// lines.
    fn line(&self) -> (usize, usize);
}

/// A line that is its own key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    pub(crate) window: u64,
    pub(crate) offset: u32,
    pub(crate) len: u32,
}

impl Item for Plain {
    #[inline]
    fn window(&self) -> u64 {
        self.window
    }
    #[inline]
    fn set_window(&mut self, window: u64) {
        self.window = window;
    }
    #[inline]
    fn key(&self) -> (usize, usize) {
        (self.offset as usize, self.len as usize)
    }
    #[inline]
    fn line(&self) -> (usize, usize) {
        self.key()
    }
}

/// A line and its number of occurrences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) plain: Plain,
    pub(crate) count: u64,
}

impl Item for Counted {
    #[inline]
    fn window(&self) -> u64 {
        self.plain.window
    }
    #[inline]
    fn set_window(&mut self, window: u64) {
        self.plain.window = window;
    }
    #[inline]
    fn key(&self) -> (usize, usize) {
        self.plain.key()
    }
    #[inline]
    fn line(&self) -> (usize, usize) {
        self.plain.key()
    }
}

/// A line with a separate key: a part of the line, or a computed string. A computed key of at most eight
/// bytes exists only in the window: later bytes are never read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    pub(crate) window: u64,
    pub(crate) line_offset: u32,
    pub(crate) line_len: u32,
    pub(crate) key_offset: u32,
    pub(crate) key_len: u32,
}

impl Item for Keyed {
    #[inline]
    fn window(&self) -> u64 {
        self.window
    }
    #[inline]
    fn set_window(&mut self, window: u64) {
        self.window = window;
    }
    #[inline]
    fn key(&self) -> (usize, usize) {
        (self.key_offset as usize, self.key_len as usize)
    }
    #[inline]
    fn line(&self) -> (usize, usize) {
        (self.line_offset as usize, self.line_len as usize)
    }
}
