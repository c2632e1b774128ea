//! `cargo xtask oracles`: makes roots of other Debian releases, to compare the kernels with their tools.
//!
//! A root is a folder outside the checkout, made once by mmdebstrap from apt's configured mirror. Its tools
//! run without chroot: patchelf sets the root's own loader and libraries in the copies in `ROOT/oracle`, so
//! that the tools are called, and call themselves, as usual.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lexopt::prelude::*;
use workbench::cargo_workspace::on_path;
use workbench::machine::Machine;
use workbench::setup::install;
use workbench::steps::{step, timed};
use workbench::{Failure, Outcome};

/// A Debian release on one kind of machine.
struct Release {
    /// The name of its root.
    name: &'static str,
    suite: &'static str,
    machine: Machine,
}

const RELEASES: [Release; 5] = [
    Release { name: "debian-11", suite: "bullseye", machine: Machine::X86 },
    Release { name: "debian-12", suite: "bookworm", machine: Machine::X86 },
    Release { name: "debian-13", suite: "trixie", machine: Machine::X86 },
    Release { name: "debian-sid", suite: "sid", machine: Machine::X86 },
    Release { name: "debian-12-arm64", suite: "bookworm", machine: Machine::Arm },
];

/// The packages of a root besides Debian's essential packages.
const PACKAGES: &str = "bsdextrautils,busybox,gawk,jq,libc-bin,locales,mawk,original-awk";

/// The tools that have kernels, and their paths in a root.
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

/// The options.
#[derive(Debug, Default)]
pub struct Options {
    /// Roots to make; [`of_this_machine`] if empty.
    names: Vec<String>,
    /// Removes the roots instead.
    clean: bool,
}

impl Options {
    /// Parses the arguments.
    ///
    /// # Errors
    /// An option or a root that does not exist.
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

/// Returns the names of all roots that can be made.
pub fn names() -> impl Iterator<Item = &'static str> {
    RELEASES.iter().map(|release| release.name)
}

/// Returns the names of those whose tools this machine runs without an emulator.
pub fn of_this_machine() -> Vec<String> {
    let here = Machine::here().ok();
    let runs = |release: &&Release| Some(release.machine) == here;
    RELEASES.iter().filter(runs).map(|release| release.name.to_owned()).collect()
}

/// Returns the machine of a root.
///
/// # Errors
/// There is no such root.
pub fn machine(name: &str) -> Outcome<Machine> {
    let found = RELEASES.iter().find(|release| release.name == name);
    found
        .map(|release| release.machine)
        .ok_or_else(|| -> Failure { format!("there is no root '{name}'").into() })
}

/// Checks the name of a root.
///
/// # Errors
/// There is no such root: the names that there are.
pub fn known(name: &str) -> Outcome {
    if names().any(|one| one == name) {
        return Ok(());
    }
    let all = names().collect::<Vec<_>>().join(", ");
    Err(format!("there is no root '{name}'; there are {all}").into())
}

/// Returns the folder of a root's tools.
///
/// # Errors
/// No folder of roots.
pub fn tools(name: &str) -> Outcome<PathBuf> {
    Ok(folder()?.join(name).join("oracle"))
}

/// Returns the version of each tool of a root, by name; of the installed tools if the name is empty.
///
/// # Errors
/// No folder of roots.
pub fn versions(name: &str) -> Outcome<BTreeMap<String, String>> {
    let tools = if name.is_empty() { PathBuf::new() } else { tools(name)? };
    let version = |tool: &str| Some((tool.to_owned(), version(&tools.join(tool))?));
    Ok(TOOLS.into_iter().filter_map(version).collect())
}

/// Makes those of these roots that are missing.
///
/// # Errors
/// Something missing on this machine, or the step that failed.
pub fn make_missing(names: &[String]) -> Outcome {
    let folder = folder()?;
    for release in RELEASES.iter().filter(|release| names.iter().any(|one| one == release.name)) {
        release.machine.prepare_to_run()?;
        let root = folder.join(release.name);
        if !root.join("oracle").is_dir() {
            make(&root, release)?;
        }
    }
    Ok(())
}

