//! Random file contents, as recipes.

use std::fmt;

use crate::Random;
use crate::Recipe;

/// Some bytes, as a recipe in TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    kind: Kind,
    final_newline: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Literal(Vec<u8>),
    /// `{ lines = N, seed = M }` and similar recipes.
    Counted(&'static str, usize, u64),
    Repeat(String, usize),
    Concat(Vec<Data>),
}

/// Contents of small files.
const SMALL: &[&[u8]] = &[
    b"",
    b"\n",
    b"a",
    b"\n\n\n",
    b"a\nb\nb\nB\na\n\n\nb",
    b"one two\tthree  four\n\x00nul\x00\nlast\xff\xfe\n",
    b"1 x\n10 y\n2 z\n-3 q\n1e3\n0x10\n 5\n1K\n2M\n3.5\nnan\n",
    b"k1 a\r\nk2 b\r\n\r\nk3\r\n",
    b"\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n\xc3\nJan 3\nfeb 2\n",
    b"  lead\ntail  \n\t\ttabs\tin\there\n x\n",
    b"a,b,c\n1,2,3\n1,2\n,,\n3,2,1\n1,2,3",
    b"b\x00a\x00b\x00c",
    b"\\:\\:\\:\nhead\n\\:\\:\nbody\n\\:\nfoot\n",
    b"[{\"a\": [1, \"the b\", {}], \"e\": null}, {\"x1\": \"a: {\", \"\": \"\xc3\xa9\"}, []]",
    b"{\"a\": 1, \"b\": {\"a b\": [10, \"x\"]}}\n[2, \"b\n\"]\n",
    // To the order of a locale, bytes that are no characters are equal.
    b"\xff b\n\xfe b\n\xc3 a\nb 1\n\x80 b\nx\xc3 z\n\xe9 c\nx\xff a\n\xfe\xff\n\xff\xfe\n\xc3 a\nb\xf0 2",
    b"xxxxaaa\x08\x08bbb\rccc\x0c\x0bd\n",
];

const SORTED: &[&[u8]] = &[
    b"",
    b"a\nb\nc\n",
    b"1 a\n1 b\n2 c\n3",
    b"a\na\nb x\nb y\nthe 5\nwater 1\n",
    b"1\n10\n100\n101\n2\n20\n3\n",
];

/// Lines to repeat.
const PIECES: &[&str] = &[
    "the same line\n",
    "a\nb\n",
    "x",
    "ab ",
    "\u{e9}\u{20ac}",
    "e\u{301}t\u{e9} \u{c4}\u{df}\u{f1} \u{b2}1\n",
    "\u{65e5}\u{672c} \u{ff41}\u{ff11} \u{663}\n",
    "\n",
    "1,2,3\n",
    "a\tb\tc\n",
    "word word\r\n",
    "no end ",
    "aaab\nAaab\n",
    "12 the\n3 of\n",
    "{\"a\": {\"the\": [1, \"x y\", true]}, \"b\": \"\u{e9}\"}\n",
];

impl Data {
    /// Returns 0 to 300 KB of any kind.
    pub(super) fn random(random: &mut Random) -> Self {
        let final_newline = random.below(4) > 0;
        let kind = match random.below(10) {
            0..=3 => Kind::Literal(SMALL[random.below(SMALL.len())].to_vec()),
            4 => Kind::Concat(vec![Data::piece(random), Data::piece(random), Data::piece(random)]),
            _ => return Data { final_newline, ..Data::piece(random) },
        };
        Data { kind, final_newline }
    }

    /// Returns 300 to 4,000 bytes, mostly text.
    pub(super) fn in_parts(random: &mut Random) -> Self {
        let seed = 1 + random.below(100) as u64;
        let mut pieces = vec![Kind::Counted("lines", 15 + random.below(60), seed)];
        for _ in 0..random.below(5) {
            pieces.push(match random.below(3) {
                0 => Kind::Counted("numbers", 1 + random.below(100), seed),
                1 => Kind::Literal(SMALL[random.below(SMALL.len())].to_vec()),
                _ => Kind::Repeat(PIECES[random.below(PIECES.len())].to_owned(), 1 + random.below(50)),
            });
        }
        let first = random.below(pieces.len());
        pieces.swap(0, first);
        let pieces = pieces.into_iter().map(|kind| Data { kind, final_newline: true }).collect();
        Data { kind: Kind::Concat(pieces), final_newline: random.below(4) > 0 }
    }

    fn piece(random: &mut Random) -> Self {
        // Few are larger than a pipe: tiny blocks reveal errors at block boundaries, and cost less.
        let bytes = [60, 60, 600, 3_000, 3_000, 3_000, 70_000, 100_000][random.below(8)];
        let seed = 1 + random.below(100) as u64;
        let kind = match random.below(7) {
            0..=2 => Kind::Counted("lines", 1 + random.below(bytes / 20), seed),
            3 => Kind::Counted("numbers", 1 + random.below(bytes / 6), seed),
            4 => Kind::Counted("random", 1 + random.below(bytes), seed),
            5 => Kind::Counted("base64", 1 + random.below(bytes), seed),
            _ => {
                let piece = PIECES[random.below(PIECES.len())];
                Kind::Repeat(piece.to_owned(), 1 + random.below(bytes / piece.len()))
            }
        };
        Data { kind, final_newline: true }
    }

