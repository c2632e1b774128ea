//! `cargo xtask python`: builds the wheel, and tests it with every Python that is found here.
//!
//! Every step uses a virtual environment in the target directory, and tools at the versions of the
//! lock files in `python/requirements`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lexopt::prelude::*;

use crate::{Outcome, setup};
use workbench::cargo_workspace::{release_binary_for, root, target_dir};
use workbench::machine::Machine;
use workbench::steps::{all, step, timed};

/// What every step runs without: it would change what is imported, or which binary is tested.
const CLEARED: [&str; 4] = ["PYTHONPATH", "PYTHONHOME", "PELTON_BINARY", "VIRTUAL_ENV"];
/// Prints the version, `3.13` or `3.13t`, if it is one that the wheel is for.
const VERSION: &str = "import sys, sysconfig
free = 't' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''
print('%d.%d%s' % (*sys.version_info[:2], free) if sys.version_info >= (3, 9) else '')";
/// Builds the wheel into the directory of its argument, and prints its name.
const BUILD: &str = "import sys, build_backend
print(build_backend.build_wheel(sys.argv[1]))";
/// Runs in an environment that has nothing but the wheel.
const SMOKE: &str = "import pelton
assert pelton.run('seq 3 | sort -rn', text=True).stdout == '3\\n2\\n1\\n'
print('    imported from', pelton.__file__)";

/// The longest that the tests of one Python may take, in seconds.
const LIMIT: &str = "900";
/// The rounds of each random test: `cargo xtask test` makes fewer.
const ROUNDS: (&str, &str) = ("PELTON_ROUNDS", "100");

/// Options of `cargo xtask python`.
#[derive(Debug, Default)]
pub struct Options {
    /// Builds the wheels, and tests nothing.
    wheels_only: bool,
    /// Tests as little as `cargo xtask test` does.
    quick: bool,
    /// For which machines wheels are built; this one if there are none.
    machines: Vec<Machine>,
    /// A binary for this machine that is there already, instead of one that is built.
    binary: Option<PathBuf>,
    /// Which Pythons, as `3.13` or `3.13t`; every one if there are none.
    versions: Vec<String>,
}

