//! The path of the current value, as text: steps are appended and cut off.

use crate::visit::Kind;
use pelton_simd::padded::{Raw, Text};

/// A notation for paths.
pub trait Style {
    /// The path of a whole document.
    const ROOT: &'static [u8];
    /// Appends the step to a member; `raw` is its name as written, with quotes.
    fn key(path: &mut Text, raw: Raw<'_>);
    /// Appends the step to an element.
    fn index(path: &mut Text, index: u64);
    /// Increments the index that ends `path`. Returns false if the caller must write the step anew.
    #[inline(always)]
    fn next_index(_path: &mut Text) -> bool {
        false
    }
}

/// The path, and its length at each open container.
#[derive(Debug)]
pub struct Trail<S> {
    text: Text,
    levels: Vec<Level>,
    style: std::marker::PhantomData<S>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    /// The length of the container's path.
    length: usize,
    /// Index of the next element.
    next: u64,
}

impl<S: Style> Trail<S> {
    /// Makes the path of a document.
    pub fn new() -> Self {
        let mut text = Text::default();
        text.extend(S::ROOT);
        Trail { text, levels: Vec::new(), style: std::marker::PhantomData }
    }

    /// Returns the path.
    #[inline(always)]
    pub fn path(&self) -> &Text {
        &self.text
    }

    /// Goes to a new document.
    #[inline(always)]
    pub fn document(&mut self) {
        self.text.truncate(S::ROOT.len());
    }

    /// Enters a container.
    #[inline(always)]
    pub fn open(&mut self, _kind: Kind) {
        self.levels.push(Level { length: self.text.len(), next: 0 });
    }

    /// Goes to a member.
    #[inline(always)]
    pub fn key(&mut self, raw: Raw<'_>) {
        if let Some(level) = self.levels.last() {
            self.text.truncate(level.length);
        }
        S::key(&mut self.text, raw);
    }

    /// Goes to the next element.
    #[inline(always)]
    pub fn element(&mut self) {
        let Some(level) = self.levels.last_mut() else { return };
        let index = level.next;
        level.next += 1;
        if index == 0 || !S::next_index(&mut self.text) {
            self.text.truncate(level.length);
            S::index(&mut self.text, index);
        }
    }

    /// Leaves a container: the path is then that of the container.
    #[inline(always)]
    pub fn close(&mut self) {
        if let Some(level) = self.levels.pop() {
            self.text.truncate(level.length);
        }
    }
}

impl<S: Style> Default for Trail<S> {
    fn default() -> Self {
        Trail::new()
    }
}

/// Appends a number in decimal.
pub(crate) fn push_number(to: &mut Text, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    to.extend(&digits[at..]);
}

/// The notation `@."menu".0`, with names as written.
#[derive(Debug)]
pub struct Written;

impl Style for Written {
    const ROOT: &'static [u8] = b"@";

    #[inline(always)]
    fn key(path: &mut Text, raw: Raw<'_>) {
        path.put((*b".", raw));
    }

    fn index(path: &mut Text, index: u64) {
        path.push(b'.');
        push_number(path, index);
    }

    /// Increments in decimal: nearly always only the last digit changes.
    #[inline(always)]
    fn next_index(path: &mut Text) -> bool {
        match path.last_mut() {
            Some(digit @ b'0'..=b'8') => {
                *digit += 1;
                true
            }
            _ => false,
        }
    }
}