    /// Returns lines that may be sorted; few are equal, since join outputs all pairs of equal lines.
    pub(super) fn sorted(random: &mut Random) -> Self {
        let kind = match random.below(3) {
            0 => Kind::Repeat("a\n".into(), 1 + random.below(20)),
            _ => Kind::Literal(SORTED[random.below(SORTED.len())].to_vec()),
        };
        Data { kind, final_newline: true }
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        let table: toml::Table = toml::from_str(&format!("it = {self}")).ok()?;
        Some(Recipe::try_from(table["it"].clone()).ok()?.make())
    }

    /// Returns smaller data of the same kind; for small data, the bytes with parts left out.
    pub(super) fn shrunk(&self) -> Vec<Data> {
        let like = |kind| Data { kind, final_newline: self.final_newline };
        match &self.kind {
            Kind::Literal(bytes) => parts(bytes).into_iter().map(|left| like(Kind::Literal(left))).collect(),
            Kind::Concat(pieces) => {
                let mut smaller: Vec<Data> = pieces.clone();
                for (at, data) in pieces.iter().enumerate() {
                    let with = |data: Data| {
                        let mut pieces = pieces.clone();
                        pieces[at] = data;
                        like(Kind::Concat(pieces))
                    };
                    smaller.extend(data.shrunk().into_iter().map(with));
                }
                smaller
            }
            Kind::Counted(name, count, seed) => {
                let fewer = fewer(*count).map(|count| like(Kind::Counted(name, count, *seed)));
                fewer.chain(self.as_literal()).collect()
            }
            Kind::Repeat(text, count) => fewer(*count)
                .map(|count| like(Kind::Repeat(text.clone(), count)))
                .chain(self.as_literal())
                .collect(),
        }
    }

    fn as_literal(&self) -> Option<Data> {
        let bytes = self.bytes().filter(|bytes| bytes.len() < 2000)?;
        Some(Data { kind: Kind::Literal(bytes), final_newline: true })
    }
}

/// Returns smaller counts, by large steps first.
fn fewer(count: usize) -> impl Iterator<Item = usize> {
    [0, count / 2, count - count / 4, count - count / 16, count.saturating_sub(1)]
        .into_iter()
        .filter(move |fewer| *fewer < count)
}

/// Returns the bytes without one half, one quarter, …; without single bytes only if there are few.
fn parts(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut left = Vec::new();
    let mut size = bytes.len();
    while size > 0 && left.len() < 200 {
        for start in (0..bytes.len()).step_by(size) {
            let end = (start + size).min(bytes.len());
            left.push([&bytes[..start], &bytes[end..]].concat());
        }
        size /= 2;
    }
    left
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let newline = if self.final_newline { "" } else { ", final_newline = false" };
        match &self.kind {
            Kind::Literal(bytes) => write!(f, "{{ bytes = '{}'{newline} }}", escaped(bytes)),
            Kind::Counted(name, count, seed) => write!(f, "{{ {name} = {count}, seed = {seed}{newline} }}"),
            Kind::Repeat(text, times) => {
                let text = toml::Value::String(text.clone());
                write!(f, "{{ repeat = {text}, times = {times}{newline} }}")
            }
            Kind::Concat(pieces) => {
                let pieces: Vec<String> = pieces.iter().map(Data::to_string).collect();
                write!(f, "{{ concat = [{}]{newline} }}", pieces.join(", "))
            }
        }
    }
}

/// Escapes the bytes for a recipe's `bytes`, between single quotes.
fn escaped(bytes: &[u8]) -> String {
    let show = |byte: &u8| match byte {
        b'\n' => "\\n".into(),
        b'\t' => "\\t".into(),
        b'\r' => "\\r".into(),
        b'\\' => "\\\\".into(),
        b'\'' | 0..=31 | 127.. => format!("\\x{byte:02x}"),
        _ => char::from(*byte).to_string(),
    };
    bytes.iter().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        let all: Vec<u8> = (0..=255).chain([b'\n']).collect();
        let data = Data { kind: Kind::Literal(all.clone()), final_newline: true };
        assert_eq!(data.bytes(), Some(all));
    }

    #[test]
    fn all_data_are_recipes_and_become_smaller() {
        let mut random = Random::new(1);
        for _ in 0..100 {
            let data = Data::random(&mut random);
            let size = data.bytes().expect("a recipe").len();
            assert!(
                data.shrunk().iter().all(|less| less.bytes().is_some_and(|bytes| bytes.len() <= size)),
                "{data}"
            );
        }
    }
}