impl Options {
    /// Parses the arguments.
    ///
    /// # Errors
    /// For unknown arguments.
    pub fn parse(mut args: lexopt::Parser) -> Outcome<Options> {
        let mut options = Options::default();
        while let Some(arg) = args.next()? {
            match arg {
                Long("wheels") => options.wheels_only = true,
                Long("quick") => options.quick = true,
                Long("machine") => match args.value()?.string()?.as_str() {
                    "all" => options.machines.extend(Machine::ALL),
                    name => options.machines.push(Machine::named(name)?),
                },
                Long("binary") => options.binary = Some(fs::canonicalize(args.value()?)?),
                Long("only") => {
                    options.versions.extend(args.value()?.string()?.split(',').map(str::to_owned))
                }
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(options)
    }
}

/// Builds the wheels and tests the one for this machine: with every Python in the PATH and of pyenv,
/// types, and an environment made from nothing but the wheel.
///
/// # Errors
/// If something cannot be built, or a test fails.
pub fn run(options: &Options) -> Outcome {
    let here = Machine::here()?;
    if options.quick {
        return quick(&options.binary.clone().map_or_else(|| release_binary_for(here), Ok)?, &[]);
    }
    let dir = target_dir()?.join("python");
    let wheels = dir.join("wheels");
    recreate(&wheels)?;
    let mut machines = options.machines.clone();
    if machines.is_empty() || (!options.wheels_only && !machines.contains(&here)) {
        machines.push(here);
    }
    let mut wheel = None;
    for machine in machines {
        let binary = match &options.binary {
            Some(binary) if machine == here => binary.clone(),
            _ => release_binary_for(machine)?,
        };
        let built = build_wheel(&binary, &wheels)?;
        println!("{}", built.display());
        if machine == here {
            wheel = Some(built);
        }
    }
    let Some(wheel) = wheel.filter(|_| !options.wheels_only) else { return Ok(()) };
    let mut pythons = pythons()?;
    if !options.versions.is_empty() {
        pythons.retain(|python| options.versions.contains(&python.version));
    }
    if pythons.is_empty() {
        return Err("no Python 3.9 or later was found, in the PATH or of pyenv".into());
    }
    let mut outcomes = Vec::new();
    for python in &pythons {
        outcomes.push(smoke_test(python, &wheel, &dir));
        outcomes.push(test_with(python, &wheel, &dir, Lock::Test, &[ROUNDS]));
    }
    let has_tools = |python: &&Python| TYPED.contains(&python.version.as_str());
    if let Some(python) = pythons.iter().rfind(has_tools) {
        outcomes.push(with_all_tools(python, &wheel, &dir));
    } else {
        println!("SKIPPED: types, frames and notebooks, which need Python {}", TYPED.join(" or "));
    }
    all(outcomes)
}

/// Versions for which each tool of the full lock file has a wheel.
const TYPED: [&str; 3] = ["3.11", "3.12", "3.13"];

/// Tests the package in short: with the `python3` in the PATH, this binary, and these variables.
///
/// # Errors
/// If a test fails.
pub fn quick(binary: &Path, environment: &[(&str, &str)]) -> Outcome {
    ensure_venv()?;
    let dir = target_dir()?.join("python");
    let wheels = dir.join("quick-wheels");
    recreate(&wheels)?;
    let wheel = build_wheel(binary, &wheels)?;
    let program = PathBuf::from("python3");
    let version = version(&program)?.ok_or("the `python3` in the PATH is older than 3.9")?;
    test_with(&Python { program, version }, &wheel, &dir, Lock::Test, environment)
}

/// Installs Debian's package of what `python3 -m venv` needs, where that is missing.
fn ensure_venv() -> Outcome {
    let mut asked = python(Path::new("python3"), ["-c", "import ensurepip, venv"]);
    if asked.stderr(Stdio::null()).status()?.success() { Ok(()) } else { setup::install(&["python3-venv"]) }
}

/// A lock file in `python/requirements`.
#[derive(Clone, Copy)]
enum Lock {
    /// What runs the tests.
    Test,
    /// Also type checkers, data frames and notebooks.
    Full,
}

impl Lock {
    fn name(self) -> &'static str {
        match self {
            Lock::Test => "test",
            Lock::Full => "full",
        }
    }
}

struct Python {
    program: PathBuf,
    /// As `3.13`, or `3.13t` if it is free-threaded.
    version: String,
}

/// Returns every Python from 3.9 on in the PATH and of pyenv: one of each version, in their order.
fn pythons() -> Outcome<Vec<Python>> {
    let mut programs: Vec<PathBuf> = vec!["python3".into()];
    for minor in 9..=15 {
        programs.extend([format!("python3.{minor}").into(), format!("python3.{minor}t").into()]);
    }
    if let Some(home) = std::env::var_os("HOME")
        && let Ok(versions) = fs::read_dir(Path::new(&home).join(".pyenv/versions"))
    {
        let mut found: Vec<PathBuf> =
            versions.flatten().map(|entry| entry.path().join("bin/python")).collect();
        found.sort();
        programs.extend(found);
    }
    let mut pythons: Vec<Python> = Vec::new();
    for program in programs {
        // Not an error: most of these names are not there.
        let Ok(Some(version)) = version(&program) else { continue };
        if !pythons.iter().any(|python| python.version == version) {
            pythons.push(Python { program, version });
        }
    }
    pythons.sort_by_key(|python| {
        let minor =
            python.version.trim_end_matches('t').rsplit('.').next().and_then(|text| text.parse().ok());
        (minor.unwrap_or(0_u32), python.version.ends_with('t'))
    });
    Ok(pythons)
}

/// Returns the version of a Python; `None` of one that is too old.
fn version(program: &Path) -> Outcome<Option<String>> {
    let said = python(program, ["-c", VERSION]).stderr(Stdio::null()).output()?;
    let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    Ok(Some(version).filter(|version| said.status.success() && !version.is_empty()))
}

/// Returns a call of Python, or of a program that starts it, in the directory of the package.
fn python<const N: usize>(program: &Path, args: [&str; N]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root().join("python")).stdin(Stdio::null());
    for name in CLEARED {
        command.env_remove(name);
    }
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    command
}