/// Returns the folder of all roots: `PELTON_ORACLES`, or one in the user's cache.
pub fn folder() -> Outcome<PathBuf> {
    if let Some(folder) = std::env::var_os("PELTON_ORACLES") {
        return Ok(folder.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = cache.or_else(home).ok_or("neither PELTON_ORACLES, XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join("pelton-oracles"))
}

/// Makes the roots that are missing, and prints the versions of their tools; or removes them.
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

/// Removes a root. It has no mounts: mmdebstrap removes its own.
fn remove(root: &Path) -> Outcome {
    match fs::remove_dir_all(root) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", root.display()).into())
        }
        _ => Ok(()),
    }
}

/// Makes a root beside its final place, so that an incomplete root is never used.
fn make(root: &Path, release: &Release) -> Outcome {
    let lacking: Vec<&str> = ["mmdebstrap", "patchelf"].into_iter().filter(|name| !on_path(name)).collect();
    if !lacking.is_empty() {
        install(&lacking)?;
    }
    let unfinished = root.with_extension("new");
    remove(&unfinished)?;
    fs::create_dir_all(root.parent().ok_or("the root of all files is no place for an oracle")?)?;
    let mut make = Command::new("mmdebstrap");
    make.args(["--quiet", "--variant=essential", "--aptopt=Acquire::Check-Valid-Until \"false\""])
        .args([format!("--include={PACKAGES}"), format!("--architectures={}", release.machine.debian())]);
    for locale in workbench::setup::LOCALES {
        make.arg(format!(
            "--customize-hook=chroot \"$1\" localedef --no-archive -i {locale} -f UTF-8 {locale}.UTF-8"
        ));
    }
    make.arg(release.suite).arg(&unfinished).arg(mirror()?);
    let name = release.name;
    step(&format!("make the root {name} (300 MB; a minute, by an emulator five)"), &mut make)?;
    remove(root)?;
    fs::rename(&unfinished, root)?;
    timed(&format!("let the tools of {name} run by their own loader"), || free_tools(root, release.machine))
}

/// Returns the mirror of Debian's main archive that apt uses.
fn mirror() -> Outcome<String> {
    let format = "$(SITE) $(ORIGIN) $(LABEL)";
    let output = Command::new("apt-get")
        .args(["indextargets", "--format", format, "Created-By: Packages"])
        .output()
        .map_err(|error| format!("apt-get tells the mirror of Debian: {error}"))?;
    let listed = String::from_utf8(output.stdout)?;
    let site = listed.lines().find_map(|line| line.strip_suffix(" Debian Debian"));
    site.map(str::to_owned).ok_or_else(|| -> Failure {
        "apt has no index of Debian's archive: run `apt-get update`, or set up a mirror in its sources".into()
    })
}

/// Copies the tools to `ROOT/oracle`, where each names the root's loader and libraries.
fn free_tools(root: &Path, machine: Machine) -> Outcome {
    let loader = resolved(root, machine.loader()).ok_or("the root has no loader")?;
    let libraries = ["lib", "usr/lib"].map(|dir| root.join(dir).join(machine.multiarch()));
    let libraries = libraries.map(|dir| dir.display().to_string()).join(":");
    let unfinished = root.join("oracle.new");
    remove(&unfinished)?;
    fs::create_dir(&unfinished)?;
    for tool in TOOLS {
        let Some(from) = find(root, tool) else { continue };
        let to = unfinished.join(tool);
        fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
        let mut patch = Command::new("patchelf");
        patch
            .arg("--set-interpreter")
            .arg(&loader)
            .arg("--force-rpath")
            .arg("--set-rpath")
            .arg(&libraries)
            .arg(&to);
        let output = patch.output()?;
        // busybox may be static, without a loader.
        if !output.status.success() && tool != "busybox" {
            return Err(format!("patchelf {tool}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
    }
    Ok(fs::rename(unfinished, root.join("oracle"))?)
}

/// Returns the path of a tool in a root.
fn find(root: &Path, tool: &str) -> Option<PathBuf> {
    ["/usr/bin", "/bin"].iter().find_map(|dir| resolved(root, &Path::new(dir).join(tool)))
}

/// Resolves a path inside a root. Many links there are absolute; they must not lead out of the root.
fn resolved(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..8 {
        match fs::read_link(inside(root, &path)) {
            Ok(target) => path = path.parent()?.join(target),
            Err(_) => return Some(inside(root, &path)).filter(|file| file.exists()),
        }
    }
    None
}

fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Prints a table: tool by root, with versions.
fn show(folder: &Path, wanted: &[String]) -> Outcome {
    let roots: Vec<_> = wanted.iter().map(|name| versions(name)).collect::<Outcome<_>>()?;
    let heads: String = wanted.iter().map(|name| format!("{name:24}")).collect();
    println!("{:14}{}", "", heads.trim_end());
    for tool in TOOLS {
        let cell = |versions: &BTreeMap<String, String>| versions.get(tool).cloned();
        let cells: String =
            roots.iter().map(|root| format!("{:24}", cell(root).unwrap_or_else(|| "—".to_owned()))).collect();
        println!("{tool:14}{}", cells.trim_end());
    }
    println!("\nthe roots are in {}", folder.display());
    Ok(())
}

/// Returns the version that a tool prints.
fn version(tool: &Path) -> Option<String> {
    let options: &[&str] = if tool.ends_with("mawk") { &["-W", "version"] } else { &["--version"] };
    let mut command = Command::new(tool);
    std::os::unix::process::CommandExt::arg0(&mut command, tool.file_name()?);
    let output = command.args(options).stdin(std::process::Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let line = String::from_utf8_lossy(&text).lines().next()?.to_owned();
    let from = line.find(|c: char| c.is_ascii_digit())?;
    Some(
        line[from..]
            .split([',', '-', ' '])
            .take(if line.starts_with("mawk") { 2 } else { 1 })
            .collect::<Vec<_>>()
            .join(" "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_inside_of_the_root() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("usr/bin")).expect("writable");
        fs::create_dir_all(at("etc/alternatives")).expect("writable");
        fs::write(at("usr/bin/mawk"), "").expect("writable");
        std::os::unix::fs::symlink("/usr/bin/mawk", at("etc/alternatives/awk")).expect("writable");
        std::os::unix::fs::symlink("/etc/alternatives/awk", at("usr/bin/awk")).expect("writable");
        assert_eq!(find(root.path(), "awk"), Some(at("usr/bin/mawk")));
        assert_eq!(find(root.path(), "nosuch"), None);
    }

    #[test]
    fn unknown_roots_are_refused() {
        let refused = Options::parse(lexopt::Parser::from_args(["debian-10"])).expect_err("there is none");
        let known = "debian-11, debian-12, debian-13, debian-sid, debian-12-arm64";
        assert_eq!(refused.to_string(), format!("there is no root 'debian-10'; there are {known}"));
    }
}
