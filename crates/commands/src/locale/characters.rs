//! Multibyte characters: decoding as in glibc, and glibc's character classes.

use pelton_sys::wide_characters::{PAGE, WideClass, WideClasses};

/// The classes, fetched page by page on demand.
pub(crate) struct Classes {
    source: WideClasses,
    pages: Vec<Option<Box<[WideClass; PAGE]>>>,
}

impl Classes {
    /// `None` if the C library cannot be queried.
    pub(crate) fn new() -> Option<Self> {
        Some(Classes { source: WideClasses::of_utf8()?, pages: Vec::new() })
    }

    /// Returns the class of this character. Like wc, counts no-break blanks as white space.
    pub(crate) fn get(&mut self, char: u32) -> WideClass {
        let (page, place) = (char as usize / PAGE, char as usize % PAGE);
        if char > 0x10_ffff {
            return WideClass::default();
        }
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        let classes = self.pages[page].get_or_insert_with(|| self.source.page(page as u32));
        let class = classes[place];
        WideClass { space: class.space || matches!(char, 0xa0 | 0x2007 | 0x202f | 0x2060), ..class }
    }
}

/// The start of some bytes.
pub(crate) enum Decoded {
    /// A character and its length.
    Character(u32, usize),
    /// The first byte starts no character.
    None,
    /// The block ends inside a character.
    CutOff,
}

/// Decodes the first character.
pub(crate) fn decode(bytes: &[u8]) -> Decoded {
    let head = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => {
            return match long_form(bytes) {
                _ if error.error_len().is_none() => Decoded::CutOff,
                // Beyond Unicode: in no class.
                LongForm::Whole(length) => Decoded::Character(u32::MAX, length),
                LongForm::CutOff => Decoded::CutOff,
                LongForm::None => Decoded::None,
            };
        }
    };
    valid.chars().next().map_or(Decoded::None, |char| Decoded::Character(char as u32, char.len_utf8()))
}

/// Sequences that glibc decodes outside Unicode: values above 0x10ffff in four, five or six bytes.
pub(crate) enum LongForm {
    /// Not such a sequence.
    None,
    /// A sequence of this many bytes.
    Whole(usize),
    /// The block ends inside it.
    CutOff,
}

pub(crate) fn long_form(bytes: &[u8]) -> LongForm {
    let (length, second_least) = match bytes.first() {
        Some(0xf4) => (4, 0x90),
        Some(0xf5..=0xf7) => (4, 0x80),
        Some(0xf8) => (5, 0x88),
        Some(0xf9..=0xfb) => (5, 0x80),
        Some(0xfc) => (6, 0x84),
        Some(0xfd) => (6, 0x80),
        _ => return LongForm::None,
    };
    let following = &bytes[1..bytes.len().min(length)];
    let continues = following.iter().all(|byte| matches!(byte, 0x80..0xc0));
    if !continues || following.first().is_some_and(|&second| second < second_least) {
        LongForm::None
    } else if following.len() + 1 == length {
        LongForm::Whole(length)
    } else {
        LongForm::CutOff
    }
}
