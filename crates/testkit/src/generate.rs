//! Random pipelines over random files, as cases that can be pasted into `cases/*.toml`.
//!
//! ```text
//! seed ──► Pipelines ──► Sample (text, files, locale) ──► TOML ──► Case
//!                          └── shrunk(): smaller ones, to be tried when it fails
//! ```
//! The case is exactly what is printed: a [`Sample`] becomes a case through its TOML, so that a failure can
//! be pasted unchanged. The same seed gives the same pipelines on every machine.

mod data;
mod grammar;
mod races;

use std::fmt;

use crate::Random;
use crate::{Case, Result};
pub use data::Data;
use pelton_commands::Tool;
use pelton_commands::grammar::Role;

/// Returns the names of the commands that are generated with tool-specific options.
pub fn commands() -> impl Iterator<Item = &'static str> {
    grammar::tools().into_iter().map(|tool| tool.name)
}

/// One command of a pipeline.
#[derive(Clone, Debug, Default)]
struct Stage {
    /// `LC_ALL=C ` or nothing.
    prefix: &'static str,
    /// The command with its mandatory words.
    command: String,
    /// Words that may be dropped: options with their arguments, and operands.
    words: Vec<String>,
    /// Redirections, which may be dropped too: `< a`, `> out`.
    redirections: Vec<String>,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.prefix, self.command)?;
        self.words.iter().chain(&self.redirections).try_for_each(|word| write!(f, " {word}"))
    }
}

