//! Reports of differences, as cases for pelton's own tests.

use crate::oracle::ENVIRONMENT;

/// A command or a pipeline and its input, as a case for `cases/*.toml`.
pub struct CaseReport<'a> {
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

impl CaseReport<'_> {
    /// Returns the case, with this name.
    pub fn toml(&self, name: &str) -> String {
        let words =
            |argv: &Vec<&[u8]>| argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
        let stages: Vec<String> = self.stages.iter().map(words).collect();
        let text = stages.join(" | ").replace('\\', "\\\\").replace('"', "\\\"");
        let mut toml = format!("[[case]]\nname = \"{name}\"\ntext = \"{text}\"\nmodes = [\"run\"]\n");
        toml += &format!("stdin = {}\n", recipe(self.stdin));
        toml += if self.piped { "" } else { "stdin_from = \"file\"\n" };
        for (name, bytes) in &self.files {
            toml += &format!("files.{name} = {}\n", recipe(bytes));
        }
        for (name, value) in ENVIRONMENT.iter().filter(|(name, _)| text.contains(name)) {
            toml += &format!("env.{name} = '{value}'\n");
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
