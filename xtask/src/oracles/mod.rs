//! `cargo xtask oracles`: makes the tools of other systems, to compare the kernels with them.
//!
//! Each oracle is a folder outside the checkout, made once: a root of another Debian release, or one program that is many
//! tools in one version. Its tools are in `ORACLE/oracle` and run without chroot: patchelf sets their own loader and
//! libraries, so that they are called, and call themselves, as usual.

mod debian;
mod multi_call;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lexopt::prelude::*;
use workbench::machine::Machine;
use workbench::steps::timed;
use workbench::{Failure, Outcome};

use debian::{RELEASES, Release};
use multi_call::{MULTI_CALL, MultiCall};

/// The tools that have kernels.
const TOOLS: [&str; 38] = [
    "awk",
    "base64",
    "basename",
    "busybox",
    "cat",
    "comm",
    "cut",
    "dirname",
    "echo",
    "expand",
    "find",
    "fold",
    "gawk",
    "grep",
    "gzip",
    "head",
    "join",
    "jq",
    "mawk",
    "nl",
    "original-awk",
    "paste",
    "printf",
    "rev",
    "sed",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sort",
    "tac",
    "tail",
    "tee",
    "tr",
    "unexpand",
    "uniq",
    "wc",
    "xargs",
];

/// One of the oracles.
#[derive(Clone, Copy)]
enum Oracle {
    Root(&'static Release),
    MultiCall(&'static MultiCall),
}

impl Oracle {
    fn all() -> impl Iterator<Item = Oracle> {
        RELEASES.iter().map(Oracle::Root).chain(MULTI_CALL.iter().map(Oracle::MultiCall))
    }

    fn named(name: &str) -> Option<Oracle> {
        Oracle::all().find(|oracle| oracle.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Oracle::Root(release) => release.name,
            Oracle::MultiCall(program) => program.name,
        }
    }

    /// Whether this machine runs its tools without an emulator.
    fn runs_here(self) -> bool {
        match self {
            Oracle::Root(release) => Machine::here().is_ok_and(|here| here == release.machine),
            Oracle::MultiCall(_) => Machine::here().is_ok(),
        }
    }

    /// Makes its folder if it is missing.
    fn make_missing(self, folder: &Path) -> Outcome {
        let place = folder.join(self.name());
        if let Oracle::Root(release) = self {
            release.machine.prepare_to_run()?;
        }
        match self {
            _ if place.join("oracle").is_dir() => Ok(()),
            Oracle::Root(release) => release.make(&place),
            Oracle::MultiCall(program) => program.make(&place),
        }
    }
}

/// The options.
#[derive(Debug, Default)]
pub struct Options {
    /// Oracles to make; [`of_this_machine`] if empty.
    names: Vec<String>,
    /// Removes them instead.
    clean: bool,
}

impl Options {
    /// Parses the arguments.
    ///
    /// # Errors
    /// An option or an oracle that does not exist.
    pub fn parse(mut args: lexopt::Parser) -> Outcome<Self> {
        let mut options = Options::default();
        while let Some(arg) = args.next()? {
            match arg {
                Long("clean") => options.clean = true,
                Value(name) => options.names.push(name.string()?),
                other => return Err(other.unexpected().into()),
            }
        }
        options.names.iter().try_for_each(|name| known(name))?;
        Ok(options)
    }

    fn wanted(&self) -> Vec<String> {
        if self.names.is_empty() { of_this_machine() } else { self.names.clone() }
    }
}

/// Returns the names of the oracles whose tools this machine runs without an emulator.
pub fn of_this_machine() -> Vec<String> {
    let here = Oracle::all().filter(|oracle| oracle.runs_here());
    here.map(|oracle| oracle.name().to_owned()).collect()
}

/// Returns the names of those that are roots of whole systems.
pub fn roots_of_this_machine() -> Vec<String> {
    let is_root = |name: &String| RELEASES.iter().any(|release| release.name == *name);
    of_this_machine().into_iter().filter(is_root).collect()
}

/// Returns the machine of a root.
///
/// # Errors
/// There is no such root: the names that there are.
pub fn machine(name: &str) -> Outcome<Machine> {
    let found = RELEASES.iter().find(|release| release.name == name);
    let names = || RELEASES.iter().map(|release| release.name).collect::<Vec<_>>().join(", ");
    found
        .map(|release| release.machine)
        .ok_or_else(|| -> Failure { format!("there is no root '{name}'; there are {}", names()).into() })
}

/// Checks the name of an oracle.
///
/// # Errors
/// There is no such oracle: the names that there are.
pub fn known(name: &str) -> Outcome {
    if Oracle::named(name).is_some() {
        return Ok(());
    }
    let all = Oracle::all().map(Oracle::name).collect::<Vec<_>>().join(", ");
    Err(format!("there is no oracle '{name}'; there are {all}").into())
}

/// Returns the folder of an oracle's tools.
///
/// # Errors
/// No folder of oracles.
pub fn tools(name: &str) -> Outcome<PathBuf> {
    Ok(folder()?.join(name).join("oracle"))
}

/// Returns the version of each tool of an oracle, by name; of the installed tools if the name is empty.
///
/// # Errors
/// No folder of oracles.
pub fn versions(name: &str) -> Outcome<BTreeMap<String, String>> {
    let tools = if name.is_empty() { PathBuf::new() } else { tools(name)? };
    let version = |tool: &str| Some((tool.to_owned(), version(&tools.join(tool))?));
    Ok(TOOLS.into_iter().filter_map(version).collect())
}

/// Makes those of these oracles that are missing.
///
/// # Errors
/// Something missing on this machine, or the step that failed.
pub fn make_missing(names: &[String]) -> Outcome {
    let folder = folder()?;
    let wanted = names.iter().filter_map(|name| Oracle::named(name));
    wanted.into_iter().try_for_each(|oracle| oracle.make_missing(&folder))
}

/// Returns the folder of all oracles: `PELTON_ORACLES`, or one in the user's cache.
pub fn folder() -> Outcome<PathBuf> {
    if let Some(folder) = std::env::var_os("PELTON_ORACLES") {
        return Ok(folder.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = cache.or_else(home).ok_or("neither PELTON_ORACLES, XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join("pelton-oracles"))
}

/// Makes the oracles that are missing, and prints the versions of their tools; or removes them.
///
/// # Errors
/// Something missing on this machine, or the step that failed.
pub fn run(options: &Options) -> Outcome {
    let folder = folder()?;
    let wanted = options.wanted();
    if options.clean {
        return wanted
            .iter()
            .try_for_each(|name| timed(&format!("remove {name}"), || remove(&folder.join(name))));
    }
    make_missing(&wanted)?;
    show(&folder, &wanted)
}

/// Removes an oracle. It has no mounts: mmdebstrap removes its own.
fn remove(oracle: &Path) -> Outcome {
    match fs::remove_dir_all(oracle) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", oracle.display()).into())
        }
        _ => Ok(()),
    }
}

/// Prints a table: tool by oracle, with versions.
fn show(folder: &Path, wanted: &[String]) -> Outcome {
    let oracles: Vec<_> = wanted.iter().map(|name| versions(name)).collect::<Outcome<_>>()?;
    let heads: String = wanted.iter().map(|name| format!("{name:24}")).collect();
    println!("{:14}{}", "", heads.trim_end());
    for tool in TOOLS {
        let cell = |versions: &BTreeMap<String, String>| versions.get(tool).cloned();
        let cells: String = oracles
            .iter()
            .map(|oracle| format!("{:24}", cell(oracle).unwrap_or_else(|| "—".to_owned())))
            .collect();
        println!("{tool:14}{}", cells.trim_end());
    }
    println!("\nthe oracles are in {}", folder.display());
    Ok(())
}

/// Returns the version that a tool prints.
fn version(tool: &Path) -> Option<String> {
    // Most applets of busybox do not know the option.
    let real = fs::canonicalize(tool).ok();
    let tool = real.as_deref().filter(|real| real.ends_with("busybox")).unwrap_or(tool);
    let options: &[&str] = match tool.file_name()?.to_str()? {
        "mawk" => &["-W", "version"],
        "busybox" => &["--help"],
        _ => &["--version"],
    };
    let mut command = Command::new(tool);
    std::os::unix::process::CommandExt::arg0(&mut command, tool.file_name()?);
    let output = command.args(options).stdin(std::process::Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let line = String::from_utf8_lossy(&text).lines().next()?.to_owned();
    let line = line.strip_prefix(tool.file_name()?.to_str()?).unwrap_or(&line);
    let from = line.find(|c: char| c.is_ascii_digit())?;
    let words = if text.starts_with(b"mawk") { 2 } else { 1 };
    Some(line[from..].split([',', '-', ' ']).take(words).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_oracles_are_refused() {
        let refused = Options::parse(lexopt::Parser::from_args(["debian-10"])).expect_err("there is none");
        let known = "debian-11, debian-12, debian-13, debian-sid, debian-12-arm64, uutils-0.7, uutils-0.8, \
                     uutils-0.12, busybox-1.35, busybox-1.37, busybox-1.38";
        assert_eq!(refused.to_string(), format!("there is no oracle 'debian-10'; there are {known}"));
    }
}
