//! The fuzz targets of `fuzz/` without libFuzzer: a corpus, random mutations of it, and the same checks.
//!
//! `cargo test` runs for a second or two; `cargo xtask fuzz --only parsers` as long as you like. A failing
//! input is shrunk and shown. `cargo +nightly fuzz run NAME` searches deeper.
#![allow(missing_docs)]

#[path = "../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub)]
mod targets;

use pelton_testkit::Random;
use std::io::Write as _;
use std::panic::catch_unwind;

use pelton_testkit::campaign_settings::tally;
use pelton_testkit::{Campaign, load_topics};
use targets::{TARGETS, Target};

/// Inputs per target, unless `PELTON_FUZZ_CASES` says otherwise.
const SLICE: u64 = 1500;
/// How many smaller inputs are tried.
const TRIALS: usize = 3000;
/// Longer inputs find nothing that shorter ones do not.
const LONGEST: usize = 2000;

#[test]
fn parsers_hold_what_they_promise() {
    let campaign = Campaign::from_env();
    let inputs = campaign.cases.unwrap_or(SLICE);
    let mut found = Vec::new();
    for target in &TARGETS {
        let mut source = Mutations::new(target, campaign.seed);
        let failing = (0..inputs).map(|_| source.next()).find(|input| fails(target, input));
        let Some(failing) = failing.map(|input| smallest(target, input)) else { continue };
        let shown = format!("# {}\n# b\"{}\"\n", target.name, failing.escape_ascii());
        campaign.keep(&format!("parsers-{}-{}", target.name, campaign.seed), &shown);
        found.push(shown);
    }
    let counts = [("inputs", inputs * TARGETS.len() as u64), ("differences", found.len() as u64)];
    let _ = writeln!(std::io::stdout(), "{}", tally("parsers", &counts));
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

fn fails(target: &Target, input: &[u8]) -> bool {
    catch_unwind(|| (target.check)(input)).is_err()
}

/// Shrinks an input that fails.
fn smallest(target: &Target, mut input: Vec<u8>) -> Vec<u8> {
    let mut trials = TRIALS;
    let mut size = input.len() / 2;
    while size > 0 && trials > 0 {
        let cuts = (0..input.len()).step_by(size);
        let less = |at: usize| [&input[..at], &input[(at + size).min(input.len())..]].concat();
        let smaller = cuts.map(less).take(trials).find(|less| fails(target, less));
        trials = trials.saturating_sub(input.len() / size + 1);
        match smaller {
            Some(smaller) => input = smaller,
            None => size /= 2,
        }
    }
    input
}

/// Endless inputs: first the corpus, then pieces of it cut out, doubled, mixed and changed.
struct Mutations {
    corpus: Vec<Vec<u8>>,
    random: Random,
    given: usize,
}

impl Mutations {
    fn new(target: &Target, seed: u64) -> Self {
        let mut corpus: Vec<Vec<u8>> = target.seeds.iter().map(|seed| seed.to_vec()).collect();
        if target.name == "syntax" {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases");
            let topics = load_topics(folder.as_ref()).expect("the cases");
            corpus.extend(topics.iter().flat_map(|topic| &topic.cases).map(|case| case.text.clone().into()));
        }
        Mutations { corpus, random: Random::new(seed), given: 0 }
    }

    fn next(&mut self) -> Vec<u8> {
        self.given += 1;
        if let Some(input) = self.corpus.get(self.given - 1) {
            return input.clone();
        }
        let mut input = self.pick();
        for _ in 0..1 + self.random.below(5) {
            self.mutate(&mut input);
        }
        input.truncate(LONGEST);
        // A new input may lead further.
        if self.random.below(50) == 0 && self.corpus.len() < 2000 {
            self.corpus.push(input.clone());
        }
        input
    }

    fn pick(&mut self) -> Vec<u8> {
        let at = self.random.below(self.corpus.len());
        self.corpus[at].clone()
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        const TELLING: &[u8] = b"|&;<>()$`\\\"' \t\n*?[]{}!#~=%-+,.:/0179azAZ^_\0\x7f\x80\xc3\xa9\xff";
        let start = self.random.below(input.len() + 1);
        let end = (start + self.random.below(8)).min(input.len());
        match self.random.below(6) {
            0 => drop(input.drain(start..end)),
            1 => {
                let part: Vec<u8> = input[start..end].repeat(1 + self.random.below(20));
                input.splice(start..start, part);
            }
            2 => {
                let other = self.pick();
                let from = self.random.below(other.len() + 1);
                input.splice(start..end, other[from..].iter().copied());
            }
            3 | 4 => input.insert(start, TELLING[self.random.below(TELLING.len())]),
            _ => input.insert(start, self.random.next() as u8),
        }
    }
}
