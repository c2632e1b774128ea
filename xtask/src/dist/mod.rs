//! `cargo xtask dist`: builds the files of a release: archives of the static binary with its
//! manual, completions and licences, packages, a bill of materials, recipes for other package
//! managers, a script that installs an archive, and checksums.
//!
//! Made twice of the same commit, the files are the same: names are sorted, times are the commit's,
//! owners are root, and no path of the machine that builds is in the binary.

pub mod packages;
pub mod recipes;
mod sbom;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use lexopt::prelude::*;
use recipes::Values;
use workbench::cargo_workspace::{release_binary, release_binary_for, root, target_dir};
use workbench::machine::Machine;
use workbench::steps::{step, timed};

/// The script that installs an archive, in the root of the checkout.
const INSTALLER: &str = "install.sh";
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];
const MAINTAINER: &str = "The developers of pelton <pelton@localhost>";
/// What Debian's checker complains of and is meant: one static binary for all releases, and no
/// address yet.
const LINTIAN_OVERRIDES: &str = "pelton: statically-linked-binary\npelton: bogus-mail-host\npelton: bogus-mail-host-in-debian-changelog\n";
/// Where the shells look for completions, below a prefix, with the name of the shell.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/pelton"),
    ("zsh", "share/zsh/site-functions/_pelton"),
    ("fish", "share/fish/vendor_completions.d/pelton.fish"),
];

/// The options.
#[derive(Debug)]
pub struct Options {
    /// The machines to build for.
    machines: Vec<Machine>,
    /// The address of the directory with the files of the release.
    base_url: Option<String>,
}

impl Options {
    /// Parses the arguments.
    ///
    /// # Errors
    /// An option or a machine that does not exist.
    pub fn parse(mut args: lexopt::Parser) -> Outcome<Self> {
        let mut machines = Vec::new();
        let mut base_url = None;
        while let Some(arg) = args.next()? {
            match arg {
                Long("machine") => match args.value()?.string()?.as_str() {
                    "all" => machines.extend(Machine::ALL),
                    name => machines.push(Machine::named(name)?),
                },
                Long("base-url") => base_url = Some(args.value()?.string()?),
                other => return Err(other.unexpected().into()),
            }
        }
        if machines.is_empty() {
            machines.push(Machine::here()?);
        }
        Ok(Options { machines, base_url })
    }
}

/// Builds the release, and makes all files of it in the target directory. Without nfpm, the
/// packages that it makes are missing, and the last line says so.
///
/// # Errors
/// If something cannot be built, or a program is missing (tar, gzip, zstd, dpkg-deb).
pub fn run(options: &Options) -> Outcome {
    let out = target_dir()?.join("dist");
    let built = options.machines.iter().map(|machine| Ok((*machine, release_binary_for(*machine)?)));
    let built: Vec<(Machine, PathBuf)> = built.collect::<Outcome<_>>()?;
    let nfpm = packages::installed_nfpm();
    let settings = Settings {
        effort: Effort::Most,
        base_url: options.base_url.clone(),
        nfpm: nfpm.as_ref().ok().cloned(),
    };
    for file in make(&built, &release_binary()?, &out, &settings)? {
        let kilobytes = fs::metadata(&file)?.len().div_ceil(1000);
        println!("{}  {kilobytes} kB", file.display());
    }
    if let Err(error) = nfpm {
        eprintln!("xtask: the packages for Fedora, Alpine and Arch are missing: {error}");
    }
    Ok(())
}

/// How the files are made.
pub struct Settings {
    /// How small the archives get.
    pub effort: Effort,
    /// The address of the directory with the files of the release, if it is known.
    pub base_url: Option<String>,
    /// The program that makes packages, if there is one.
    pub nfpm: Option<PathBuf>,
}

/// How much is done to make archives small.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// As little as possible, for tests.
    Least,
    /// As for a release.
    Most,
}

impl Effort {
    /// Returns the level of compression.
    fn level(self, most: u32) -> u32 {
        if self == Effort::Most { most } else { 1 }
    }
}

