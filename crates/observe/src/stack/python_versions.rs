//! Where CPython keeps its frames: offsets within its structures, by version.
//!
//! From the headers of each version (`offsetof`), for 64-bit machines. Python 3.6 and older do not export the
//! list of interpreters; the free-threaded build is laid out differently, and is not read.

/// Offsets of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// `_PyRuntime.interpreters.head`.
    pub interpreters: u64,
    /// `PyInterpreterState.next`.
    pub interpreter_next: u64,
    /// `PyInterpreterState.threads.head`.
    pub threads: u64,
    /// `PyThreadState`: `next`, `thread_id`, `native_thread_id`.
    pub thread_next: u64,
    pub thread_id: u64,
    pub native_id: Option<u64>,
    /// From `PyThreadState` to the current frame.
    pub current: Current,
    /// The frame: the frame it returns to, its code, its place in that.
    pub back: u64,
    pub code: u64,
    pub place: u64,
    /// `_PyInterpreterFrame.owner`, where frames of C code exist.
    pub owner: Option<u64>,
    /// `PyCodeObject`: file, name, first line, line table, and instructions if the place is an address.
    pub file: u64,
    pub name: u64,
    pub first_line: u64,
    pub line_table: u64,
    pub instructions: Option<u64>,
    pub line_format: LineFormat,
    /// The size of `PyASCIIObject`, after which ASCII text follows, and of `PyCompactUnicodeObject`, after which other text
    /// follows.
    pub ascii: u64,
    pub compact: u64,
}

/// Where the thread's current frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Current {
    /// At this offset of `PyThreadState`.
    Frame(u64),
    /// At the second offset of what is at the first.
    Indirect(u64, u64),
}

/// How a line table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFormat {
    /// `co_lnotab`.
    Increments,
    /// `co_linetable` of 3.10; places count words of 2 bytes.
    Ranges,
    /// `co_linetable` since 3.11.
    Locations,
}

const PYTHON_3_7: Offsets = Offsets {
    interpreters: 24,
    interpreter_next: 0,
    threads: 8,
    thread_next: 8,
    thread_id: 176,
    native_id: None,
    current: Current::Frame(24),
    back: 24,
    code: 32,
    place: 104,
    owner: None,
    file: 96,
    name: 104,
    first_line: 36,
    line_table: 112,
    instructions: None,
    line_format: LineFormat::Increments,
    ascii: 48,
    compact: 72,
};

const PYTHON_3_8: Offsets =
    Offsets { interpreters: 32, file: 104, name: 112, first_line: 40, line_table: 120, ..PYTHON_3_7 };

const PYTHON_3_10: Offsets = Offsets { place: 96, line_format: LineFormat::Ranges, ..PYTHON_3_8 };

const PYTHON_3_11: Offsets = Offsets {
    interpreters: 40,
    threads: 16,
    thread_id: 152,
    native_id: Some(160),
    current: Current::Indirect(56, 8),
    back: 48,
    code: 32,
    place: 56,
    file: 112,
    // `co_qualname`.
    name: 128,
    first_line: 72,
    line_table: 136,
    instructions: Some(184),
    line_format: LineFormat::Locations,
    ..PYTHON_3_10
};

const PYTHON_3_12: Offsets = Offsets {
    threads: 72,
    thread_id: 136,
    native_id: Some(144),
    current: Current::Indirect(56, 0),
    back: 8,
    code: 0,
    owner: Some(70),
    first_line: 68,
    instructions: Some(192),
    ascii: 40,
    compact: 56,
    ..PYTHON_3_11
};

const PYTHON_3_13: Offsets = Offsets {
    interpreters: 632,
    interpreter_next: 7264,
    threads: 7344,
    thread_id: 152,
    native_id: Some(160),
    current: Current::Frame(72),
    instructions: Some(200),
    ..PYTHON_3_12
};

const PYTHON_3_14: Offsets = Offsets {
    interpreters: 808,
    interpreter_next: 7272,
    owner: Some(74),
    instructions: Some(208),
    ..PYTHON_3_13
};

const PYTHON_3_15: Offsets = Offsets {
    interpreters: 936,
    interpreter_next: 7264,
    threads: 7336,
    thread_id: 176,
    native_id: Some(184),
    ..PYTHON_3_14
};

/// Returns the offsets of Python 3.`minor`.
pub fn offsets(minor: u32) -> Option<Offsets> {
    match minor {
        7 => Some(PYTHON_3_7),
        8 | 9 => Some(PYTHON_3_8),
        10 => Some(PYTHON_3_10),
        11 => Some(PYTHON_3_11),
        12 => Some(PYTHON_3_12),
        13 => Some(PYTHON_3_13),
        14 => Some(PYTHON_3_14),
        15 => Some(PYTHON_3_15),
        _ => None,
    }
}

/// Returns the minor version in the name of a program or library: 11 of `python3.11`, `libpython3.11.so.1.0`, `python3.7m`.
pub fn minor_in_name(path: &str) -> Option<u32> {
    let name = super::file_name(path);
    let rest = name.strip_prefix("lib").unwrap_or(name).strip_prefix("python3.")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    // Another build: `python3.13t` is the free-threaded one, `python3.12d` has more fields.
    let other = rest[digits..].starts_with(['t', 'd']);
    rest[..digits].parse().ok().filter(|_| !other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_names() {
        assert_eq!(minor_in_name("/usr/bin/python3.11"), Some(11));
        assert_eq!(minor_in_name("/opt/libpython3.7m.so.1.0"), Some(7));
        assert_eq!(minor_in_name("/usr/bin/python3.13t"), None);
        assert_eq!(minor_in_name("/usr/bin/perl"), None);
    }
}
