//! The settings and results of a fuzzing campaign, for `cargo xtask fuzz`.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `PELTON_FUZZ_CASES` | number of cases (the fuzzer defines what a case is) |
//! | `PELTON_SEED` | the random seed |
//! | `PELTON_FUZZ_THREADS` | number of threads |
//! | `PELTON_FUZZ_FOUND` | folder that gets a file for each difference |

use std::path::PathBuf;

/// The settings from the environment.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// `None`: the subset that `cargo test` runs.
    pub cases: Option<u64>,
    /// The random seed, 1 by default.
    pub seed: u64,
    /// `None`: the fuzzer decides.
    pub threads: Option<u64>,
    found: Option<PathBuf>,
}

impl Campaign {
    /// Reads the variables.
    pub fn from_env() -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        Campaign {
            cases: number("PELTON_FUZZ_CASES"),
            seed: number("PELTON_SEED").unwrap_or(1),
            threads: number("PELTON_FUZZ_THREADS"),
            found: std::env::var_os("PELTON_FUZZ_FOUND").map(PathBuf::from),
        }
    }

    /// Writes a file for a difference, if a folder is set.
    pub fn keep(&self, name: &str, text: &str) {
        let Some(folder) = &self.found else { return };
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(folder.join(name).with_extension("toml"), text));
        written.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }
}

/// Returns the counts as a line that `cargo xtask fuzz` sums up. A test prints it on either output.
pub fn tally(machine: &str, counts: &[(&str, u64)]) -> String {
    let counts: String = counts.iter().map(|(name, count)| format!(" {name}={count}")).collect();
    format!("tally: {machine}{counts}")
}
