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

/// A command or a pipeline and its input, as a case for `cases/*.toml`.
pub struct Lone<'a> {
    /// The name and the arguments of each command.
    pub stages: Vec<Vec<&'a [u8]>>,
    /// Files by name.
    pub files: Vec<(&'a str, &'a [u8])>,
    /// Standard input.
    pub stdin: &'a [u8],
    /// Whether standard input is a pipe instead of a file.
    pub piped: bool,
    /// The value of `LC_ALL`.
    pub locale: &'a str,
}

impl Lone<'_> {
    /// Returns the case, with this name.
    pub fn toml(&self, name: &str) -> String {
        let words =
            |argv: &Vec<&[u8]>| argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
        let stages: Vec<String> = self.stages.iter().map(words).collect();
        let text = toml::Value::String(stages.join(" | "));
        let mut toml = format!("[[case]]\nname = \"{name}\"\ntext = {text}\nmodes = [\"run\"]\n");
        toml += &format!("stdin = {}\n", recipe(self.stdin));
        toml += if self.piped { "" } else { "stdin_from = \"file\"\n" };
        for (name, bytes) in &self.files {
            toml += &format!("files.{name} = {}\n", recipe(bytes));
        }
        toml + &format!("env.LC_ALL = \"{}\"\n", self.locale)
    }
}

/// Returns a word of shell text with the value of these bytes.
fn shell_word(bytes: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./,:=+@%".contains(byte);
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.is_empty() && bytes.iter().all(plain) => text.to_owned(),
        Ok(text) if bytes.iter().all(|byte| (b' '..0x7f).contains(byte) && *byte != b'\'') => {
            format!("'{text}'")
        }
        _ => {
            let escaped: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
            format!("$'{escaped}'")
        }
    }
}

/// Returns the recipe for these bytes.
fn recipe(bytes: &[u8]) -> String {
    let escaped = bytes.escape_ascii().to_string().replace("\\'", "\\x27").replace("\\\"", "\"");
    format!("{{ bytes = '{escaped}' }}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;

    #[test]
    fn a_lone_command_becomes_a_case_that_means_the_same() {
        let bytes: Vec<u8> = (0..=255).collect();
        let lone = Lone {
            stages: vec![vec![b"printf", b"%s", b"a b", b"it's", b"", b"\xff\n", b"$x"], vec![b"cat"]],
            files: vec![("one", &bytes)],
            stdin: b"'\"\\\0",
            piped: true,
            locale: "C",
        };
        let table: toml::Table = toml::from_str(&lone.toml("x")).expect("TOML");
        let case: Case = table["case"][0].clone().try_into().expect("a case");
        assert_eq!(case.fault(), None);
        assert_eq!(case.text, "printf %s 'a b' $'\\x69\\x74\\x27\\x73' '' $'\\xff\\x0a' '$x' | cat");
        assert_eq!(case.files["one"].make(), bytes);
        assert_eq!(case.stdin.map(|recipe| recipe.make()), Some(b"'\"\\\0".to_vec()));
    }
}
