//! Contents of files and of standard input, described by a few words of TOML instead of megabytes in the
//! repository.
//!
//! The same recipe gives the same bytes on every machine: the generator below is part of this crate and never
//! changes.

use crate::Random;
use serde::Deserialize;

/// A description of some bytes. In TOML: a plain string, or a table with exactly one *kind* and optional
/// modifiers.
///
/// | kind | bytes |
/// | --- | --- |
/// | `"text"` or `{ text = "…" }` | as written |
/// | `{ bytes = 'a\x00b\n' }` | with the escapes `\n \t \r \0 \\ \xNN` |
/// | `{ lines = N }` | N lines of words and numbers, with many repeated words |
/// | `{ numbers = N }` | the lines 1 to N |
/// | `{ base64 = N }` | N random bytes' worth of base64 text in lines of 76 |
/// | `{ random = N }` | N random bytes, NUL and invalid UTF-8 included |
/// | `{ repeat = "x", times = N }` | N copies |
/// | `{ concat = [recipe, …] }` | the recipes' bytes in order |
///
/// Modifiers: `seed`, `final_newline = false` (drops the last newline), `mode = 0o755` (of the file).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "toml::Value")]
pub struct Recipe {
    kind: Kind,
    seed: u64,
    final_newline: bool,
    /// Permission bits of the file, if not the default.
    pub mode: Option<u32>,
}

#[derive(Clone, Debug)]
enum Kind {
    Literal(Vec<u8>),
    Lines(usize),
    Numbers(usize),
    Base64(usize),
    Random(usize),
    Repeat(String, usize),
    Concat(Vec<Recipe>),
}

impl Default for Kind {
    fn default() -> Self {
        Kind::Literal(Vec::new())
    }
}

/// The table as written, before validation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    text: Option<String>,
    bytes: Option<String>,
    lines: Option<usize>,
    numbers: Option<usize>,
    base64: Option<usize>,
    random: Option<usize>,
    repeat: Option<String>,
    times: Option<usize>,
    concat: Option<Vec<Recipe>>,
    seed: Option<u64>,
    final_newline: Option<bool>,
    mode: Option<u32>,
}

impl TryFrom<toml::Value> for Recipe {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        if let toml::Value::String(text) = value {
            return Ok(Recipe::from(text.as_str()));
        }
        let written: Written = value.try_into().map_err(|error| format!("in a recipe: {error}"))?;
        let (seed, final_newline, mode) =
            (written.seed.unwrap_or(1), written.final_newline.unwrap_or(true), written.mode);
        Ok(Recipe { kind: written.kind()?, seed, final_newline, mode })
    }
}

impl From<&str> for Recipe {
    fn from(text: &str) -> Self {
        Recipe { kind: Kind::Literal(text.into()), seed: 1, final_newline: true, mode: None }
    }
}

impl Written {
    fn kind(self) -> Result<Kind, String> {
        let literal = self.bytes.as_deref().map(unescape).transpose()?.or(self.text.map(String::into_bytes));
        let repeat = match (self.repeat, self.times) {
            (Some(text), Some(times)) => Some(Kind::Repeat(text, times)),
            (None, None) => None,
            _ => return Err("a recipe needs `repeat` and `times` together".into()),
        };
        let kinds = [
            literal.map(Kind::Literal),
            self.lines.map(Kind::Lines),
            self.numbers.map(Kind::Numbers),
            self.base64.map(Kind::Base64),
            self.random.map(Kind::Random),
            repeat,
            self.concat.map(Kind::Concat),
        ];
        let mut kinds = kinds.into_iter().flatten();
        match (kinds.next(), kinds.next()) {
            (Some(kind), None) => Ok(kind),
            (None, _) => Err("a recipe needs a kind: text, bytes, lines, numbers, base64, …".into()),
            (Some(_), Some(_)) => Err("a recipe has two kinds".into()),
        }
    }
}

impl Recipe {
    /// Makes the bytes.
    pub fn make(&self) -> Vec<u8> {
        let mut bytes = self.whole();
        if !self.final_newline && bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        bytes
    }

    fn whole(&self) -> Vec<u8> {
        let mut random = Random::new(self.seed);
        match &self.kind {
            Kind::Literal(bytes) => bytes.clone(),
            Kind::Lines(count) => (0..*count).map(|_| random_line(&mut random)).collect::<Vec<_>>().concat(),
            Kind::Numbers(count) => (1..=*count).map(|n| format!("{n}\n")).collect::<String>().into_bytes(),
            Kind::Base64(size) => base64_lines(&random_bytes(&mut random, *size)),
            Kind::Random(size) => random_bytes(&mut random, *size),
            Kind::Repeat(text, times) => text.as_bytes().repeat(*times),
            Kind::Concat(parts) => parts.iter().flat_map(Recipe::make).collect(),
        }
    }
}

