//! The differential machine: every kernel against its real tool, on generated options and generated data.
//!
//! `cargo test` runs a slice of a few seconds. A campaign:
//!
//! ```text
//! PELTON_FUZZ_CASES=50000 PELTON_SEED=7 PELTON_FUZZ_ONLY=cut,tr cargo test --release -p pelton-verify --test differential
//! ```
//!
//! or `cargo xtask fuzz --only kernels`. With `PELTON_FUZZ_DECLINED=1` it also shows the command lines that are declined although the tool takes them.
//!
//! A difference is shrunk and printed as a line for `src/known_cases.rs` and as a case for `cases/`. To add a command: a file in `src/grammars/`, a line in
//! its `mod.rs`.

mod awk_programs;
mod declined;
mod installed;
mod two_in_one_kernels;

use std::io::Write as _;
use std::time::Instant;

use installed::engine;
use pelton_testkit::Campaign;
use pelton_testkit::campaign_settings;
use pelton_testkit::skips::skip;
use pelton_verify::{Engine, Found, GRAMMARS, Tally, case, known_cases, known_english_cases};

/// Of a campaign.
struct Settings {
    /// Comparisons per command.
    comparisons: u64,
    campaign: Campaign,
    only: Option<Vec<String>>,
}

impl Settings {
    fn from_env() -> Self {
        let campaign = Campaign::from_env();
        let only = std::env::var("PELTON_FUZZ_ONLY").ok();
        Settings {
            comparisons: campaign.cases.unwrap_or(400),
            campaign,
            only: only.map(|list| list.split(',').map(str::to_owned).collect()),
        }
    }

    fn wants(&self, command: &str) -> bool {
        self.only.as_ref().is_none_or(|list| list.iter().any(|name| name == command))
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

#[test]
fn generated_cases_agree_with_the_real_tools() {
    campaigns("", Some);
}

/// Where strings have an order of their own, and numbers separators.
#[test]
fn generated_cases_agree_in_english() {
    campaigns(" en_US", |engine| engine.in_locale("en_US.UTF-8"));
}

/// Where a comma stands before decimals and messages are translated.
#[test]
fn generated_cases_agree_in_german() {
    campaigns(" de_DE", |engine| engine.in_locale("de_DE.UTF-8"));
}

/// Where the order of ideographs is known and there are no accents.
#[test]
fn generated_cases_agree_in_japanese() {
    campaigns(" ja_JP", |engine| engine.in_locale("ja_JP.UTF-8"));
}

/// Where the thousands separator is a character of several bytes, beside a decimal comma.
#[test]
fn generated_cases_agree_in_french() {
    campaigns(" fr_FR", |engine| engine.in_locale("fr_FR.UTF-8"));
}

/// Where the capital of `i` is not `I`.
#[test]
fn generated_cases_agree_in_turkish() {
    campaigns(" tr_TR", |engine| engine.in_locale("tr_TR.UTF-8"));
}

/// Where ideographs are ordered by their sound.
#[test]
fn generated_cases_agree_in_chinese() {
    campaigns(" zh_CN", |engine| engine.in_locale("zh_CN.UTF-8"));
}

fn campaigns(place: &str, prepare: fn(Engine) -> Option<Engine>) {
    let settings = Settings::from_env();
    let seed = settings.campaign.seed;
    let mut found: Vec<Found> = Vec::new();
    for grammar in GRAMMARS.iter().filter(|grammar| settings.wants(grammar.command)) {
        let name = format!("{}{place}", grammar.command);
        // The tables of another system are not at hand: `cargo xtask roots` runs these tests there.
        let is_here = place.is_empty() || installed::foreign().is_none();
        let Some(mut engine) = engine(grammar.command).filter(|_| is_here).and_then(prepare) else {
            skip(&format!("{name}: the tool is not a tested version, or the locale is not installed"));
            continue;
        };
        let start = Instant::now();
        let (tally, differences) =
            engine.campaign(grammar, seed, settings.comparisons).expect("the real tool");
        let Tally { answers, comparisons, processes, declined, handed_over } = tally;
        say(&format!(
            "{name:14} seed {} answers {answers} comparisons {comparisons} processes {processes} declined {declined} handed over \
             {handed_over} differences {} in {:.1} s",
            seed,
            differences.len(),
            start.elapsed().as_secs_f64()
        ));
        let counts = [
            ("answers", answers),
            ("comparisons", comparisons),
            ("processes", processes),
            ("declined", declined),
            ("handed_over", handed_over),
            ("differences", differences.len() as u64),
        ];
        say(&campaign_settings::tally("kernels", &counts));
        say(&campaign_settings::tally(&format!("kernels.{}", grammar.command), &counts));
        found.extend(differences);
    }
    for found in &found {
        settings.campaign.keep(&found.name, &found.toml);
    }
    let shown: Vec<&str> = found.iter().map(|found| found.shown.as_str()).collect();
    assert!(found.is_empty(), "\n{}", shown.join("\n"));
}

#[test]
fn known_cases_agree_in_english() {
    let mut found = Vec::new();
    for case in known_english_cases() {
        let Some(mut engine) = engine(&case.command).and_then(|engine| engine.in_locale("en_US.UTF-8"))
        else {
            skip("locale en_US.UTF-8");
            continue;
        };
        found.extend(engine.check(&case).expect("the real tool").map(|difference| difference.show()));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn known_cases_agree_with_the_real_tools() {
    let mut found = Vec::new();
    for case in known_cases() {
        let Some(mut engine) = engine(&case.command) else {
            skip(&case.command);
            continue;
        };
        found.extend(engine.check(&case).expect("the real tool").map(|difference| difference.show()));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// The classes and widths of all of Unicode, as wc sums them up.
#[test]
fn every_character_counts_as_the_real_wc_counts_it() {
    let Some(mut engine) = engine("wc") else { return skip("wc") };
    let mut found = Vec::new();
    // All of Unicode in a campaign, else the planes that hold nearly all of it that is assigned.
    let end = if std::env::var_os("PELTON_FUZZ_CASES").is_some() { 0x11_0000 } else { 0x3_2000 };
    for start in (0x80..end).step_by(0x2000) {
        let chars: Vec<char> = (start..start + 0x2000).filter_map(char::from_u32).collect();
        let together: String = chars.iter().collect();
        let apart: String = chars.iter().flat_map(|&char| [char, ' ']).collect();
        let text = format!("{together}\n{apart}");
        let case = case("wc", &[b"-wmL"], text.as_bytes()).utf8();
        if engine.check(&case).expect("the real tool").is_some() {
            found.push(format!("{start:x}"));
        }
    }
    assert!(found.is_empty(), "among the characters from {found:?}");
}
