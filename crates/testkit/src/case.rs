//! A case: a shell text, and the environment in which the shell and pelton must agree on it. Read from
//! `cases/*.toml`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::process::shell_before;
use crate::{Recipe, Result};

/// One file of cases.
#[derive(Clone, Debug)]
pub struct Topic {
    /// The file's name without `.toml`.
    pub name: String,
    /// Its cases, in order.
    pub cases: Vec<Case>,
}

/// A pipeline, its inputs, and how strictly its results are compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique over all topics; `PELTON_CASE=name` runs it alone.
    pub name: String,
    /// The shell text.
    pub text: String,
    /// Why the case exists, where its text does not say so.
    pub note: Option<String>,
    /// Contents of standard input; without it, /dev/null.
    pub stdin: Option<Recipe>,
    /// Whether standard input is a pipe or a file.
    #[serde(default)]
    pub stdin_from: StdinFrom,
    /// Files in the working directory (missing parents are created).
    #[serde(default)]
    pub files: BTreeMap<String, Recipe>,
    /// Directories in the working directory.
    #[serde(default)]
    pub dirs: Vec<String>,
    /// Symbolic links: name and target.
    #[serde(default)]
    pub links: BTreeMap<String, String>,
    /// Named pipes.
    #[serde(default)]
    pub fifos: Vec<String>,
    /// Changes to [`crate::base_environment`]: a value, or `false` to unset.
    #[serde(default)]
    pub env: BTreeMap<String, EnvValue>,
    /// An sh text that runs first and then becomes the shell or pelton: it can set limits, ignore signals, or
    /// set a wrong variable.
    pub before: Option<String>,
    /// The shells it runs under: `bash`, `dash`, `sh`.
    #[serde(default = "bash_alone")]
    pub shells: Vec<String>,
    /// The pelton commands it is checked with; all by default.
    #[serde(default = "all_modes")]
    pub modes: Vec<Mode>,
    /// Name of a script file for the text: `bash NAME ARGS` is compared with `pelton run -f NAME ARGS`.
    pub script: Option<String>,
    /// Arguments of the script.
    #[serde(default)]
    pub args: Vec<String>,
    /// How standard output is compared.
    #[serde(default)]
    pub stdout: Strictness,
    /// How standard error is compared.
    #[serde(default)]
    pub stderr: Strictness,
    /// Why a comparison is not exact. Required for `some` and `ignore`, and for standard output unless
    /// `exact`.
    pub reason: Option<String>,
    /// Whether to ignore process ids in messages such as `bash: line 1:  3042 Killed  sleep 9`.
    #[serde(default)]
    pub pids: bool,
    /// Whether no other process of the run may be alive when its leader ends (the shell waits for all
    /// stages).
    #[serde(default)]
    pub alone_at_exit: bool,
    /// Whether `pelton time` must report the statuses of the stages as bash's `PIPESTATUS` does. The text is
    /// then one pipeline.
    #[serde(default)]
    pub statuses: bool,
    /// Seconds that background processes may take to end before they count as left behind.
    #[serde(default = "two_seconds")]
    pub settle_s: f64,
    /// Timeout in seconds.
    #[serde(default = "twenty_seconds")]
    pub timeout_s: f64,
    /// A known and accepted difference: it must then occur, in each mode of `known_in`.
    pub known: Option<String>,
    /// The modes with the known difference; all modes of the case by default.
    pub known_in: Option<Vec<Mode>>,
}

/// A value for an environment variable, or its removal.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum EnvValue {
    /// Set to this value.
    Set(String),
    /// `false`: unset. `true` is rejected.
    Unset(bool),
}

/// The pelton commands that run a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// `pelton run TEXT`.
    Run,
    /// `pelton time --format json --output FILE TEXT`.
    Time,
}

/// How the standard input of a case is connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StdinFrom {
    /// Through a pipe.
    #[default]
    Pipe,
    /// As an open file, whose position all readers share.
    File,
}

