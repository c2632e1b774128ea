//! Kernels that stand for two commands: `sort | uniq` and `sort | head`, against both real tools.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use pelton_commands::{
    Accept, Context, Family, Implementation, Locale, SortOptions, TopK, UniqOptions, sort_uniq,
};
use pelton_stream::memory::{self, Ended, Little, Source};
use pelton_stream::{BLOCK_BYTES, InputKind, Kernel, Notice, Resources};
use pelton_testkit::Campaign;
use pelton_testkit::campaign_settings::tally;
use pelton_verify::{Case, CaseReport, LENT_BYTES, Oracle, Rng, resources, shrink, sort, uniq};

/// Both commands' arguments, and the data.
#[derive(Clone, Debug)]
struct Pair {
    sort: Vec<Vec<u8>>,
    /// Of uniq; or the number of lines for head.
    uniq: Option<Vec<Vec<u8>>>,
    lines: usize,
    /// Whether tail reads what sort prints, not head.
    last: bool,
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
        Pair { sort, uniq: Some(uniq), lines: 0, last: false, utf8: rng.chance(50), text }
    }

    fn head(rng: &mut Rng) -> Self {
        let lines = rng.pick(&[0, 1, 1, 2, 3, 10, 10, 100, 5000]);
        let separator = rng.pick(&[&b""[..], b"", b","]);
        Pair {
            sort: sort::options(rng, separator),
            uniq: None,
            lines,
            last: rng.chance(40),
            utf8: rng.chance(50),
            text: sort::text(rng, separator),
        }
    }

    fn kernel(&self, utf8: &(&'static str, Locale)) -> Accept<Box<dyn Kernel>> {
        let locale = if self.utf8 { utf8.1.clone() } else { Locale::C };
        let context = Context { locale, implementation: Implementation::tested(Family::GnuCoreutils) };
        let sort = SortOptions::parse(&self.sort, &context)?;
        Ok(match &self.uniq {
            Some(uniq) => Box::new(sort_uniq(&sort, &UniqOptions::parse(uniq, &context)?)?),
            None if self.last => Box::new(TopK::last(&sort, self.lines)?),
            None => Box::new(TopK::new(&sort, self.lines)?),
        })
    }

    fn expected(&self, utf8: &str, sort: &Oracle, uniq: &Oracle) -> Vec<u8> {
        let locale = if self.utf8 { utf8 } else { "C" };
        let sorted =
            sort.answer(&self.sort, &self.text, false, locale).expect("sort").expect("an end").stdout;
        let Some(args) = &self.uniq else {
            let end = if self.sort.iter().any(|arg| arg == b"-z") { 0 } else { b'\n' };
            let lines: Vec<&[u8]> = sorted.split_inclusive(|byte| *byte == end).collect();
            let kept = lines.len().min(self.lines);
            return if self.last { lines[lines.len() - kept..].concat() } else { lines[..kept].concat() };
        };
        uniq.answer(args, &sorted, false, locale).expect("uniq").expect("an end").stdout
    }
}

/// The two real tools, and what UTF-8 stands for.
struct Oracles {
    sort: Oracle,
    uniq: Oracle,
    utf8: (&'static str, Locale),
}

impl Pair {
    /// The first size of blocks with which kernel and tools differ, what they print and what it prints. Nothing if the
    /// kernel declines.
    fn differs(&self, oracles: &Oracles, comparisons: &mut u64) -> Option<(usize, Vec<u8>, Vec<u8>)> {
        self.kernel(&oracles.utf8).ok()?;
        let expected = self.expected(oracles.utf8.0, &oracles.sort, &oracles.uniq);
        SIZES.into_iter().find_map(|block_bytes| {
            *comparisons += 1;
            let mut got = self.run(oracles, block_bytes, &Resources::default());
            if got == expected && block_bytes == LENT_BYTES {
                let storage = Arc::new(Little([1, 50, 500, 4000][self.text.len() % 4]));
                got = self.run(oracles, block_bytes, &resources(Some(storage)));
            }
            (got != expected).then(|| (block_bytes, expected.clone(), got))
        })
    }

    fn run(&self, oracles: &Oracles, block_bytes: usize, resources: &Resources) -> Vec<u8> {
        let source = Source { name: None, bytes: &self.text, kind: InputKind::Other };
        let run = || {
            let mut kernel = self.kernel(&oracles.utf8).unwrap_or_else(|declined| panic!("{declined}"));
            let mut out = Vec::new();
            kernel.notice(Notice::Resources(resources));
            assert_eq!(memory::run(&mut *kernel, &[source], block_bytes, &mut out), Ended::Whole);
            out
        };
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| b"the kernel panicked".to_vec())
    }