/// Makes the files of a release from these binaries in a directory, and returns them. `speaker`:
/// the same for this machine, which prints the manual and the completions.
///
/// # Errors
/// As [`run`].
pub fn make(
    binaries: &[(Machine, PathBuf)],
    speaker: &Path,
    out: &Path,
    settings: &Settings,
) -> Outcome<Vec<PathBuf>> {
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    fs::create_dir_all(out)?;
    let mut made = Vec::new();
    let mut values = Values::default();
    let address = settings.base_url.as_deref().unwrap_or(recipes::NO_ADDRESS);
    values.set("BASE_URL", address.trim_end_matches('/'));
    let machines: Vec<&str> = binaries.iter().map(|(machine, _)| machine.name()).collect();
    values.set("MACHINES", &machines.join(" "));
    for (machine, binary) in binaries {
        let release = Release::of(*machine, speaker, settings.effort)?;
        values.set("VERSION", &release.version);
        made.extend(release.files(binary, speaker, out, settings)?);
        let archive = format!("{}.tar.gz", release.name);
        values.set(&format!("SHA256_{}", machine.name()), &checksum(&out.join(&archive))?);
        values.set(&format!("ARCHIVE_{}", machine.name()), &archive);
    }
    made.extend(recipes::make(&values, out)?);
    put(&root().join(INSTALLER), &out.join(INSTALLER), 0o644)?;
    made.push(out.join(INSTALLER));
    let sums = out.join("SHA256SUMS");
    fs::write(&sums, checksums(out, &made)?)?;
    made.push(sums);
    Ok(made)
}

/// A version for one kind of machine.
struct Release {
    version: String,
    machine: Machine,
    /// The name of the archives, without suffix.
    name: String,
    /// The time of the commit, in seconds since 1970.
    time: String,
    effort: Effort,
}