/// How exactly two streams must agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strictness {
    /// Byte for byte.
    #[default]
    Exact,
    /// The same lines in any order: several processes write at the same time.
    Lines,
    /// Both are empty, or neither is.
    Some,
    /// Not compared.
    Ignore,
}

fn bash_alone() -> Vec<String> {
    vec!["bash".into()]
}

fn all_modes() -> Vec<Mode> {
    vec![Mode::Run, Mode::Time]
}

fn two_seconds() -> f64 {
    2.0
}

fn twenty_seconds() -> f64 {
    20.0
}

impl Case {
    /// Returns the timeout.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_s)
    }

    /// Returns how long background processes may take to end.
    pub fn settle(&self) -> Duration {
        Duration::from_secs_f64(self.settle_s)
    }

    /// Returns the accepted difference in this mode, if there is one.
    pub fn known_difference(&self, mode: Mode) -> Option<&str> {
        let modes = self.known_in.as_ref().unwrap_or(&self.modes);
        self.known.as_deref().filter(|_| modes.contains(&mode))
    }

    /// Returns the command line, preceded by the `before` text, if there is one.
    pub fn started(&self, argv: Vec<OsString>) -> Vec<OsString> {
        let Some(before) = &self.before else { return argv };
        let through = format!("{}\nexec \"$@\"", before.trim_end());
        shell_before(&through).into_iter().chain(argv).collect()
    }

    /// Returns an error in the definition of the case, if there is one.
    pub fn fault(&self) -> Option<&'static str> {
        let loose =
            !matches!(self.stderr, Strictness::Exact | Strictness::Lines) || self.stdout != Strictness::Exact;
        let unset_true = self.env.values().any(|value| matches!(value, EnvValue::Unset(true)));
        let not_bash = self.statuses && self.shells != ["bash"];
        let timed_script = self.script.is_some() && self.modes.contains(&Mode::Time);
        let faults = [
            (loose && self.reason.is_none(), "a comparison that is not exact needs a `reason`"),
            (unset_true, "`env` takes a string, or `false` to unset"),
            (timed_script, "a `script` has `modes = [\"run\"]`: `pelton time` takes a text"),
            (not_bash, "`statuses` needs bash, which alone has PIPESTATUS"),
            (self.script.is_none() && !self.args.is_empty(), "`args` belong to a `script`"),
            (self.shells.is_empty() || self.modes.is_empty(), "it would never run"),
            (self.text.starts_with('-'), "a text that starts with `-` is an option"),
        ];
        faults.iter().find(|(wrong, _)| *wrong).map(|(_, fault)| *fault)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicFile {
    /// A sentence about the cases, for readers of the file.
    #[serde(rename = "about")]
    _about: String,
    /// Locales: each case runs in each of them.
    #[serde(default)]
    locales: Vec<String>,
    /// Files of every case.
    #[serde(default)]
    files: BTreeMap<String, Recipe>,
    case: Vec<Case>,
}

impl TopicFile {
    /// Returns the cases, expanded.
    fn cases(self) -> Vec<Case> {
        let TopicFile { locales, files, case: mut cases, .. } = self;
        for case in &mut cases {
            for (name, recipe) in &files {
                case.files.entry(name.clone()).or_insert_with(|| recipe.clone());
            }
        }
        if locales.is_empty() {
            return cases;
        }
        let in_each = |case: Case| {
            let here = |locale: &String| {
                let mut case = case.clone();
                case.name = format!("{}@{locale}", case.name);
                case.env.insert("LC_ALL".into(), EnvValue::Set(locale.clone()));
                case
            };
            locales.iter().map(here).collect::<Vec<Case>>()
        };
        cases.into_iter().flat_map(in_each).collect()
    }
}

/// Reads one topic.
pub fn load_topic(path: &Path) -> Result<Topic> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    let file: TopicFile = toml::from_str(&text).map_err(|error| format!("{shown}: {error}"))?;
    for case in &file.case {
        if let Some(fault) = case.fault() {
            return Err(format!("{shown}: case `{}`: {fault}", case.name).into());
        }
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Topic { name, cases: file.cases() })
}