    /// The same question about fewer options and less data.
    fn shrunk(mut self, oracles: &Oracles) -> Pair {
        let fails = |pair: &Pair| pair.is_fair() && pair.differs(oracles, &mut 0).is_some();
        let with_sort = |pair: &Pair, case: &Case| Pair {
            sort: case.args.clone(),
            text: case.stdin.clone(),
            utf8: case.utf8,
            ..pair.clone()
        };
        let whole =
            Case { args: self.sort.clone(), stdin: self.text.clone(), utf8: self.utf8, ..Case::default() };
        self = with_sort(&self, &shrink(whole, |case| fails(&with_sort(&self, case))));
        if let Some(uniq) = self.uniq.clone() {
            let with_uniq = |pair: &Pair, case: &Case| Pair { uniq: Some(case.args.clone()), ..pair.clone() };
            let whole = Case { args: uniq, ..Case::default() };
            self = with_uniq(&self, &shrink(whole, |case| fails(&with_uniq(&self, case))));
        }
        self
    }

    /// The planner would join these two: both have the same line ends, and sort leaves equal lines to uniq.
    fn is_fair(&self) -> bool {
        let has = |args: &[Vec<u8>], wanted: &[u8]| args.iter().any(|arg| arg == wanted);
        let Some(uniq) = &self.uniq else { return true };
        let joined = [&b"-s"[..], b"-u", b"--stable"].iter().any(|wanted| has(&self.sort, wanted));
        !joined && has(&self.sort, b"-z") == has(uniq, b"-z")
    }

    fn toml(&self, name: &str, utf8: &str) -> String {
        let lines = self.lines.to_string();
        let second: Vec<&[u8]> = match &self.uniq {
            Some(args) => [&b"uniq"[..]].into_iter().chain(args.iter().map(Vec::as_slice)).collect(),
            None => vec![b"head", b"-n", lines.as_bytes()],
        };
        let first = [&b"sort"[..]].into_iter().chain(self.sort.iter().map(Vec::as_slice)).collect();
        let locale = if self.utf8 { utf8 } else { "C" };
        CaseReport { stages: vec![first, second], files: vec![], stdin: &self.text, piped: true, locale }
            .toml(name)
    }
}

/// In C and C.UTF-8, and in each of some other locales that is installed.
fn campaigns(name: &str, make: fn(&mut Rng) -> Pair) {
    campaign(name, make, ("C.UTF-8", Locale::C_UTF8));
    for locale in ["en_US.UTF-8", "de_DE.UTF-8", "ja_JP.UTF-8", "tr_TR.UTF-8"] {
        match Locale::named(locale) {
            Some(tables) => campaign(name, make, (locale, tables)),
            None => pelton_testkit::skips::skip(&format!("locale {locale}")),
        }
    }
}

/// As many comparisons as are wanted, and the first difference, made small.
fn campaign(name: &str, make: fn(&mut Rng) -> Pair, utf8: (&'static str, Locale)) {
    let wanted = Campaign::from_env();
    let (cases, seed) = (wanted.cases.unwrap_or(600), wanted.seed);
    let oracle = |path: &str| Oracle::new(PathBuf::from(path)).expect("a folder");
    let oracles = Oracles { sort: oracle("/usr/bin/sort"), uniq: oracle("/usr/bin/uniq"), utf8 };
    let (mut comparisons, mut index) = (0u64, 0u64);
    let mut differing = None;
    while comparisons < cases && index < cases && differing.is_none() {
        let pair = make(&mut Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(index)));
        index += 1;
        differing = pair.differs(&oracles, &mut comparisons).map(|_| pair);
    }
    let differences = u64::from(differing.is_some());
    crate::say(&tally("kernels", &[("comparisons", comparisons), ("differences", differences)]));
    let Some(least) = differing.map(|pair| pair.shrunk(&oracles)) else { return };
    let name = format!("{}-{seed}-{index}", name.replace('|', "-"));
    let shown = match least.differs(&oracles, &mut 0) {
        Some((block_bytes, expected, got)) => format!(
            "# blocks of {block_bytes}: expected \"{}\", got \"{}\"\n{}",
            expected.escape_ascii(),
            got.escape_ascii(),
            least.toml(&name, oracles.utf8.0)
        ),
        None => format!("# not every time\n{}", least.toml(&name, oracles.utf8.0)),
    };
    wanted.keep(&name, &shown);
    panic!("\n{shown}");
}

/// The sizes of blocks that every pair is run with.
const SIZES: [usize; 4] = [1, 7, 4096, BLOCK_BYTES];

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
