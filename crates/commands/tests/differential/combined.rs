//! Kernels that stand for two commands: `sort | uniq` and `sort | head`, against both real tools.

use std::io::Write as _;
use std::path::PathBuf;

use pelton_commands::{
    Accept, Context, Family, Implementation, Locale, SortOptions, SortUniq, TopK, UniqOptions,
};
use pelton_stream::memory::{self, Ended, Source};
use pelton_stream::{BLOCK_BYTES, InputKind, Kernel};

use crate::grammars::{sort, uniq};
use crate::oracle::Oracle;
use crate::rng::Rng;

/// Both commands' arguments, and the data.
#[derive(Debug)]
struct Pair {
    sort: Vec<Vec<u8>>,
    /// Of uniq; or the number of lines for head.
    uniq: Option<Vec<Vec<u8>>>,
    lines: usize,
    utf8: bool,
    text: Vec<u8>,
}

impl Pair {
    fn uniq(rng: &mut Rng) -> Self {
        let mut sort: Vec<Vec<u8>> = if rng.chance(50) { Vec::new() } else { sort::options(rng, b"") };
        sort.retain(|arg| !matches!(arg.as_slice(), b"-s" | b"-u" | b"--stable"));
        let mut uniq = uniq::options(rng);
        if rng.chance(70) {
            uniq.retain(|arg| matches!(arg.as_slice(), b"-c" | b"-d" | b"-u" | b"-D" | b"-z"));
        }
        sort.retain(|arg| arg != b"-z");
        if uniq.iter().any(|arg| arg == b"-z") {
            sort.push(b"-z".to_vec());
        }
        let text = if rng.chance(50) { uniq::text(rng) } else { sort::text(rng, b"") };
        Pair { sort, uniq: Some(uniq), lines: 0, utf8: rng.chance(50), text }
    }

    fn head(rng: &mut Rng) -> Self {
        let lines = rng.pick(&[0, 1, 1, 2, 3, 10, 10, 100, 5000]);
        let separator = rng.pick(&[&b""[..], b"", b","]);
        Pair {
            sort: sort::options(rng, separator),
            uniq: None,
            lines,
            utf8: rng.chance(50),
            text: sort::text(rng, separator),
        }
    }

    fn kernel(&self, utf8: &(&'static str, Locale)) -> Accept<Box<dyn Kernel>> {
        let locale = if self.utf8 { utf8.1.clone() } else { Locale::C };
        let context = Context { locale, implementation: Implementation::tested(Family::GnuCoreutils) };
        let sort = SortOptions::parse(&self.sort, &context)?;
        Ok(match &self.uniq {
            Some(uniq) => Box::new(SortUniq::new(&sort, &UniqOptions::parse(uniq, &context)?)?),
            None => Box::new(TopK::new(&sort, self.lines)?),
        })
    }

    fn expected(&self, utf8: &str, sort: &Oracle, uniq: &Oracle) -> Vec<u8> {
        let locale = if self.utf8 { utf8 } else { "C" };
        let sorted = sort.answer(&self.sort, &self.text, false, locale).stdout;
        let Some(args) = &self.uniq else {
            let end = if self.sort.iter().any(|arg| arg == b"-z") { 0 } else { b'\n' };
            return sorted.split_inclusive(|byte| *byte == end).take(self.lines).flatten().copied().collect();
        };
        uniq.answer(args, &sorted, false, locale).stdout
    }
}

fn run(kernel: &mut dyn Kernel, text: &[u8], block_bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let source = Source { name: None, bytes: text, kind: InputKind::Other };
    assert_eq!(memory::run(kernel, &[source], block_bytes, &mut out), Ended::Whole);
    out
}

/// In C and C.UTF-8, and where it is installed in C and en_US.UTF-8.
fn campaigns(name: &str, make: fn(&mut Rng) -> Pair) {
    campaign(name, make, &("C.UTF-8", Locale::C_UTF8));
    match crate::engine::english() {
        Some(english) => campaign(name, make, &english),
        None => crate::say("SKIPPED: en_US.UTF-8 is not installed"),
    }
}

fn campaign(name: &str, make: fn(&mut Rng) -> Pair, utf8: &(&'static str, Locale)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (wanted, seed) = (number("PELTON_FUZZ_CASES").unwrap_or(600), number("PELTON_SEED").unwrap_or(1));
    let (sort, uniq) =
        (Oracle::new(PathBuf::from("/usr/bin/sort")), Oracle::new(PathBuf::from("/usr/bin/uniq")));
    let (mut comparisons, mut declined, mut index) = (0u64, 0u64, 0u64);
    while comparisons < wanted && index < wanted {
        let mut rng = Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(index));
        index += 1;
        let pair = make(&mut rng);
        if pair.kernel(utf8).is_err() {
            declined += 1;
            continue;
        }
        let expected = pair.expected(utf8.0, &sort, &uniq);
        for block_bytes in [1, 7, 4096, BLOCK_BYTES] {
            comparisons += 1;
            let Ok(mut kernel) = pair.kernel(utf8) else { continue };
            let got = run(&mut *kernel, &pair.text, block_bytes);
            let show = |text: &[u8]| text.escape_ascii().to_string().chars().take(2000).collect::<String>();
            assert!(
                got == expected,
                "{pair:?} case {index} blocks {block_bytes}\nexpected {}\ngot      {}",
                show(&expected),
                show(&got)
            );
        }
    }
    let _ = writeln!(
        std::io::stdout(),
        "{name:10} {} seed {seed} comparisons {comparisons} declined {declined} differences 0",
        utf8.0
    );
}

/// The oracle is a tool in a version that the kernels claim to equal.
fn tested() -> bool {
    use pelton_commands::detect::{Detector, SystemProbe};
    let implementation = Detector::new(&SystemProbe, None).identify("/usr/bin/sort".as_ref());
    implementation.is_tested(Family::GnuCoreutils)
}

#[test]
fn sort_and_uniq_as_one_agree_with_both() {
    if tested() {
        campaigns("sort|uniq", Pair::uniq);
    }
}

#[test]
fn sort_and_head_as_one_agree_with_both() {
    if tested() {
        campaigns("sort|head", Pair::head);
    }
}