/// Pipelines, their connectors, and their environment.
#[derive(Clone, Debug)]
pub struct Sample {
    pipefail: bool,
    /// Pipelines, each with the text before it: nothing, `; `, ` && `, ` || `.
    pipelines: Vec<(&'static str, Vec<Stage>)>,
    files: Vec<(&'static str, Data)>,
    stdin: Option<Data>,
    stdin_is_file: bool,
    locale: &'static str,
    /// The `before` text of the case: one of [`BEFORE`].
    before: Option<&'static str>,
    /// LANGUAGE, which chooses the language of messages in every locale but C.
    language: Option<&'static str>,
}

impl Sample {
    /// Returns the shell text.
    pub fn text(&self) -> String {
        let mut text = String::from(if self.pipefail { "set -o pipefail; " } else { "" });
        for (connector, stages) in &self.pipelines {
            text.push_str(connector);
            let stages: Vec<String> = stages.iter().map(Stage::to_string).collect();
            text.push_str(&stages.join(" | "));
        }
        text
    }

    /// Returns the case as TOML for `cases/*.toml`.
    pub fn toml(&self, name: &str) -> String {
        let text = toml::Value::String(self.text());
        let mut toml = format!("[[case]]\nname = \"{name}\"\ntext = {text}\nmodes = [\"run\"]\n");
        if let Some(stdin) = &self.stdin {
            toml.push_str(&format!("stdin = {stdin}\n"));
            toml.push_str(if self.stdin_is_file { "stdin_from = \"file\"\n" } else { "" });
        }
        for (name, data) in &self.files {
            toml.push_str(&format!("files.{name} = {data}\n"));
        }
        toml.push_str(&format!("env.LC_ALL = \"{}\"\npids = true\n", self.locale));
        if let Some(before) = self.before {
            toml.push_str(&format!("before = {}\n", toml::Value::String(before.to_owned())));
        }
        if let Some(language) = self.language {
            toml.push_str(&format!("env.LANGUAGE = \"{language}\"\n"));
        }
        toml
    }

    /// Returns the case from that TOML.
    pub fn case(&self) -> Result<Case> {
        let table: toml::Table = toml::from_str(&self.toml("random"))?;
        Ok(table["case"][0].clone().try_into()?)
    }

    /// Returns the number of pipelines and of stages.
    pub fn size(&self) -> (usize, usize) {
        (self.pipelines.len(), self.pipelines.iter().map(|(_, stages)| stages.len()).sum())
    }

    /// Returns smaller samples, the smallest first.
    pub fn shrunk(&self) -> Vec<Sample> {
        let mut smaller = Vec::new();
        self.without_pipelines(&mut smaller);
        self.without_stages(&mut smaller);
        self.with_less_data(&mut smaller);
        self.without_words(&mut smaller);
        smaller
    }

    fn without_pipelines(&self, smaller: &mut Vec<Sample>) {
        for at in (0..self.pipelines.len()).filter(|_| self.pipelines.len() > 1) {
            let mut less = self.clone();
            less.pipelines.remove(at);
            less.pipelines[0].0 = "";
            smaller.push(less);
        }
        if self.pipefail {
            smaller.push(Sample { pipefail: false, ..self.clone() });
        }
    }

    fn without_stages(&self, smaller: &mut Vec<Sample>) {
        for (at, (_, stages)) in self.pipelines.iter().enumerate().filter(|(_, (_, stages))| stages.len() > 1)
        {
            for stage in 0..stages.len() {
                let mut less = self.clone();
                less.pipelines[at].1.remove(stage);
                smaller.push(less);
            }
        }
    }

    fn without_words(&self, smaller: &mut Vec<Sample>) {
        for (at, (_, stages)) in self.pipelines.iter().enumerate() {
            for (i, stage) in stages.iter().enumerate() {
                let mut push = |change: &dyn Fn(&mut Stage)| {
                    let mut less = self.clone();
                    change(&mut less.pipelines[at].1[i]);
                    smaller.push(less);
                };
                (0..stage.words.len()).for_each(|word| push(&|stage| drop(stage.words.remove(word))));
                (0..stage.redirections.len()).for_each(|r| push(&|stage| drop(stage.redirections.remove(r))));
                if !stage.prefix.is_empty() {
                    push(&|stage| stage.prefix = "");
                }
            }
        }
        if self.before.is_some() {
            smaller.push(Sample { before: None, ..self.clone() });
        }
        if self.language.is_some() {
            smaller.push(Sample { language: None, ..self.clone() });
        }
        if self.locale != "C" {
            smaller.push(Sample { locale: "C", ..self.clone() });
        }
    }

    fn with_less_data(&self, smaller: &mut Vec<Sample>) {
        if self.stdin.is_some() {
            smaller.push(Sample { stdin: None, ..self.clone() });
            smaller.push(Sample { stdin_is_file: false, ..self.clone() });
        }
        for at in 0..self.files.len() {
            let mut less = self.clone();
            less.files.remove(at);
            smaller.push(less);
        }
        let all = self.files.iter().map(|(_, data)| data).chain(&self.stdin).enumerate();
        for (at, data) in all {
            smaller.extend(data.shrunk().into_iter().map(|data| {
                let mut less = self.clone();
                match less.files.get_mut(at) {
                    Some(file) => file.1 = data,
                    None => less.stdin = Some(data),
                }
                less
            }));
        }
    }
}

/// An endless source of samples.
pub struct Pipelines {
    random: Random,
    /// Locales with a collation order other than C's.
    locales: &'static [&'static str],
    /// A command that every second stage is.
    favourite: Option<&'static Tool>,
    /// Whether all samples are pipelines that may be divided.
    divided: bool,
    tools: Vec<&'static Tool>,
}

/// Commands that read all input, to follow an xargs or a find -exec that is meant to run natively.
const BEHIND_ITEMS: &[&str] =
    &["sort", "wc", "tac", "wc -l", "sort -r", "uniq -c | sort", "nl | tac", "tail -n 3"];

/// Stages that need the first lines of their input, and no more; stages that look like these.
const FIRST_LINES: &[&str] = &[
    "head -n 3",
    "sed 3q",
    "sed 's/a/b/; 2q'",
    "sed -n '2{p;q}'",
    "sed -n 2,4p",
    "sed -n '2p;$p'",
    "sed '2{/a/q}'",
    "sed '4,$d'",
    "sed '2!d'",
    "awk 'NR <= 3'",
    "awk 'NR < 3 { print NR, $1 } END { print NR }'",
    "gawk 'NR == 2 { print; exit 3 }'",
    "mawk 'NR > 2 { exit } { print NR, $0 }'",
    "original-awk 'NR == 2, NR == 4'",
    "awk 'NR == 4 { next } NR == 2, NR == 4'",
    "mawk 'NR == 0 { exit } NR > 1'",
    "awk 'NR == 3 { next } NR <= 4 { print NR; next } NR == 1'",
];

/// Difficult environments: few descriptors, a small stack, small files (with the fatal signal, and without),
/// no place for temporary files, a broken pipe that is an error.
const BEFORE: &[&str] = &[
    "ulimit -n 10",
    "ulimit -n 14",
    "ulimit -n 30",
    "ulimit -s 128",
    "ulimit -s 1000",
    "ulimit -f 8",
    "ulimit -f 8; trap '' XFSZ",
    "TMPDIR=/nonexistent; export TMPDIR",
    "TMPDIR=/proc; export TMPDIR",
    "trap '' PIPE",
];

/// Commands of nothing but assignments, which may be the last of a list.
const ASSIGNMENTS: &[&str] =
    &["x=1", "x=", "x=1 y=2", "x=$HOME", "x=$(seq 3)", "x+=1", "x=(1 2)", "x=1 > out"];

/// Programs of awk whose output comes in the order of an array, for a sort to follow.
const ARRAYS: &[&str] = &[
    "{ c[$1]++ } END { for (k in c) print k, c[k] }",
    "{ c[substr($0, 2, 1)]++ } END { for (k in c) print c[k], k }",
    "{ c[substr($1, 1, 1)] += NF } END { for (k in c) print k }",
    "{ c[$NF] = $1 } END { for (k in c) print c[k] }",
    "length > 2 { c[length($0)]++; d[$2] } END { for (k in c) print k; for (k in d) print k }",
];

/// Stages that treat lines by themselves, or skip the first ones: on several workers they run on parts.
const BY_LINES: &[&str] = &[
    "grep a",
    "grep -v 5",
    "grep -o '[a-z0-9]'",
    "cut -d' ' -f1",
    "cut -s -d' ' -f2",
    "tr a-z A-Z",
    "tr -s ' ' '\\n'",
    "tr -d a",
    "sed 's/a/b/'",
    "sed 's/ /\\n/'",
    "sed /5/d",
    "sed -n /a/p",
    "sed 1d",
    "tail -n +2",
    "fold -w 7",
    "expand",
    "awk '{ print $2, $1 }'",
    "mawk NF",
    "gawk 'NR > 1'",
    "gawk 'NR == 1 { print \"x\" } { print length }'",
    "mawk '{ print; print }'",
    "original-awk '$1 > 3'",
];

/// Stages whose outputs over parts may be merged.
const MERGED: &[&str] = &[
    "cat -n",
    "cat -b",
    "nl",
    "grep -n a",
    "grep -nv 5",
    "grep -c a",
    "grep -q a",
    "grep -m 3 a",
    "sort",
    "sort -n",
    "sort -g",
    "sort -h",
    "sort -V",
    "sort -f -u",
    "sort -k2 -s",
    "sort -R",
    "sort | uniq -c",
    "sort -r | uniq -c",
    "sort -g | uniq -c",
    "uniq",
    "uniq -c",
    "wc",
    "wc -l",
    "wc -m",
    "head -n 5",
    "head -c 50",
    "tail -n 3",
    "tail -n +3",
    "tac",
    "mawk 'END { print NR, FNR }'",
    "gawk '{ s += $1 } END { print s, NF, FILENAME }'",
    "gawk '{ n += length } END { print n, FNR, NR }'",
    "original-awk '{ s += $1; n++ } END { if (n) print s / n }'",
    "mawk '{ c[$1]++ } END { for (k in c) print k, c[k] }' | sort",
    "gawk '$1 > m { m = $1 } END { print m }'",
    "mawk '{ last = $0 } END { print last, $0 }'",
];

/// First stages that write slowly, or that tell whether all that they print was taken.
const SLOW: &[&str] = &[
    "{ seq 20000 && echo all >&2; }",
    "sh -c 'seq 20000 && echo all >&2'",
    "{ echo 1 a; sleep .2; echo 2 b; sleep .2; echo 3 c && echo all >&2; }",
    "sh -c 'head -n 3 a; sleep .2; cat sorted; sleep .2; echo 2 && echo all >&2'",
    "(for i in 3 1 2; do echo \"$i a\"; sleep .01; done)",
    "(head -n 2 a; sleep .02; cat b)",
    "{ cat sorted; sleep .01; echo; sleep .01; printf x; }",
];

/// Values of LANGUAGE: with and without catalogues, aliases, and values that end the search.
const LANGUAGES: &[&str] =
    &["de", "ja:de", "en:fr", "de_AT:pl", "en_US:en", "C:de", "german", "xx", "pt_BR", "sr@latin"];

/// The files of every sample; `sorted` suits comm and join.
const FILES: [&str; 3] = ["a", "b", "sorted"];

impl Pipelines {
    /// Makes a source from this seed.
    pub fn new(seed: u64) -> Self {
        Pipelines {
            random: Random::new(seed),
            locales: &["C.UTF-8"],
            favourite: None,
            divided: false,
            tools: grammar::tools(),
        }
    }

