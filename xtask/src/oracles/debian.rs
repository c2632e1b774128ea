//! Roots of Debian releases, made by mmdebstrap from apt's configured mirror.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use workbench::cargo_workspace::on_path;
use workbench::machine::Machine;
use workbench::setup::install;
use workbench::steps::{step, timed};
use workbench::{Failure, Outcome};

use super::{TOOLS, remove};

/// A Debian release on one kind of machine.
pub struct Release {
    /// The name of its root.
    pub name: &'static str,
    suite: &'static str,
    pub machine: Machine,
}

/// The releases whose roots can be made.
pub const RELEASES: [Release; 5] = [
    Release { name: "debian-11", suite: "bullseye", machine: Machine::X86 },
    Release { name: "debian-12", suite: "bookworm", machine: Machine::X86 },
    Release { name: "debian-13", suite: "trixie", machine: Machine::X86 },
    Release { name: "debian-sid", suite: "sid", machine: Machine::X86 },
    Release { name: "debian-12-arm64", suite: "bookworm", machine: Machine::Arm },
];

/// The packages of a root besides Debian's essential packages.
const PACKAGES: &str = "bsdextrautils,busybox,gawk,jq,libc-bin,locales,mawk,original-awk";

impl Release {
    /// Makes the root beside its final place, so that an incomplete root is never used.
    pub fn make(&self, root: &Path) -> Outcome {
        let unfinished = root.with_extension("new");
        let mut make = mmdebstrap("essential", PACKAGES, self.machine, &unfinished)?;
        for locale in workbench::setup::LOCALES {
            make.arg(format!(
                "--customize-hook=chroot \"$1\" localedef --no-archive -i {locale} -f UTF-8 {locale}.UTF-8"
            ));
        }
        make.arg(self.suite).arg(&unfinished).arg(mirror()?);
        let name = self.name;
        step(&format!("make the root {name} (300 MB; a minute, by an emulator five)"), &mut make)?;
        remove(root)?;
        fs::rename(&unfinished, root)?;
        timed(&format!("let the tools of {name} run by their own loader"), || free_tools(root, self.machine))
    }
}

/// Unpacks packages of a release for this machine, with what they depend on, without installing them.
pub fn unpack(packages: &str, suite: &str, root: &Path) -> Outcome {
    let mut make = mmdebstrap("extract", packages, Machine::here()?, root)?;
    make.arg(suite).arg(root).arg(mirror()?);
    step(&format!("unpack {packages} of Debian's {suite} (50 MB)"), &mut make)
}

/// Returns mmdebstrap with its options, for a folder that is removed first.
fn mmdebstrap(variant: &str, packages: &str, machine: Machine, root: &Path) -> Outcome<Command> {
    let lacking: Vec<&str> = ["mmdebstrap", "patchelf"].into_iter().filter(|name| !on_path(name)).collect();
    if !lacking.is_empty() {
        install(&lacking)?;
    }
    remove(root)?;
    fs::create_dir_all(root.parent().ok_or("the root of all files is no place for an oracle")?)?;
    let mut make = Command::new("mmdebstrap");
    make.args(["--quiet", "--aptopt=Acquire::Check-Valid-Until \"false\""])
        .args([format!("--variant={variant}"), format!("--include={packages}")])
        .arg(format!("--architectures={}", machine.debian()));
    Ok(make)
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

/// Copies the tools to `ROOT/oracle`.
fn free_tools(root: &Path, machine: Machine) -> Outcome {
    let unfinished = root.join("oracle.new");
    remove(&unfinished)?;
    fs::create_dir(&unfinished)?;
    for tool in TOOLS {
        let Some(from) = find(root, tool) else { continue };
        free_tool(root, machine, &from, &unfinished.join(tool))?;
    }
    Ok(fs::rename(unfinished, root.join("oracle"))?)
}

/// Copies a program of a root, so that it names the root's loader and libraries.
pub fn free_tool(root: &Path, machine: Machine, from: &Path, to: &Path) -> Outcome {
    // In a root that was only unpacked, links of whole folders may be missing.
    let loader = machine.loader();
    let loader = resolved(root, loader).or_else(|| resolved(root, &inside(Path::new("/usr"), loader)));
    let loader = loader.ok_or("the root has no loader")?;
    let libraries = ["lib", "usr/lib"].map(|dir| root.join(dir).join(machine.multiarch()));
    let libraries = libraries.map(|dir| dir.display().to_string()).join(":");
    fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))?;
    let mut patch = Command::new("patchelf");
    patch.arg("--set-interpreter").arg(&loader);
    patch.arg("--force-rpath").arg("--set-rpath").arg(&libraries).arg(to);
    let output = patch.output()?;
    // busybox may be static, without a loader.
    if !output.status.success() && !to.ends_with("busybox") {
        return Err(format!("patchelf {}: {}", to.display(), String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(())
}

/// Returns the path of a tool in a root.
pub fn find(root: &Path, tool: &str) -> Option<PathBuf> {
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
}
