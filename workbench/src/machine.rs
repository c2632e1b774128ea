//! The kinds of machines that pelton is built for, and what is needed to build and run for another one than this.

use std::path::Path;
use std::process::Command;

use crate::cargo_workspace::{on_path, root};
use crate::setup::install;
use crate::steps::step;
use crate::{Failure, Outcome};

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// 64-bit Intel and AMD.
    X86,
    /// 64-bit ARM.
    Arm,
}

impl Machine {
    /// All of them.
    pub const ALL: [Machine; 2] = [Machine::X86, Machine::Arm];

    /// Returns the kind of this machine.
    ///
    /// # Errors
    /// It is another one.
    pub fn here() -> Outcome<Machine> {
        Machine::named(std::env::consts::ARCH)
    }

    /// Returns the machine with this name.
    ///
    /// # Errors
    /// There is none: the names that there are.
    pub fn named(name: &str) -> Outcome<Machine> {
        let found =
            Machine::ALL.into_iter().find(|machine| machine.name() == name || machine.debian() == name);
        found.ok_or_else(|| -> Failure {
            format!(
                "pelton is not built for '{name}', but for {}",
                Machine::ALL.map(Machine::name).join(" and ")
            )
            .into()
        })
    }

    /// Returns its name in the words of `uname -m`.
    pub fn name(self) -> &'static str {
        match self {
            Machine::X86 => "x86_64",
            Machine::Arm => "aarch64",
        }
    }

    /// Returns its name in Debian's words.
    pub fn debian(self) -> &'static str {
        match self {
            Machine::X86 => "amd64",
            Machine::Arm => "arm64",
        }
    }

    /// Returns Rust's target.
    pub fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// Returns its multiarch tuple: Debian's name of the directory of its libraries, below `/lib` and `/usr/lib`.
    pub fn multiarch(self) -> String {
        format!("{}-linux-gnu", self.name())
    }

    /// Returns the path of the C library's loader.
    pub fn loader(self) -> &'static Path {
        Path::new(match self {
            Machine::X86 => "/lib64/ld-linux-x86-64.so.2",
            Machine::Arm => "/lib/ld-linux-aarch64.so.1",
        })
    }

    /// Returns the linker, where this machine's own cannot serve.
    ///
    /// # Errors
    /// This machine is none that pelton is built for.
    pub fn linker(self) -> Outcome<Option<String>> {
        Ok((self != Machine::here()?).then(|| format!("{}-linux-gnu-gcc", self.name())))
    }

    /// Installs what is needed to build for it: a C compiler and Rust's standard library.
    ///
    /// # Errors
    /// What cannot be installed.
    pub fn prepare_to_build(self) -> Outcome {
        let Some(linker) = self.linker()? else { return Ok(()) };
        if !on_path(&linker) {
            let names = [
                format!("gcc-{}-linux-gnu", self.name().replace('_', "-")),
                format!("libc6-dev-{}-cross", self.debian()),
            ];
            install(&names.each_ref().map(String::as_str))?;
        }
        self.add_library()
    }

    /// Installs Rust's standard library for it, unless it is there.
    ///
    /// # Errors
    /// It cannot be installed.
    pub fn add_library(self) -> Outcome {
        let mut add = Command::new("rustup");
        step(
            &format!("add Rust's standard library for {}", self.name()),
            add.args(["--quiet", "target", "add"]).arg(self.target()).current_dir(root()),
        )
    }

    /// Lets programs for it run on this machine, by QEMU. Needs root, where it is not so already.
    ///
    /// # Errors
    /// What cannot be installed, or what the system does not permit.
    pub fn prepare_to_run(self) -> Outcome {
        const FORMATS: &str = "/proc/sys/fs/binfmt_misc";
        if self == Machine::here()? {
            return Ok(());
        }
        let emulator = format!("qemu-{}", self.name());
        if !on_path(&format!("{emulator}-static")) || !on_path("arch-test") {
            install(&["qemu-user-static", "arch-test"])?;
        }
        let formats = Path::new(FORMATS);
        if !formats.join("register").exists() {
            step(
                "mount the list of program formats",
                Command::new("mount").args(["-t", "binfmt_misc", "none", FORMATS]),
            )?;
        }
        if !formats.join(&emulator).exists() {
            let format = std::fs::read(format!("/usr/lib/binfmt.d/{emulator}.conf"))?;
            std::fs::write(formats.join("register"), format).map_err(|error| {
                format!("{FORMATS}/register: {error}: programs of {} cannot run here", self.name())
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_known_by_both_names() {
        for machine in Machine::ALL {
            assert_eq!(Machine::named(machine.name()).ok(), Some(machine));
            assert_eq!(Machine::named(machine.debian()).ok(), Some(machine));
        }
        let refused = Machine::named("vax").expect_err("there is none");
        assert_eq!(refused.to_string(), "pelton is not built for 'vax', but for x86_64 and aarch64");
    }
}