    /// Adds these locales, of which there must be at least one.
    pub fn in_locales(self, locales: &'static [&'static str]) -> Self {
        Pipelines { locales, ..self }
    }

    /// Makes every second stage this command, if it is one of [`commands`].
    pub fn favouring(self, name: &str) -> Self {
        Pipelines { favourite: self.tools.iter().copied().find(|tool| tool.name == name), ..self }
    }

    /// Makes only pipelines that several workers may divide, or nearly.
    pub fn divided(self) -> Self {
        Pipelines { divided: true, ..self }
    }

    /// Returns a random element.
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len())]
    }

    /// Returns true with probability 1/`n`.
    fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    /// Returns the next sample.
    pub fn sample(&mut self) -> Sample {
        if self.divided {
            return self.divided_sample();
        }
        let count = if self.one_in(4) { 2 + self.random.below(2) } else { 1 };
        let mut pipelines = Vec::new();
        for at in 0..count {
            let connector = if at == 0 { "" } else { self.pick(&["; ", " && ", " || "]) };
            let assigns = count > 1 && self.one_in(8);
            pipelines.push((connector, if assigns { self.assignments() } else { self.pipeline(count > 1) }));
        }
        let stdin = self.one_in(3).then(|| Data::random(&mut self.random));
        Sample {
            pipefail: self.one_in(5),
            pipelines,
            files: vec![
                (FILES[0], Data::random(&mut self.random)),
                (FILES[1], Data::random(&mut self.random)),
                (FILES[2], Data::sorted(&mut self.random)),
            ],
            stdin,
            stdin_is_file: self.one_in(2),
            locale: self.locale(),
            before: self.one_in(8).then(|| self.pick(BEFORE)),
            language: self.one_in(12).then(|| self.pick(LANGUAGES)),
        }
    }

    fn locale(&mut self) -> &'static str {
        match self.random.below(5) {
            0 => "C",
            1 | 2 => "C.UTF-8",
            // Most users have the first.
            3 => self.locales[0],
            _ => self.pick(self.locales),
        }
    }

    /// Makes a command of nothing but assignments.
    fn assignments(&mut self) -> Vec<Stage> {
        let command = self.pick(ASSIGNMENTS).to_owned();
        vec![Stage { command, ..Stage::default() }]
    }

    /// Makes an awk whose output is in the order of an array, and a sort behind it.
    fn sorted_array(&mut self) -> Vec<Stage> {
        let awk = self.pick(&["mawk", "mawk", "gawk", "original-awk"]);
        let (program, file) = (self.pick(ARRAYS), self.pick(&FILES));
        let sort = self.pick(&["sort", "sort -r", "sort -n", "sort -k2"]);
        let awk = format!("{awk} '{program}'");
        // To the order of a locale, bytes that are no characters are equal.
        let stages = match self.one_in(2) {
            true => {
                let numbers = format!("seq {}", 10 + self.random.below(90));
                vec![numbers, "tr 0-9 '\\200-\\211'".to_owned(), awk, sort.to_owned()]
            }
            false => vec![format!("{awk} {file}"), sort.to_owned()],
        };
        stages.into_iter().map(|command| Stage { command, ..Stage::default() }).collect()
    }

    fn divided_sample(&mut self) -> Sample {
        let pipelines = vec![("", self.divided_pipeline())];
        Sample {
            pipefail: false,
            pipelines,
            files: FILES.map(|name| (name, Data::in_parts(&mut self.random))).to_vec(),
            stdin: None,
            stdin_is_file: false,
            locale: self.locale(),
            before: self.one_in(20).then(|| self.pick(BEFORE)),
            language: None,
        }
    }

    /// Makes a pipeline that reads files and may be divided between workers, or nearly.
    fn divided_pipeline(&mut self) -> Vec<Stage> {
        let source = self.pick(&["cat a", "cat a b", "cat b a b", "", ""]);
        let mut commands: Vec<&str> = Some(source).filter(|source| !source.is_empty()).into_iter().collect();
        for _ in 0..self.random.below(3) {
            commands.push(self.pick(BY_LINES));
        }
        commands.extend(self.pick(MERGED).split(" | "));
        if self.one_in(2) {
            commands.extend(self.pick(BEHIND_ITEMS).split(" | "));
        }
        let mut stages: Vec<Stage> = commands
            .iter()
            .map(|command| Stage { command: (*command).to_owned(), ..Stage::default() })
            .collect();
        if source.is_empty() {
            let file = self.pick(&FILES);
            let as_input = if self.one_in(2) { "< " } else { "" };
            stages[0].command = format!("{} {as_input}{file}", stages[0].command);
        }
        stages
    }

    fn pipeline(&mut self, short: bool) -> Vec<Stage> {
        if self.one_in(8) {
            return self.sorted_array();
        }
        let count = 1 + self.random.below(if short { 3 } else { 8 });
        let mut stages = Vec::new();
        for at in 0..count {
            let stage = self.stage(at == 0, at + 1 == count);
            if stage.command.starts_with("xargs") {
                self.around_items(stage, &mut stages);
            } else if stage.words.iter().any(|word| word == "-exec") {
                stages.push(stage);
                self.read_behind(&mut stages);
            } else {
                let sorts = stage.command.starts_with("sort");
                stages.push(stage);
                if sorts && self.one_in(2) {
                    stages.push(Stage { command: self.pick(FIRST_LINES).to_owned(), ..Stage::default() });
                }
            }
        }
        races::disarm(&mut stages);
        stages
    }

    /// Surrounds an xargs with other stages. Its input is mostly short, since the real xargs starts a process
    /// for every list. A stage that reads to the end mostly follows, since it is a race whether echo finds
    /// that its reader has left.
    fn around_items(&mut self, mut items: Stage, stages: &mut Vec<Stage>) {
        if !self.one_in(if items.command.contains(" -") { 100 } else { 3 }) {
            let count = self.pick(&["5", "40", "100", "300", "700"]);
            let redirections = std::mem::take(&mut items.redirections);
            let command = format!("head -c {count}");
            stages.push(Stage { command, redirections, ..Stage::default() });
        }
        stages.push(items);
        self.read_behind(stages);
    }

    /// Mostly appends stages that read all input.
    fn read_behind(&mut self, stages: &mut Vec<Stage>) {
        if !self.one_in(6) {
            let readers = self.pick(BEHIND_ITEMS).split(" | ");
            stages.extend(readers.map(|command| Stage { command: command.to_owned(), ..Stage::default() }));
        }
    }

    fn stage(&mut self, first: bool, last: bool) -> Stage {
        if first && self.one_in(25) {
            return Stage { command: self.pick(SLOW).to_owned(), ..Stage::default() };
        }
        let mut stage = if self.one_in(7) { self.foreign() } else { self.known(first) };
        if first
            && stage.redirections.is_empty()
            && !stage.words.iter().any(|word| FILES.contains(&word.as_str()))
        {
            // Otherwise it reads the standard input of the whole text.
            if !self.one_in(6) {
                stage.redirections.push(format!("< {}", self.pick(&FILES)));
            }
        } else if self.one_in(40) {
            stage.redirections.push(format!("< {}", self.pick(&["a", "b", "missing"])));
        }
        if self.one_in(if last { 8 } else { 60 }) {
            stage.redirections.push(
                self.pick(&["> out", ">> out", "> b", "2> err", "2>/dev/null", "> /dev/null", "> /dev/full"])
                    .into(),
            );
        }
        // An assignment before a compound command is a syntax error.
        if self.one_in(12) && !stage.command.starts_with(['(', '{']) {
            stage.prefix = self.pick(&[
                "LC_ALL=C ",
                "LC_ALL=C ",
                "LC_ALL=C.UTF-8 ",
                "LANG=C ",
                "LC_COLLATE=C ",
                "LC_CTYPE=C.UTF-8 ",
                "POSIXLY_CORRECT=1 ",
            ]);
        }
        stage
    }

    /// Returns a command without a kernel, or a construct that only a shell can run.
    fn foreign(&mut self) -> Stage {
        let command = self.pick(grammar::FOREIGN).to_owned();
        Stage { command, ..Stage::default() }
    }

    fn known(&mut self, first: bool) -> Stage {
        if let Some(favourite) = self.favourite
            && (first || favourite.grammar.role != Role::Source)
            && self.one_in(2)
        {
            return self.of_grammar(favourite, first);
        }
        loop {
            let tool = self.tools[self.random.below(self.tools.len())];
            if tool.grammar.role != Role::Source || first {
                return self.of_grammar(tool, first);
            }
        }
    }

    fn of_grammar(&mut self, tool: &'static Tool, first: bool) -> Stage {
        let grammar = &tool.grammar;
        let mut command = tool.name.to_owned();
        if !grammar.needs.is_empty() {
            let needed = self.pick(grammar.needs);
            command = format!("{command} {}", self.fill(needed));
        }
        let mut words = Vec::new();
        let options = if grammar.options.is_empty() { 0 } else { self.pick(&[0, 0, 1, 1, 1, 2, 2, 3]) };
        for _ in 0..options {
            let option = self.pick(grammar.options);
            words.push(self.fill(option));
        }
        let with_operands = matches!(grammar.role, Role::Source | Role::Joiner)
            || (grammar.role == Role::Reader && (self.one_in(if first { 2 } else { 25 })));
        if with_operands {
            let operands = self.pick(grammar.operands);
            let operands: Vec<&str> = operands.split(' ').filter(|word| !word.is_empty()).collect();
            words.extend(operands.into_iter().map(|operand| self.fill(operand)).collect::<Vec<_>>());
        }
        Stage { command, words, ..Stage::default() }
    }

    /// Fills in the placeholders of a template.
    fn fill(&mut self, template: &str) -> String {
        let mut filled = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('@') {
            let mut letters = after.chars();
            filled.push_str(before);
            let value = letters.next().and_then(|letter| self.value(letter));
            filled.push_str(&value.unwrap_or_default());
            rest = letters.as_str();
        }
        filled + rest
    }

    fn value(&mut self, letter: char) -> Option<String> {
        Some(match letter {
            'n' => self.pick(&["0", "1", "2", "3", "5", "10"]).to_owned(),
            'p' => self.pick(&["1", "2", "3", "4", "7", "8", "20"]).to_owned(),
            'N' => {
                let reach = self.pick(&[10, 100, 5_000, 80_000]);
                (1 + self.random.below(reach)).to_string()
            }
            'f' if self.one_in(30) => self.pick(&["missing", "."]).to_owned(),
            'f' => self.pick(&FILES).to_owned(),
            'x' => {
                let program = self.pick(grammar::values('x')?);
                self.with_odd_space(program)
            }
            other => self.pick(grammar::values(other)?).to_owned(),
        })
    }

    /// Quotes a program, sometimes with white space that a command may not contain.
    fn with_odd_space(&mut self, program: &str) -> String {
        let mut program = program.to_owned();
        if program.starts_with('\'') && self.one_in(15) {
            let places: Vec<usize> = program.char_indices().map(|(at, _)| at).skip(1).collect();
            let at = self.pick(&places);
            program.insert(at, self.pick(&['\r', '\r', '\x0b', '\x0c', '\t', ' ']));
        }
        program
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_cases_and_a_seed_says_which() {
        let (mut one, mut other) = (Pipelines::new(5), Pipelines::new(5));
        for _ in 0..200 {
            let sample = one.sample();
            assert_eq!(sample.toml("x"), other.sample().toml("x"));
            let case = sample.case().unwrap_or_else(|error| panic!("{error}\n{}", sample.toml("x")));
            assert_eq!(case.text, sample.text());
            assert_eq!(case.fault(), None);
        }
    }

    #[test]
    fn every_template_can_be_filled() {
        let mut pipelines = Pipelines::new(1);
        let templates = grammar::tools().into_iter().flat_map(|tool| {
            let g = &tool.grammar;
            [g.needs, g.options, g.operands].concat()
        });
        for template in templates.collect::<Vec<_>>() {
            for (at, _) in template.match_indices('@') {
                let letter = template[at + 1..].chars().next().unwrap_or(' ');
                assert!(pipelines.value(letter).is_some(), "{template}");
            }
        }
    }

    #[test]
    fn shrinking_comes_to_an_end() {
        let mut sample = Pipelines::new(3).sample();
        for _ in 0..10_000 {
            let Some(smaller) = sample.shrunk().into_iter().next() else { return };
            sample = smaller;
            sample.case().expect("still a case");
        }
        panic!("{}", sample.toml("never"));
    }
}
