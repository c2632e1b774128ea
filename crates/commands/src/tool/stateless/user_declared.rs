//! Commands that the user declares to treat lines independently.

use super::{Data, Errors, Stateless, Statuses};
use crate::Input;

/// The declared commands: a name, and the arguments that a call must begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    commands: Vec<Vec<Vec<u8>>>,
}

impl Declared {
    /// Adds one, as words separated by blanks: `tokenize`, or `tool --lines`.
    ///
    /// # Errors
    /// A message, if that is no command.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let words: Vec<Vec<u8>> =
            text.split_ascii_whitespace().map(|word| word.as_bytes().to_vec()).collect();
        let name = words.first().ok_or("a command's name is wanted")?;
        if !is_name(name) {
            return Err("a command's name is wanted, without a path".to_owned());
        }
        if text.contains(['\'', '"', '\\', '|', '<', '>', '$', '`', '*', '?']) {
            return Err(
                "a command's name and plain arguments are wanted, without quotes or expansions".to_owned()
            );
        }
        self.commands.push(words);
        Ok(())
    }

    /// Whether a declaration has this name.
    pub fn names(&self, name: &[u8]) -> bool {
        self.commands.iter().any(|words| words[0] == name)
    }

    /// Returns the properties of this call, if it was declared.
    pub fn find(&self, name: &[u8], args: &[Vec<u8>]) -> Option<Stateless> {
        let begins = |words: &Vec<Vec<u8>>| words[0] == name && args.starts_with(&words[1..]);
        self.commands.iter().any(begins).then(|| Stateless {
            input: Input::Stdin,
            args: args.to_vec(),
            statuses: Statuses::First,
            data: Data::Bytes,
            errors: Errors::Alike,
            only_prints: false,
            prints_lines: false,
        })
    }
}

/// Whether this is a name, not a path.
pub fn is_name(word: &[u8]) -> bool {
    !word.is_empty() && !word.contains(&b'/') && word[0] != b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_begins_as_declared() {
        let mut declared = Declared::default();
        declared.add("tokenize").expect("a name");
        declared.add(" tool  --lines ").expect("with an argument");
        let args = |text: &str| -> Vec<Vec<u8>> {
            text.split(' ').filter(|word| !word.is_empty()).map(|word| word.as_bytes().to_vec()).collect()
        };
        assert!(declared.find(b"tokenize", &args("-x y")).is_some_and(|found| found.args == args("-x y")));
        assert!(declared.find(b"tool", &args("--lines 3")).is_some());
        assert!(declared.find(b"tool", &args("3 --lines")).is_none());
        assert!(declared.find(b"other", &[]).is_none());
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for text in ["", " ", "/usr/bin/x", "-x", "a 'b c'", "a | b", "a $x"] {
            assert!(Declared::default().add(text).is_err(), "{text:?}");
        }
    }
}