/// Reads all topics of a folder, sorted by name, and checks that no two cases share a name.
pub fn load_topics(folder: &Path) -> Result<Vec<Topic>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let topics = paths.iter().map(|path| load_topic(path)).collect::<Result<Vec<_>>>()?;
    let mut seen = BTreeMap::new();
    for (topic, case) in topics.iter().flat_map(|topic| topic.cases.iter().map(move |case| (topic, case))) {
        if let Some(other) = seen.insert(&case.name, &topic.name) {
            return Err(
                format!("two cases are called `{}`: in {other} and in {}", case.name, topic.name).into()
            );
        }
    }
    Ok(topics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_verify::CaseReport;

    #[test]
    fn a_report_of_a_difference_is_a_case_that_means_the_same() {
        let bytes: Vec<u8> = (0..=255).collect();
        let report = CaseReport {
            stages: vec![vec![b"printf", b"%s", b"a b", b"it's", b"", b"\xff\n", b"$x"], vec![b"cat"]],
            files: vec![("one", &bytes)],
            stdin: b"'\"\\\0",
            piped: true,
            locale: "C",
        };
        let table: toml::Table = toml::from_str(&report.toml("x")).expect("TOML");
        let case: Case = table["case"][0].clone().try_into().expect("a case");
        assert_eq!(case.fault(), None);
        assert_eq!(case.text, "printf %s 'a b' $'\\x69\\x74\\x27\\x73' '' $'\\xff\\x0a' '$x' | cat");
        assert_eq!(case.files["one"].make(), bytes);
        assert_eq!(case.stdin.map(|recipe| recipe.make()), Some(b"'\"\\\0".to_vec()));
    }

    fn topic(text: &str) -> Result<Topic> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("some.toml");
        std::fs::write(&path, format!("about = \"x\"\n{text}"))?;
        load_topic(&path)
    }

    #[test]
    fn a_case_has_sensible_defaults() {
        let topic = topic("[[case]]\nname = \"a\"\ntext = \"true\"\n").expect("a topic");
        let case = &topic.cases[0];
        assert_eq!(topic.name, "some");
        assert_eq!(case.shells, ["bash"]);
        assert_eq!(case.modes, [Mode::Run, Mode::Time]);
        assert_eq!((case.stdout, case.stderr), (Strictness::Exact, Strictness::Exact));
    }

    #[test]
    fn a_topic_in_several_locales() {
        let topic = topic(
            "locales = [\"C\", \"C.UTF-8\"]\nfiles.f = \"x\"\n[[case]]\nname = \"a\"\ntext = \"true\"\n",
        );
        let cases = topic.expect("a topic").cases;
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["a@C", "a@C.UTF-8"]);
        let set = |case: &Case| matches!(&case.env["LC_ALL"], EnvValue::Set(name) if name == "C.UTF-8");
        assert!(!set(&cases[0]) && set(&cases[1]) && cases[1].files.contains_key("f"));
    }

    #[test]
    fn faults_name_the_case() {
        let refuse = |more: &str, why: &str| {
            let error = topic(&format!("[[case]]\nname = \"a\"\ntext = \"true\"\n{more}\n")).expect_err(more);
            assert!(error.to_string().contains(why), "{error}");
        };
        refuse("stderr = \"ignore\"", "`a`: a comparison that is not exact needs a `reason`");
        refuse("env.X = true", "`false` to unset");
        refuse("script = \"s\"", "`pelton time` takes a text");
        refuse("sdtin = \"x\"", "unknown field");
    }

    #[test]
    fn two_cases_may_not_share_a_name() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["one", "two"] {
            let text = "about = \"x\"\n[[case]]\nname = \"same\"\ntext = \"true\"\n";
            std::fs::write(folder.path().join(name).with_extension("toml"), text).expect("written");
        }
        let error = load_topics(folder.path()).expect_err("a clash");
        assert!(error.to_string().contains("two cases are called `same`"), "{error}");
    }
}
