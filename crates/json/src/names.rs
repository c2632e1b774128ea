//! Selected names, compared with the text as it is written.

/// Selected names.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<Name>);

/// A name followed by its closing quote.
#[derive(Clone, Debug)]
struct Name {
    quoted: Vec<u8>,
    /// Its first eight bytes (fewer if it is shorter), and a mask of them.
    start: u64,
    mask: u64,
}

/// Whether a name is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    No,
    Yes,
    /// Its end is not in the text yet.
    Unknown,
}

impl Names {
    /// Collects the names; `None` if one must be written with an escape, or if there are too many to be
    /// faster.
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n [u8]>) -> Option<Self> {
        const MOST: usize = 8;
        let names: Option<Vec<Name>> = names.map(Name::new).collect();
        names.filter(|names| (1..=MOST).contains(&names.len())).map(Names)
    }

    /// Whether the string whose opening quote is at `at` is a selected name.
    #[inline(always)]
    pub(crate) fn judge(&self, text: &[u8], at: usize) -> Selection {
        let Some(start) = text[at + 1..].first_chunk::<8>() else { return Selection::Unknown };
        let start = u64::from_le_bytes(*start);
        for name in &self.0 {
            if (start ^ name.start) & name.mask == 0 {
                let rest = &text[at + 1..];
                if rest.len() < name.quoted.len() {
                    return Selection::Unknown;
                }
                if rest.starts_with(&name.quoted) {
                    return Selection::Yes;
                }
            }
        }
        Selection::No
    }
}

impl Name {
    fn new(name: &[u8]) -> Option<Self> {
        if name.iter().any(|byte| matches!(byte, b'"' | b'\\' | 0..b' ')) {
            return None;
        }
        let quoted = [name, b"\""].concat();
        let (mut start, mut mask) = ([0; 8], [0; 8]);
        for (at, byte) in quoted.iter().take(8).enumerate() {
            (start[at], mask[at]) = (*byte, u8::MAX);
        }
        Some(Name { quoted, start: u64::from_le_bytes(start), mask: u64::from_le_bytes(mask) })
    }
}
