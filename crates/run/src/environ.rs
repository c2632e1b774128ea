//! The environment: as inherited, as a shell sees it, and as it passes it to programs.

use pelton_commands::detect::Detector;
use pelton_commands::{Accept, Locale, SystemLocales};
use pelton_syntax::Dialect;
use std::cell::{OnceCell, RefCell, RefMut};
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::rc::Rc;

/// The inherited environment, and a shell's changes to it.
#[derive(Clone)]
pub struct Environment {
    inherited: Vec<(OsString, OsString)>,
    /// Which programs are which, known or found out once.
    detector: Rc<OnceCell<RefCell<Detector<'static>>>>,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Environment").field(&self.inherited).finish()
    }
}

/// Variables that a shell sets, computes or treats specially: their value differs from the environment.
const SPECIAL: [&str; 29] = [
    "_",
    "COLUMNS",
    "COMP_WORDBREAKS",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GLOBIGNORE",
    "GROUPS",
    "HISTCMD",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "LINENO",
    "LINES",
    "MACHTYPE",
    "OLDPWD",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "OSTYPE",
    "PIPESTATUS",
    "PPID",
    "PS4",
    "PWD",
    "RANDOM",
    "SECONDS",
    "SHLVL",
];

/// Exported variables that change how bash works, or whose values it replaces.
const TAKEN_OVER_BY_BASH: [&str; 20] = [
    "SHELLOPTS",
    "POSIXLY_CORRECT",
    "PS4",
    "IFS",
    "OPTIND",
    "OPTERR",
    "UID",
    "EUID",
    "PPID",
    "LINENO",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "HISTCMD",
    "PIPESTATUS",
    "GROUPS",
    "DIRSTACK",
    "FUNCNAME",
];

/// Whether the shell treats `name` specially.
pub fn is_special(name: &str) -> bool {
    SPECIAL.contains(&name)
        || name.starts_with("BASH")
        || name.starts_with("COMP_")
        || matches!(
            name,
            "SHELLOPTS" | "SRANDOM" | "UID" | "POSIXLY_CORRECT" | "ENV" | "TIMEFORMAT" | "EXECIGNORE"
        )
}

impl Environment {
    /// Copies the process's environment.
    pub fn inherit() -> Self {
        Environment::from_pairs(std::env::vars_os().collect())
    }

    /// Makes an environment of these pairs.
    pub fn from_pairs(pairs: Vec<(OsString, OsString)>) -> Self {
        Environment { inherited: pairs, detector: Rc::default() }
    }

