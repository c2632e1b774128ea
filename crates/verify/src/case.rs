//! One comparison: a command line, what it reads, a locale.

use crate::CaseReport;

/// A command line with everything that it depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// The tool's name.
    pub command: String,
    /// Its arguments.
    pub args: Vec<Vec<u8>>,
    /// Files of its working directory, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// Standard input.
    pub stdin: Vec<u8>,
    /// Whether standard input is a pipe instead of a file.
    pub piped: bool,
    /// Whether it runs in the engine's other locale instead of C.
    pub utf8: bool,
}

impl Case {
    /// Returns it as a line of `known_cases.rs`.
    pub fn show(&self) -> String {
        let bytes = |bytes: &[u8]| {
            let shown = bytes.escape_ascii().to_string().replace("\\'", "'");
            format!("b\"{shown}\"")
        };
        let args: Vec<String> = self.args.iter().map(|arg| bytes(arg)).collect();
        let mut text = format!("case(\"{}\", &[{}], {})", self.command, args.join(", "), bytes(&self.stdin));
        for (name, content) in &self.files {
            text.push_str(&format!(".file(\"{name}\", {})", bytes(content)));
        }
        if self.piped {
            text.push_str(".piped()");
        }
        if self.utf8 {
            text.push_str(".utf8()");
        }
        text + ","
    }

    /// Returns it as a case for `cases/*.toml`; `utf8` is the engine's other locale.
    pub fn toml(&self, name: &str, utf8: &str) -> String {
        let argv = [self.command.as_bytes()].into_iter().chain(self.args.iter().map(Vec::as_slice));
        let report = CaseReport {
            stages: vec![argv.collect()],
            files: self.files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect(),
            stdin: &self.stdin,
            piped: self.piped,
            locale: if self.utf8 { utf8 } else { "C" },
        };
        report.toml(name)
    }

    /// Adds a file.
    pub fn file(mut self, name: &str, content: &[u8]) -> Self {
        self.files.push((name.to_owned(), content.to_vec()));
        self
    }

    /// Makes standard input a pipe.
    pub fn piped(mut self) -> Self {
        self.piped = true;
        self
    }

    /// Makes it run in the engine's other locale.
    pub fn utf8(mut self) -> Self {
        self.utf8 = true;
        self
    }
}

/// Makes a case in C that reads a file on standard input.
pub fn case(command: &str, args: &[&[u8]], stdin: &[u8]) -> Case {
    Case {
        command: command.to_owned(),
        args: args.iter().map(|arg| arg.to_vec()).collect(),
        stdin: stdin.to_vec(),
        ..Case::default()
    }
}