/// Builds the wheel around a binary, and returns its path.
fn build_wheel(binary: &Path, wheels: &Path) -> Outcome<PathBuf> {
    timed("build the wheel", || {
        let mut build = python(Path::new("python3"), ["-c", BUILD]);
        let built = build.arg(wheels).env("PELTON_WHEEL_BINARY", binary).stderr(Stdio::inherit()).output()?;
        if !built.status.success() {
            return Err(format!("python/build_backend.py failed ({})", built.status).into());
        }
        Ok(wheels.join(String::from_utf8(built.stdout)?.trim()))
    })
}

/// Makes a virtual environment, with the tools of a lock file and the wheel, and returns its Python.
fn virtual_environment(python_of: &Python, wheel: &Path, dir: &Path, lock: Option<Lock>) -> Outcome<PathBuf> {
    let name = lock.map_or("wheel-only", Lock::name);
    let place = dir.join(format!("{name}-{}", python_of.version));
    let program = place.join("bin/python");
    timed(&format!("an environment of Python {} ({name})", python_of.version), || {
        match lock {
            None => venv(&python_of.program, &place)?,
            Some(lock) => tools(&python_of.program, &place, lock)?,
        }
        let install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall"];
        run_quietly(python(&program, install).arg(wheel))
    })?;
    Ok(program)
}

fn venv(base: &Path, place: &Path) -> Outcome {
    recreate(place)?;
    run_quietly(python(base, ["-m", "venv"]).arg(place))
}

/// Makes a virtual environment with the tools of a lock file, unless it is there.
fn tools(base: &Path, place: &Path, lock: Lock) -> Outcome {
    let file = format!("requirements/{}.txt", lock.name());
    let locked = fs::read_to_string(root().join("python").join(&file))?;
    // Says what is installed, once that is complete.
    let stamp = place.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == locked) {
        return Ok(());
    }
    venv(base, place)?;
    let install = ["-m", "pip", "install", "--quiet", "--require-hashes", "--requirement", &file];
    run_quietly(&mut python(&place.join("bin/python"), install))?;
    Ok(fs::write(&stamp, &locked)?)
}

/// Runs a pipeline in an environment that has nothing but the wheel.
fn smoke_test(python_of: &Python, wheel: &Path, dir: &Path) -> Outcome {
    let program = virtual_environment(python_of, wheel, dir, None)?;
    let mut smoke = python(&program, ["-c", SMOKE]);
    step(&format!("Python {}, with nothing but the wheel", python_of.version), &mut smoke)
}

/// Runs the tests and the doctests of the installed package with one Python.
fn test_with(
    python_of: &Python,
    wheel: &Path,
    dir: &Path,
    lock: Lock,
    environment: &[(&str, &str)],
) -> Outcome {
    let program = virtual_environment(python_of, wheel, dir, Some(lock))?;
    // A test that hangs must not hang everything: this package is about that.
    let mut test = python(Path::new("timeout"), ["--kill-after=10", LIMIT]);
    test.arg(&program).args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-n", "4"]);
    test.args(["-o", "faulthandler_timeout=120", "tests", "--pyargs", "pelton"]);
    test.envs(environment.iter().copied());
    step(&format!("tests of the package, Python {}", python_of.version), &mut test)
}

/// Runs the tests with every tool there, and the type checkers.
fn with_all_tools(python_of: &Python, wheel: &Path, dir: &Path) -> Outcome {
    test_with(python_of, wheel, dir, Lock::Full, &[])?;
    let program = virtual_environment(python_of, wheel, dir, Some(Lock::Full))?;
    let mypy = ["-m", "mypy", "--cache-dir", "/dev/null"];
    let strict = ["-m", "mypy", "--cache-dir", "/dev/null", "--strict", "tests/typing"];
    all([
        step("mypy --strict", &mut python(&program, mypy)),
        step("mypy --strict, of the public names", &mut python(&program, strict)),
        step("pyright", python(&program, ["-m", "basedpyright"]).args(["--level", "error"])),
    ])
}

fn recreate(dir: &Path) -> Outcome {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    Ok(fs::create_dir_all(dir)?)
}

/// Runs a program, and shows what it says only if it fails.
fn run_quietly(command: &mut Command) -> Outcome {
    let done = command.output()?;
    if done.status.success() {
        return Ok(());
    }
    let said = [done.stdout, done.stderr].concat();
    Err(format!("{command:?} failed ({})\n{}", done.status, String::from_utf8_lossy(&said)).into())
}