    /// Returns the value of `name`, if it is set.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.inherited.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_os_str())
    }

    /// Returns the detector of implementations with this user's cache.
    pub fn detector(&self) -> RefMut<'_, Detector<'static>> {
        let make = || RefCell::new(Detector::of_user(|name| self.get(name).map(PathBuf::from)));
        self.detector.get_or_init(make).borrow_mut()
    }

    /// Returns the first variable that makes a non-interactive shell behave in ways that pelton does not
    /// model, if any.
    pub fn upsetting(&self, dialect: Dialect) -> Option<String> {
        let upsets = |name: &str| match dialect {
            Dialect::Bash => name.starts_with("BASH") || TAKEN_OVER_BY_BASH.contains(&name),
            Dialect::Posix => ["IFS", "OPTIND", "LINENO", "PPID"].contains(&name),
            Dialect::Zsh => crate::script::zsh::OBEYED_VARIABLES.contains(&name),
        };
        let Some(path) = self.get("PATH").filter(|path| !path.is_empty()) else {
            return Some("PATH, which is missing or empty".into());
        };
        if path.as_bytes().split(|b| *b == b':').any(|entry| entry.starts_with(b"~")) {
            return Some("PATH, with a `~` in it".into());
        }
        if std::env::current_dir().is_err() {
            return Some("PWD, since the working directory is gone".into());
        }
        // bash starts again from 1 and prints a warning.
        if dialect == Dialect::Bash && self.inherited_level() >= 999 {
            return Some("SHLVL, which is too high".into());
        }
        self.inherited
            .iter()
            .filter_map(|(name, _)| name.to_str())
            .find(|name| upsets(name))
            .map(String::from)
    }

    /// Returns the locale of the sort order, `C` if none is set.
    pub fn collation(&self) -> String {
        let set = |name: &str| self.get(name).filter(|value| !value.is_empty());
        let value = set("LC_ALL").or_else(|| set("LC_COLLATE")).or_else(|| set("LANG"));
        value.map_or_else(|| "C".into(), |value| value.to_string_lossy().into_owned())
    }

    /// Returns the inherited variables, for a program that pelton becomes or a shell that runs the whole
    /// text.
    pub fn as_inherited(&self) -> Vec<CString> {
        self.inherited.iter().filter_map(|(name, value)| pair(name, value)).collect()
    }

    /// Returns the variables for a shell that replaces the subshell of one stage: `SHLVL` must be right in
    /// what it starts. `takes_back`: this shell will exec its only command, and bash then undoes its own
    /// increment.
    pub(crate) fn for_stage_shell(&self, dialect: Dialect, takes_back: bool) -> Vec<CString> {
        if dialect != Dialect::Bash || !takes_back {
            return self.as_inherited();
        }
        let level = self.level(1);
        self.with(&[("SHLVL", level.as_os_str())])
    }

    /// Returns the variables as a shell passes them to the program `path`. `assignments` are those written
    /// before the command's name. `execed`: the shell would become the program, and bash then does not count
    /// itself in `SHLVL`.
    pub(crate) fn for_program(
        &self,
        dialect: Dialect,
        path: &[u8],
        assignments: &[(String, Vec<u8>)],
        execed: bool,
    ) -> Vec<CString> {
        let pwd = self.pwd();
        let level = self.level(i64::from(!execed));
        let mut set: Vec<(&str, &OsStr)> = vec![("PWD", pwd.as_os_str())];
        if dialect == Dialect::Bash {
            set.push(("SHLVL", level.as_os_str()));
        }
        if dialect != Dialect::Posix {
            set.push(("_", OsStr::from_bytes(path)));
        }
        for (name, value) in assignments {
            set.retain(|(n, _)| n != name);
            set.push((name, OsStr::from_bytes(value)));
        }
        let mut strings = self.with(&set);
        let keeps_oldpwd = dialect != Dialect::Bash || self.get("OLDPWD").is_none_or(is_directory);
        if dialect == Dialect::Bash {
            // Prompts are for interactive shells: other shells drop them.
            for prompt in ["PS1", "PS2"] {
                if !assignments.iter().any(|(name, _)| name == prompt) {
                    let prefix = format!("{prompt}=");
                    strings.retain(|s| !s.as_bytes().starts_with(prefix.as_bytes()));
                }
            }
        }
        if !keeps_oldpwd && !assignments.iter().any(|(name, _)| name == "OLDPWD") {
            strings.retain(|s| !s.as_bytes().starts_with(b"OLDPWD="));
        }
        match dialect {
            Dialect::Bash => {
                let inherited = |name: &[u8]| self.inherited.iter().any(|(n, _)| n.as_bytes() == name);
                in_order_of_bash(&mut strings, &inherited, assignments);
            }
            Dialect::Posix => in_order_of_dash(&mut strings),
            Dialect::Zsh => {}
        }
        strings
    }

    /// Returns the inherited variables with these replaced in place, or added at the end.
    fn with(&self, set: &[(&str, &OsStr)]) -> Vec<CString> {
        let replaced = self.inherited.iter().map(|(name, value)| {
            let new = set.iter().find(|(n, _)| name == n).map(|(_, value)| *value);
            (name.as_os_str(), new.unwrap_or(value))
        });
        let added = set.iter().filter(|(name, _)| self.get(name).is_none()).map(|(n, v)| (OsStr::new(n), *v));
        replaced.chain(added).filter_map(|(name, value)| pair(name, value)).collect()
    }

    /// Returns the working directory as a shell names it: the inherited name if it still leads there,
    /// otherwise the real one.
    pub(crate) fn pwd(&self) -> OsString {
        let inherited = self.get("PWD").filter(|pwd| pwd.as_bytes().starts_with(b"/"));
        let same = inherited.filter(|pwd| same_directory(pwd));
        match same {
            Some(pwd) => pwd.to_os_string(),
            None => std::env::current_dir().map(|dir| dir.into_os_string()).unwrap_or_default(),
        }
    }

    /// Returns `SHLVL`, `more` above the inherited value; bash counts from 0 if that is no number.
    fn level(&self, more: i64) -> OsString {
        (self.inherited_level() + more).max(0).to_string().into()
    }

    fn inherited_level(&self) -> i64 {
        self.get("SHLVL").and_then(|v| v.to_str()).and_then(|v| v.trim().parse().ok()).unwrap_or(0)
    }
}

/// Sorts variables in bash's export order, which programs such as `env` show: that of its hash table (1,024
/// buckets, FNV-1 as bash 5 computes it, the newest of a bucket first). A command's own assignments come
/// first, from a table of 4 buckets; `_` comes last, unless it was inherited.
fn in_order_of_bash(
    strings: &mut Vec<CString>,
    inherited: &dyn Fn(&[u8]) -> bool,
    assignments: &[(String, Vec<u8>)],
) {
    let place = |(i, pair): (usize, &CString)| {
        let name = pair.as_bytes().split(|b| *b == b'=').next().unwrap_or_default();
        let assigned = assignments.iter().position(|(n, _)| n.as_bytes() == name);
        match (inherited(name), assigned) {
            (_, Some(n)) => (0, hash(name) & 3, usize::MAX - n),
            (false, None) if name == b"_" => (2, 0, 0),
            (_, None) => (1, hash(name) & 1023, usize::MAX - i),
        }
    };
    let places: Vec<_> = strings.iter().enumerate().map(place).collect();
    let mut placed: Vec<_> = places.into_iter().zip(std::mem::take(strings)).collect();
    placed.sort_by_key(|(place, _)| *place);
    *strings = placed.into_iter().map(|(_, pair)| pair).collect();
}

