use std::ffi::CString;

use super::*;

/// Returns the locales of this machine with their own order, or those that PELTON_LOCALES names. There are three after
/// `cargo xtask setup`.
fn installed() -> Vec<&'static Collation> {
    let asked = std::env::var("PELTON_LOCALES");
    let names = asked.as_deref().unwrap_or("en_US.UTF-8 de_DE.UTF-8 cs_CZ.UTF-8 fr_CA.UTF-8 ja_JP.UTF-8");
    names.split_whitespace().filter_map(|name| Collation::of(name).ok().flatten()).collect()
}

struct Random(pelton_testkit::Random);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0.below(end)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// Returns a string without NULs.
    fn text(&mut self) -> Vec<u8> {
        const PIECES: &[&str] = &[
            "a",
            "b",
            "A",
            "B",
            "-",
            " ",
            "é",
            "e",
            "É",
            "日",
            "本",
            "ß",
            "ss",
            "\u{301}",
            "1",
            "2",
            "10",
            "_",
            ".",
            "\u{1}",
            "\u{7f}",
            "œ",
            "oe",
            "ch",
            "lj",
            "l·",
            "😀",
            "가",
            "ㄱ",
            "ก",
            "เ",
            "ກ",
            "ເ",
            "ي",
            "ا",
            "\u{651}",
            "ą",
            "ł",
            "Ж",
            "ж",
            "あ",
            "ア",
            "\u{1b6}",
            "\u{301}\u{327}",
            "\u{64b}",
            "и\u{306}",
        ];
        let kind = self.below(4);
        let mut text = Vec::new();
        // Vectors, and the chunks of long texts.
        if self.below(20) == 0 {
            text.resize(1000 + self.below(40), b'x');
        }
        let most = if self.below(4) == 0 { 40 } else { 9 };
        for _ in 0..self.below(most) {
            match kind {
                0 => text.push(1 + self.below(255) as u8),
                1 => {
                    let char = char::from_u32(1 + self.below(0x3_0000) as u32).unwrap_or('x');
                    text.extend_from_slice(char.to_string().as_bytes());
                }
                2 => text.push(b' ' + self.below(95) as u8),
                _ => text.extend_from_slice(self.pick(PIECES).as_bytes()),
            }
        }
        text
    }

    /// Returns another string, or a similar one.
    fn relative(&mut self, of: &[u8]) -> Vec<u8> {
        let mut text = of.to_vec();
        match self.below(4) {
            0 => return self.text(),
            1 if !text.is_empty() => {
                let at = self.below(text.len());
                text[at] = 1 + self.below(255) as u8;
            }
            2 if text.len() > 1 => {
                let at = self.below(text.len() - 1);
                text.swap(at, at + 1);
            }
            _ => text.extend(self.text()),
        }
        text
    }
}

fn key(collation: &Collation, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    collation.append_key(text, &mut key);
    key
}

fn beginning(collation: &Collation, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    collation.append_beginning(text, &mut key);
    key
}

#[test]
fn keys_order_as_the_library_orders_the_strings() {
    let pairs = std::env::var("PELTON_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(15_000);
    for collation in installed() {
        let mut random = Random(pelton_testkit::Random::new(
            std::env::var("PELTON_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1),
        ));
        let mut equal = 0;
        for _ in 0..pairs {
            let a = random.text();
            let b = random.relative(&a);
            let c_string = |text: &[u8]| CString::new(text).unwrap();
            let wanted = collation.locale.compare(&c_string(&a), &c_string(&b));
            let order = key(collation, &a).cmp(&key(collation, &b));
            assert_eq!(order, wanted, "{collation:?} {} {}", a.escape_ascii(), b.escape_ascii());
            let first = beginning(collation, &a).cmp(&beginning(collation, &b));
            assert!(first.is_eq() || first == wanted, "{} {}", a.escape_ascii(), b.escape_ascii());
            let at_once = collation.compare_beginnings(&a, &b);
            assert_eq!(at_once, first, "{collation:?} {} {}", a.escape_ascii(), b.escape_ascii());
            if wanted.is_eq() && a != b {
                equal += 1;
                let alone = collation.is_alone(&a) || collation.is_alone(&b);
                assert!(!alone, "{collation:?} {} {}", a.escape_ascii(), b.escape_ascii());
            }
        }
        assert!(equal > 0, "strings that are equal and not the same were met");
    }
}

#[test]
fn plain_text_has_no_equals_and_unknown_bytes_have() {
    let Ok(Some(collation)) = Collation::of("en_US.UTF-8") else { return };
    for text in ["", "Hello, world; 1\t2\0x", "naïve — ñandú", "a·l", "Ж"] {
        assert!(collation.is_alone(text.as_bytes()), "{text}");
    }
    for text in [&b"\xff"[..], b"a\x01", "\u{378}".as_bytes(), "日本".as_bytes(), "l·".as_bytes()] {
        assert!(!collation.is_alone(text), "{}", text.escape_ascii());
    }
}

#[test]
fn the_quick_check_of_ascii_agrees_with_the_slow_one() {
    let names = ["en_US.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8", "cs_CZ.UTF-8", "hu_HU.UTF-8", "es_ES.UTF-8"];
    for collation in names.iter().filter_map(|name| Collation::of(name).ok().flatten()) {
        for byte in 0..=255 {
            let goes_on = byte > 0 && collation.sequences.may_go_on_in_ascii(byte);
            let wanted = byte.is_ascii() && !goes_on && collation.is_alone(&[byte]);
            assert_eq!(collation.is_plain(&[byte]), wanted, "{collation:?} {byte}");
        }
    }
}

#[test]
fn pieces_between_nuls_are_compared_one_by_one() {
    let Ok(Some(collation)) = Collation::of("en_US.UTF-8") else { return };
    let ascending: [&[u8]; 7] = [b"", b"\0", b"a", b"a\0", b"a\0b", b"A", b"ab"];
    for pair in ascending.windows(2) {
        assert!(key(collation, pair[0]) < key(collation, pair[1]), "{pair:?}");
        let first = beginning(collation, pair[0]).cmp(&beginning(collation, pair[1]));
        assert!(first.is_le(), "{pair:?}");
        assert_eq!(collation.compare_beginnings(pair[0], pair[1]), first, "{pair:?}");
    }
}