impl Release {
    fn of(machine: Machine, speaker: &Path, effort: Effort) -> Outcome<Release> {
        let said = output(Command::new(speaker).arg("--version"))?;
        let version =
            said.trim().strip_prefix("pelton ").ok_or("pelton --version names no version")?.to_owned();
        let time = output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()))?;
        let name = format!("pelton-{version}-linux-{}", machine.name());
        Ok(Release { version, machine, name, time: time.trim().to_owned(), effort })
    }

    /// Makes the files for this machine.
    fn files(&self, binary: &Path, speaker: &Path, out: &Path, settings: &Settings) -> Outcome<Vec<PathBuf>> {
        let tree = out.join(&self.name);
        timed(&format!("the tree of {}", self.name), || self.fill(binary, speaker, &tree))?;
        let mut made = vec![
            self.archive(out, "tar.zst", &format!("zstd -{} -T1 -q", self.effort.level(19)))?,
            self.archive(out, "tar.gz", &format!("gzip -{}n", self.effort.level(9)))?,
        ];
        let bill = out.join(format!("{}.cdx.json", self.name));
        write(&bill, &sbom::make(self.machine, &self.version, &checksum(binary)?, &self.time)?)?;
        made.push(bill);
        compress_manual(&tree)?;
        if let Some(nfpm) = &settings.nfpm {
            let mut values = Values::default();
            values.set("VERSION", &self.version);
            values.set("ARCHITECTURE", self.machine.debian());
            values.set("COMPRESSION", packages::compression(self.effort));
            made.extend(packages::make(nfpm, &values, &tree, out, &self.time)?);
        }
        made.push(self.debian_package(&tree, out)?);
        Ok(made)
    }

    /// Puts everything below a prefix, as it is installed.
    fn fill(&self, binary: &Path, speaker: &Path, tree: &Path) -> Outcome {
        put(binary, &tree.join("bin/pelton"), 0o755)?;
        let manual = tree.join("share/man");
        output(Command::new(speaker).args(["man", "--output"]).arg(&manual))?;
        for (shell, place) in COMPLETIONS {
            write(&tree.join(place), &output(Command::new(speaker).args(["completions", shell]))?)?;
        }
        let doc = tree.join("share/doc/pelton");
        for file in LICENCES.into_iter().chain(["README.md", "CHANGELOG.md"]) {
            put(&root().join(file), &doc.join(file), 0o644)?;
        }
        // The pages that the README leads to.
        put_below(&root().join("docs"), &doc.join("docs"))?;
        put(&root().join("bench/README.md"), &doc.join("bench/README.md"), 0o644)?;
        write(&doc.join("licences-of-dependencies.txt"), &licences_of_dependencies()?)?;
        let_everyone_read(tree)
    }

    /// Packs the tree by this compressor.
    fn archive(&self, out: &Path, suffix: &str, compressor: &str) -> Outcome<PathBuf> {
        let archive = out.join(format!("{}.{suffix}", self.name));
        let mut tar = Command::new("tar");
        tar.args(["--create", "--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .args(["--mode=u+rw,go+r-w,a+X".to_owned(), format!("--mtime=@{}", self.time)])
            .arg("--use-compress-program")
            .arg(compressor)
            .arg("--file")
            .arg(&archive)
            .arg("--directory")
            .args([out, Path::new(&self.name)]);
        step(&format!("pack {}.{suffix}", self.name), &mut tar)?;
        Ok(archive)
    }

    /// Makes a package for Debian and its relatives, of the tree with a compressed manual, which it
    /// consumes. The binary is static and needs nothing.
    fn debian_package(&self, tree: &Path, out: &Path) -> Outcome<PathBuf> {
        let architecture = self.machine.debian();
        let root = out.join("deb");
        fs::create_dir(&root)?;
        fs::rename(tree, root.join("usr"))?;
        // Where Debian's zsh looks, and what its policy asks for.
        let zsh = root.join("usr/share/zsh");
        fs::rename(zsh.join("site-functions"), zsh.join("vendor-completions"))?;
        let doc = root.join("usr/share/doc/pelton");
        write(&doc.join("copyright"), &copyright()?)?;
        for licence in LICENCES {
            fs::remove_file(doc.join(licence))?;
        }
        write(&doc.join("changelog"), &self.debian_changelog()?)?;
        output(Command::new("gzip").arg("-9n").arg(doc.join("changelog")))?;
        write(&root.join("usr/share/lintian/overrides/pelton"), LINTIAN_OVERRIDES)?;
        write(&root.join("DEBIAN/control"), &self.control(architecture, &root)?)?;
        let_everyone_read(&root)?;
        let package = out.join(format!("pelton_{}_{architecture}.deb", self.version));
        let mut build = Command::new("dpkg-deb");
        let level = format!("-z{}", self.effort.level(6));
        build.args(["--root-owner-group", "-Zxz", &level, "--build"]).arg(&root).arg(&package);
        build.env("SOURCE_DATE_EPOCH", &self.time).stdout(std::process::Stdio::null());
        step("pack the Debian package", &mut build)?;
        fs::remove_dir_all(&root)?;
        Ok(package)
    }

    fn control(&self, architecture: &str, root: &Path) -> Outcome<String> {
        let kilobytes = bytes_below(root)? / 1024;
        Ok(format!(
            "Package: pelton\n\
             Version: {}\n\
             Architecture: {architecture}\n\
             Maintainer: {MAINTAINER}\n\
             Installed-Size: {kilobytes}\n\
             Section: utils\n\
             Priority: optional\n\
             Description: shows where shell pipelines spend their time, and runs them faster\n \
             pelton time shows what each stage of a pipeline costs and waits for, and\n \
             names the bottleneck. pelton run runs the same pipeline with the same output\n \
             and exit status for a fraction of the CPU time. pelton doctor says why a\n \
             pipeline is stuck.\n",
            self.version
        ))
    }

    /// Returns a changelog in the form that Debian's policy asks for. It refers to the real one.
    fn debian_changelog(&self) -> Outcome<String> {
        let date = utc_date(&self.time, "%a, %d %b %Y %T +0000")?;
        Ok(format!(
            "pelton ({}) unstable; urgency=medium\n\n  \
             * The changes are in /usr/share/doc/pelton/CHANGELOG.md.\n\n \
             -- {MAINTAINER}  {date}\n",
            self.version
        ))
    }
}

/// Sets the permissions in a tree, whatever the umask is.
fn let_everyone_read(tree: &Path) -> Outcome {
    output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(tree))?;
    Ok(())
}

