//! Where Ruby keeps its frames: offsets within its structures, by version.
//!
//! From the structures that the crate rbspy-ruby-structs has for each version, for 64-bit machines.

/// Offsets of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// `rb_vm_t`: the main ractor, and its main thread.
    pub main_ractor: u64,
    pub main_thread: u64,
    /// `rb_ractor_t.threads.set`: a circular list through the first field of each thread.
    pub threads: u64,
    /// `rb_thread_t.ec`.
    pub context: u64,
    pub thread_id: ThreadId,
    /// The size of a control frame.
    pub frame_size: u64,
    /// `rb_iseq_constant_body.insns_info`.
    pub lines: u64,
    /// The size of an entry of its table, which begins with the line.
    pub line_entry: u64,
    /// Whether a text within its object has its length in the flags.
    pub length_in_flags: bool,
}

/// Where the kernel's id of a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadId {
    /// Nowhere: only the main thread is known.
    None,
    /// In the thread.
    Here(u64),
    /// At the second offset of what is at the first.
    Indirect(u64, u64),
}

const RUBY_3_0: Offsets = Offsets {
    main_ractor: 32,
    main_thread: 40,
    threads: 304,
    context: 40,
    thread_id: ThreadId::None,
    frame_size: 56,
    lines: 120,
    line_entry: 8,
    length_in_flags: true,
};
const RUBY_3_1: Offsets =
    Offsets { thread_id: ThreadId::Here(88), frame_size: 64, line_entry: 12, ..RUBY_3_0 };
const RUBY_3_2: Offsets = Offsets {
    context: 48,
    thread_id: ThreadId::Indirect(40, 16),
    lines: 112,
    length_in_flags: false,
    ..RUBY_3_1
};
const RUBY_3_3: Offsets =
    Offsets { threads: 256, thread_id: ThreadId::Indirect(40, 24), frame_size: 56, ..RUBY_3_2 };

/// Returns the offsets of a version such as `3.1.2`.
pub fn offsets(version: &str) -> Option<Offsets> {
    let mut numbers = version.split('.');
    match (numbers.next()?, numbers.next()?) {
        ("3", "0") => Some(RUBY_3_0),
        ("3", "1") => Some(RUBY_3_1),
        ("3", "2") => Some(RUBY_3_2),
        ("3", "3" | "4") => Some(RUBY_3_3),
        _ => None,
    }
}