const WORDS: [&str; 16] = [
    "the", "of", "and", "water", "wheel", "river", "jet", "nozzle", "bucket", "head", "flow", "shaft",
    "torque", "valve", "Error", "gate",
];

fn random_bytes(random: &mut Random, size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size + 8);
    (0..size.div_ceil(8)).for_each(|_| bytes.extend_from_slice(&random.next().to_le_bytes()));
    bytes.truncate(size);
    bytes
}

/// Returns one to six words and a number; low-numbered words are more frequent.
fn random_line(random: &mut Random) -> Vec<u8> {
    let mut line = String::new();
    for _ in 0..=random.below(6) {
        let reach = 1 + random.below(WORDS.len());
        line.push_str(WORDS[random.below(reach)]);
        line.push(' ');
    }
    line.push_str(&random.below(2000).to_string());
    line.push('\n');
    line.into_bytes()
}

fn base64_lines(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u8> = bytes.iter().map(|byte| DIGITS[usize::from(byte & 63)]).collect();
    digits.chunks(76).map(|line| [line, b"\n"].concat()).collect::<Vec<_>>().concat()
}

fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.chars();
    while let Some(char) = rest.next() {
        if char == '\\' {
            bytes.push(escape(&mut rest)?);
        } else {
            bytes.extend(char.to_string().into_bytes());
        }
    }
    Ok(bytes)
}

fn escape(rest: &mut std::str::Chars<'_>) -> Result<u8, String> {
    match rest.next() {
        Some('n') => Ok(b'\n'),
        Some('t') => Ok(b'\t'),
        Some('r') => Ok(b'\r'),
        Some('0') => Ok(0),
        Some('\\') => Ok(b'\\'),
        Some('x') => {
            let digits: String = rest.take(2).collect();
            u8::from_str_radix(&digits, 16).map_err(|error| format!("`\\x{digits}`: {error}"))
        }
        other => Err(format!("unknown escape `\\{}`", other.map(String::from).unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(toml: &str) -> Result<Recipe, String> {
        let table: toml::Table =
            toml::from_str(&format!("it = {toml}")).map_err(|error| error.to_string())?;
        Recipe::try_from(table["it"].clone())
    }

    fn made(toml: &str) -> Vec<u8> {
        recipe(toml).expect("a good recipe").make()
    }

    #[test]
    fn every_kind_makes_what_it_says() {
        assert_eq!(made(r#""plain\n""#), b"plain\n");
        assert_eq!(made(r"{ bytes = 'a\x00\xff\n\\é' }"), b"a\0\xff\n\\\xc3\xa9");
        assert_eq!(made("{ numbers = 3 }"), b"1\n2\n3\n");
        assert_eq!(made("{ numbers = 3, final_newline = false }"), b"1\n2\n3");
        assert_eq!(made(r#"{ repeat = "ab", times = 3 }"#), b"ababab");
        assert_eq!(made(r#"{ concat = ["a", { numbers = 1 }] }"#), b"a1\n");
        assert_eq!(made("{ random = 1001 }").len(), 1001);
        assert_eq!(made("{ base64 = 100 }").len(), 102);
        assert_eq!(made("{ lines = 50 }").iter().filter(|byte| **byte == b'\n').count(), 50);
    }

    #[test]
    fn recipes_are_deterministic_and_seeded() {
        assert_eq!(made("{ lines = 20 }"), made("{ lines = 20, seed = 1 }"));
        assert_ne!(made("{ lines = 20 }"), made("{ lines = 20, seed = 2 }"));
        assert_eq!(Random::new(1).next(), 0x910a_2dec_8902_5cc1, "the generator must never change");
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        assert!(recipe("{ lines = 1, random = 2 }").is_err_and(|error| error.contains("two kinds")));
        assert!(recipe("{ seed = 1 }").is_err_and(|error| error.contains("needs a kind")));
        assert!(recipe(r#"{ repeat = "x" }"#).is_err_and(|error| error.contains("together")));
        assert!(recipe("{ lins = 1 }").is_err_and(|error| error.contains("unknown field")));
        assert!(recipe(r"{ bytes = '\q' }").is_err_and(|error| error.contains("unknown escape")));
    }
}