/// Compresses the manual pages of a tree.
fn compress_manual(tree: &Path) -> Outcome {
    output(Command::new("gzip").args(["-9nr"]).arg(tree.join("share/man")))?;
    Ok(())
}

/// Returns the copyright file that Debian's policy asks for.
fn copyright() -> Outcome<String> {
    let mit = fs::read_to_string(root().join("LICENSE-MIT"))?;
    let holder = mit
        .lines()
        .find(|line| line.starts_with("Copyright"))
        .unwrap_or("Copyright the developers of pelton");
    let mit: String = mit
        .lines()
        .map(|line| if line.trim().is_empty() { " .\n".into() } else { format!(" {line}\n") })
        .collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: pelton\n\n\
         Files: *\n\
         {}\n\
         License: Expat or Apache-2.0\n\n\
         License: Expat\n{mit}\n\
         License: Apache-2.0\n \
         On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.\n",
        holder.replacen("Copyright", "Copyright:", 1)
    ))
}

/// Returns a line for each crate that is linked in: its name, version and licence.
fn licences_of_dependencies() -> Outcome<String> {
    let tree =
        ["tree", "--package", "pelton", "--edges", "normal", "--prefix", "none", "--format", "{p}\t{l}"];
    let mut cargo = workbench::cargo_workspace::cargo(tree);
    let said = output(cargo.args(["--offline", "--locked"]))?;
    let mut lines: Vec<String> = said
        .lines()
        .filter(|line| !line.contains("(/"))
        .map(|line| line.trim_end_matches(" (*)").replace(" (proc-macro)", ""))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    Ok(format!(
        "Crates in the binary, and their licences:\n\n{}\n\nThe C library in the binary: glibc, LGPL-2.1-or-later\n",
        lines.join("\n")
    ))
}

/// Returns the lines of `sha256sum` for these files of a directory.
fn checksums(dir: &Path, files: &[PathBuf]) -> Outcome<String> {
    let names = files.iter().filter_map(|file| file.file_name());
    output(Command::new("sha256sum").args(names).current_dir(dir))
}

/// Returns a file's SHA-256, in hexadecimal digits.
fn checksum(file: &Path) -> Outcome<String> {
    let said = output(Command::new("sha256sum").arg("--").arg(file))?;
    Ok(said.split(' ').next().unwrap_or_default().to_owned())
}

/// Formats a time in seconds since 1970, as `date` does in English.
fn utc_date(time: &str, format: &str) -> Outcome<String> {
    let mut date = Command::new("date");
    date.args(["--utc", "--date", &format!("@{time}"), &format!("+{format}")]).env("LC_ALL", "C");
    Ok(output(&mut date)?.trim_end().to_owned())
}

fn output(command: &mut Command) -> Outcome<String> {
    let out = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !out.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&out.stderr)).into());
    }
    Ok(String::from_utf8(out.stdout)?)
}

fn put(from: &Path, to: &Path, mode: u32) -> Outcome {
    fs::create_dir_all(to.parent().ok_or("a file in no directory")?)?;
    fs::copy(from, to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}

/// Copies all files of a directory and of those in it.
fn put_below(from: &Path, to: &Path) -> Outcome {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { put_below(&path, &to)? } else { put(&path, &to, 0o644)? }
    }
    Ok(())
}

fn write(to: &Path, text: &str) -> Outcome {
    fs::create_dir_all(to.parent().ok_or("a file in no directory")?)?;
    fs::write(to, text)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o644))?;
    Ok(())
}

fn bytes_below(dir: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
