//! Substitution for expressions whose matches are single bytes, or runs after one: `[,;]`, `  *`. No automaton
//! searches for them.

/// Bytes that are a match, or start one.
#[derive(Clone, Debug)]
pub(super) struct Single {
    members: Box<[bool; 256]>,
    /// The only one, if there is just one.
    only: Option<u8>,
    /// For runs: whether each byte begins a match, and whether it continues one.
    runs: Option<Box<[u8; 256]>>,
}

const BEGINS: u8 = 1;
const GOES_ON: u8 = 2;

impl Single {
    /// All bytes of `run` after a member belong to the match.
    pub(super) fn new(members: Box<[bool; 256]>, run: Option<&[bool; 256]>) -> Self {
        let mut all = (0..=u8::MAX).filter(|byte| members[usize::from(*byte)]);
        let only = all.next().filter(|_| all.next().is_none());
        let mark = |byte: usize, run: &[bool; 256]| {
            (u8::from(members[byte]) * BEGINS) | (u8::from(run[byte]) * GOES_ON)
        };
        let runs = run.map(|run| Box::new(std::array::from_fn(|byte| mark(byte, run))));
        Single { members, only, runs }
    }

    /// Returns the variant for many lines at once.
    pub(super) fn over_lines(&self) -> Single {
        let mut single = self.clone();
        single.members[usize::from(b'\n')] = false;
        if let Some(marks) = &mut single.runs {
            marks[usize::from(b'\n')] = 0;
        }
        single.only = single.only.filter(|byte| *byte != b'\n');
        single
    }

    /// Replaces each run by one byte or nothing, without a branch per byte: the ends of runs are hard to
    /// predict.
    fn replace_runs(marks: &[u8; 256], by: Option<u8>, text: &[u8], out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.resize(start + text.len(), 0);
        let made = &mut out[start..];
        let (with, stays) = (by.unwrap_or(0), u8::from(by.is_some()));
        let (mut length, mut count, mut inside) = (0, 0, 0);
        for byte in text {
            let mark = marks[usize::from(*byte)];
            let goes_on = inside & (mark / GOES_ON);
            inside = (mark & BEGINS) | goes_on;
            let begins = inside ^ goes_on;
            made[length] = if inside != 0 { with } else { *byte };
            length += usize::from((inside ^ 1) | (begins & stays));
            count += usize::from(begins);
        }
        out.truncate(start + length);
        count
    }

    /// Whether this replacement is supported.
    pub(super) fn serves(&self, by: &[u8]) -> bool {
        self.runs.is_none() || by.len() <= 1
    }

    /// Replaces all matches where their number is not needed.
    pub(super) fn replace_uncounted(&self, by: &[u8], text: &[u8], out: &mut Vec<u8>) {
        match (self.only, by) {
            (Some(byte), [by]) if self.runs.is_none() => exchange(byte, *by, text, out),
            _ => {
                self.replace(by, text, out);
            }
        }
    }

    /// Replaces all matches. Returns their number.
    pub(super) fn replace(&self, by: &[u8], text: &[u8], out: &mut Vec<u8>) -> usize {
        if let Some(marks) = &self.runs {
            return Single::replace_runs(marks, by.first().copied(), text, out);
        }
        match (self.only, by) {
            (Some(byte), [by]) => {
                let count = memchr::memchr_iter(byte, text).count();
                if count > 0 {
                    exchange(byte, *by, text, out);
                } else {
                    out.extend_from_slice(text);
                }
                count
            }
            (None, [by]) => {
                let mut count = 0;
                out.extend(text.iter().map(|byte| {
                    let is_member = self.members[usize::from(*byte)];
                    count += usize::from(is_member);
                    if is_member { *by } else { *byte }
                }));
                count
            }
            (_, by) => {
                let mut count = 0;
                for byte in text {
                    if self.members[usize::from(*byte)] {
                        count += 1;
                        out.extend_from_slice(by);
                    } else {
                        out.push(*byte);
                    }
                }
                count
            }
        }
    }
}

/// Replaces one byte by another. The copy is compared all at once, which compilers vectorise, while it is in
/// the L1 cache.
fn exchange(byte: u8, by: u8, text: &[u8], out: &mut Vec<u8>) {
    for piece in text.chunks(8192) {
        let start = out.len();
        out.extend_from_slice(piece);
        out[start..].iter_mut().for_each(|it| *it = if *it == byte { by } else { *it });
    }
}