/// Sorts variables in dash's export order: 39 buckets, and in each dash's own variables first.
fn in_order_of_dash(strings: &mut [CString]) {
    const OWN: [&[u8]; 6] = [b"MAIL", b"MAILPATH", b"PATH", b"PS1", b"PS2", b"PS4"];
    strings.sort_by_cached_key(|pair| {
        let name = pair.as_bytes().split(|b| *b == b'=').next().unwrap_or_default();
        let first = name.first().map_or(0, |b| u32::from(*b) << 4);
        let hash = name.iter().fold(first, |hash, b| hash + u32::from(*b));
        (hash % 39, !OWN.contains(&name))
    });
}

fn hash(name: &[u8]) -> u32 {
    const FNV_OFFSET: u32 = 2_166_136_261;
    const FNV_PRIME: u32 = 16_777_619;
    // bash adds the byte as a C char, which is signed here; names are ASCII.
    name.iter().fold(FNV_OFFSET, |hash, byte| hash.wrapping_mul(FNV_PRIME) ^ u32::from(*byte))
}

fn pair(name: &OsStr, value: &OsStr) -> Option<CString> {
    let mut bytes = name.to_os_string().into_vec();
    bytes.push(b'=');
    bytes.extend_from_slice(value.as_bytes());
    CString::new(bytes).ok()
}

fn is_directory(path: &OsStr) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.is_dir())
}

fn same_directory(pwd: &OsStr) -> bool {
    match (std::fs::metadata(pwd), std::fs::metadata(".")) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    }
}

/// Returns the locale of a program with this environment.
pub fn locale_of(environment: &[CString]) -> Accept<Locale> {
    let variable = |wanted: &str| values(environment, wanted.as_bytes()).next();
    Locale::resolve(variable, &SystemLocales::default())
}

/// Returns the values of a variable in a process's environment, which may have it several times.
pub fn values(environment: &[CString], name: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let value = move |pair: &CString| {
        let rest = pair.as_bytes().strip_prefix(name)?;
        rest.strip_prefix(b"=").map(<[u8]>::to_vec)
    };
    environment.iter().filter_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_pairs(pairs.iter().map(|(n, v)| (n.into(), v.into())).collect())
    }

    fn find(strings: &[CString], name: &str) -> Option<String> {
        let prefix = format!("{name}=");
        strings.iter().filter_map(|s| s.to_str().ok()).find_map(|s| s.strip_prefix(&prefix).map(String::from))
    }

    #[test]
    fn bash_counts_its_level() {
        for (inherited, expected) in [(Some("3"), "4"), (Some("abc"), "1"), (Some("-7"), "0"), (None, "1")] {
            let pairs: Vec<(&str, &str)> = inherited.map(|level| ("SHLVL", level)).into_iter().collect();
            let strings = environment(&pairs).for_program(Dialect::Bash, b"/bin/x", &[], false);
            assert_eq!(find(&strings, "SHLVL").as_deref(), Some(expected), "{inherited:?}");
        }
        let strings = environment(&[("SHLVL", "3")]).for_program(Dialect::Posix, b"/bin/x", &[], false);
        assert_eq!(find(&strings, "SHLVL").as_deref(), Some("3"));
    }

    #[test]
    fn assignments_replace_what_was_inherited() {
        let env = environment(&[("A", "1"), ("B", "2")]);
        let strings = env.for_program(
            Dialect::Bash,
            b"/bin/x",
            &[("A".into(), b"9".to_vec()), ("C".into(), vec![])],
            false,
        );
        assert_eq!(find(&strings, "A").as_deref(), Some("9"));
        assert_eq!(find(&strings, "B").as_deref(), Some("2"));
        assert_eq!(find(&strings, "C").as_deref(), Some(""));
        assert_eq!(find(&strings, "_").as_deref(), Some("/bin/x"));
    }

    #[test]
    fn a_wrong_pwd_is_corrected_and_a_dead_oldpwd_dropped() {
        let env = environment(&[("PWD", "/nonexistent"), ("OLDPWD", "/nonexistent")]);
        let strings = env.for_program(Dialect::Bash, b"/bin/x", &[], false);
        let here = std::env::current_dir().expect("a directory");
        assert_eq!(find(&strings, "PWD").as_deref(), here.to_str());
        assert_eq!(find(&strings, "OLDPWD"), None);
    }

    #[test]
    fn what_upsets_bash_is_named() {
        assert_eq!(
            environment(&[("PATH", "/bin"), ("BASH_FUNC_ls%%", "() { :; }")])
                .upsetting(Dialect::Bash)
                .as_deref(),
            Some("BASH_FUNC_ls%%")
        );
        assert_eq!(environment(&[("PATH", "/bin")]).upsetting(Dialect::Bash), None);
    }
}
