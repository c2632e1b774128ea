//! The programs beside which pelton is put, in fixed versions, installed outside the system where that is possible.
//!
//! ```text
//! TARGET/rivals/bin     what cargo and go build, and a call of Python for each library
//! TARGET/rivals/venv    a virtual environment with the libraries of Python
//! ```

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use workbench::Outcome;
use workbench::cargo_workspace::on_path;
use workbench::setup;
use workbench::steps::step;

/// A crate: the program that it builds, its name, version and features (all of its default ones if empty).
type Crate = (&'static str, &'static str, &'static str, &'static str);

const CRATES: [Crate; 10] = [
    ("rg", "ripgrep", "15.2.0", ""),
    ("hck", "hck", "0.11.6", ""),
    ("choose", "choose", "1.3.7", ""),
    ("huniq", "huniq", "2.7.0", ""),
    ("runiq", "runiq", "2.1.0", ""),
    ("sd", "sd", "1.0.0", ""),
    ("jaq", "jaq", "3.1.2", ""),
    ("coreutils", "coreutils", "0.12.0", "cut sort tac tr uniq wc"),
    ("frawk", "frawk", "0.4.8", "allow_avx2 use_jemalloc"),
    ("xsv", "xsv", "0.13.0", ""),
];

/// Programs in Go: the program, its module, and the version.
const MODULES: [(&str, &str, &str); 1] = [("goawk", "github.com/benhoyt/goawk", "v1.31.0")];

/// Libraries of Python: the name, its version, and a program that runs its first argument.
const LIBRARIES: [(&str, &str, &str); 2] = [
    (
        "duckdb",
        "2.0.1",
        "import duckdb\nfor row in duckdb.execute(sys.argv[1]).fetchall():\n    print(*row)\n",
    ),
    ("polars", "2.1.0", "import polars as pl\nfrom polars import col\nexec(sys.argv[1])\n"),
];

/// Debian packages, and a program of each.
const PACKAGES: [(&str, &str); 6] = [
    ("busybox", "busybox"),
    ("datamash", "datamash"),
    ("jq", "jq"),
    ("mawk", "mawk"),
    ("mlr", "miller"),
    ("parallel", "parallel"),
];

/// Where the programs are.
pub struct Programs {
    bin: PathBuf,
    /// What could not be installed, and why.
    pub missing: Vec<String>,
}

impl Programs {
    /// Installs what is missing. What cannot be installed here is left out of the comparison, and said.
    pub fn install(target: &Path) -> Outcome<Self> {
        let root = target.join("rivals");
        let mut programs = Programs { bin: root.join("bin"), missing: Vec::new() };
        fs::create_dir_all(&programs.bin)?;
        for (program, name, version, features) in CRATES {
            programs.ensure(program, name, |_| build_crate(&root, program, name, version, features));
        }
        for (program, module, version) in MODULES {
            programs.ensure(program, module, |bin| build_module(&root, bin, program, module, version));
        }
        for (name, version, text) in LIBRARIES {
            programs.ensure(name, name, |bin| python_library(&root, bin, name, version, text));
        }
        for (program, package) in PACKAGES.iter().filter(|(program, _)| !on_path(program)) {
            if let Err(why) = setup::install(&[package]) {
                programs.missing.push(format!("{program} ({why})"));
            }
        }
        Ok(programs)
    }

    fn ensure(&mut self, program: &str, name: &str, make: impl FnOnce(&Path) -> Outcome) {
        if self.bin.join(program).exists() {
            return;
        }
        if let Err(why) = make(&self.bin) {
            eprintln!("    {name} is left out: {why}");
            self.missing.push(format!("{name} ({why})"));
        }
    }

    /// Whether this program is there.
    pub fn has(&self, program: &str) -> bool {
        self.bin.join(program).exists() || on_path(program)
    }

    /// Returns a `PATH` on which they come first.
    pub fn path(&self) -> OsString {
        let mut path = self.bin.clone().into_os_string();
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        path
    }
}

fn build_crate(root: &Path, program: &str, name: &str, version: &str, features: &str) -> Outcome {
    let mut cargo = Command::new("cargo");
    cargo.args(["install", "--quiet", "--locked", "--version", &format!("={version}"), "--root"]).arg(root);
    if !features.is_empty() {
        cargo.args(["--no-default-features", "--features", features]);
    }
    // Nothing of it belongs among what the checkout is built into.
    cargo.args(["--bin", program, name]).env_remove("CARGO_TARGET_DIR");
    step(&format!("build {name} {version} (up to some minutes)"), &mut cargo)
}

/// Builds a program in Go from a module of its own that requires it: `go install` asks for more than that version.
fn build_module(root: &Path, bin: &Path, program: &str, module: &str, version: &str) -> Outcome {
    let own = root.join("go").join(program);
    fs::create_dir_all(&own)?;
    fs::write(own.join("go.mod"), format!("module rival\n\nrequire {module} {version}\n"))?;
    let mut go = Command::new("go");
    go.args(["build", "-mod=mod", "-modcacherw", "-o"]).arg(bin.join(program)).arg(module).current_dir(own);
    step(&format!("build {module} {version}"), &mut go)
}

fn python_library(root: &Path, bin: &Path, name: &str, version: &str, text: &str) -> Outcome {
    let venv = root.join("venv");
    if !venv.join("bin/pip").exists() {
        step("make a virtual environment", Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    let mut pip = Command::new(venv.join("bin/pip"));
    step(&format!("install {name} {version}"), pip.args(["install", "-q", &format!("{name}=={version}")]))?;
    let program = bin.join(name);
    fs::write(&program, format!("#!{}/bin/python\nimport sys\n{text}", venv.display()))?;
    Ok(fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?)
}
