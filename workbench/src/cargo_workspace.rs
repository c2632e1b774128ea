//! Paths of the workspace, and calls of cargo.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Outcome;
use crate::machine::Machine;

/// Returns the root of the checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Returns a call of cargo in the root of the checkout.
pub fn cargo<const N: usize>(args: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// Returns what `cargo metadata` says about the workspace's own crates.
pub fn metadata() -> Outcome<Value> {
    let out = cargo(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .stderr(Stdio::inherit())
        .output()?;
    if !out.status.success() {
        return Err("cargo metadata failed".into());
    }
    Ok(serde_json::from_slice(&out.stdout)?)
}

/// Returns cargo's target directory, which also holds our data.
pub fn target_dir() -> Outcome<PathBuf> {
    let metadata = metadata()?;
    let dir = metadata["target_directory"].as_str().ok_or("cargo metadata names no target directory")?;
    Ok(PathBuf::from(dir))
}

/// Returns the release binary, built if outdated. It is linked statically, at a fixed address: the dynamic
/// loader would take over half of the instructions of a call over very little data, and 0.1 seconds per
/// thousand starts.
pub fn release_binary() -> Outcome<PathBuf> {
    release_binary_for(Machine::here()?)
}

/// Returns the same binary for a kind of machine.
pub fn release_binary_for(machine: Machine) -> Outcome<PathBuf> {
    machine.prepare_to_build()?;
    release_binary_with(machine, &[])
}

/// Returns the same binary, and writes the linker's map of it to `map`.
pub fn release_binary_mapped(map: &Path) -> Outcome<PathBuf> {
    release_binary_with(Machine::here()?, &[format!("-Clink-arg=-Wl,-Map,{}", map.display())])
}

/// Uses `--target`: else build scripts and procedural macros, which cannot be static, would get these flags.
fn release_binary_with(machine: Machine, more: &[String]) -> Outcome<PathBuf> {
    let mut build = cargo(["rustc", "--quiet", "--release", "-p", "pelton", "--bin", "pelton"]);
    build.args(static_options_with(machine, &remapped_paths()?)?).arg("--");
    crate::steps::step(&format!("build pelton for {} (release)", machine.name()), build.args(more))?;
    Ok(target_dir()?.join(machine.target()).join("release/pelton"))
}

/// Returns a debug binary, linked as the tests are (statically or not): after cargo test it is already there.
pub fn tested_binary() -> Outcome<PathBuf> {
    let mut build = cargo(["build", "--quiet", "--locked", "--workspace", "--bin", "pelton"]);
    let mut dir = target_dir()?;
    if cfg!(target_feature = "crt-static") {
        build.args(static_options()?);
        dir.push(Machine::here()?.target());
    }
    crate::steps::step("build pelton", &mut build)?;
    Ok(dir.join("debug/pelton"))
}

/// A program that holds tests.
pub struct TestProgram {
    /// The name of its file or crate, without suffix.
    pub name: String,
    /// Its source file, from the root of the checkout.
    pub source: PathBuf,
    /// Where cargo put it.
    pub executable: PathBuf,
    /// The directory of its package, in which it runs.
    pub directory: PathBuf,
}

/// Builds the test programs that these options of `cargo test` choose.
///
/// # Errors
/// If one cannot be built.
pub fn build_tests<'o>(options: impl IntoIterator<Item = &'o str>) -> Outcome<Vec<TestProgram>> {
    let mut build = cargo(["test", "--quiet", "--no-run", "--message-format", "json-render-diagnostics"]);
    let mut child = build.args(options).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let messages = child.stdout.take().ok_or("no pipe from cargo")?;
    let mut programs = Vec::new();
    for message in serde_json::Deserializer::from_reader(BufReader::new(messages)).into_iter::<Value>() {
        programs.extend(test_program(&message?));
    }
    if !child.wait()?.success() {
        return Err("the tests cannot be built".into());
    }
    Ok(programs)
}

/// Returns the test program that a message of cargo's reports.
fn test_program(message: &Value) -> Option<TestProgram> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let executable = text(&message["executable"]).filter(|_| message["profile"]["test"] == true)?;
    let mut directory = PathBuf::from(text(&message["manifest_path"])?);
    directory.pop();
    let source = PathBuf::from(text(&message["target"]["src_path"])?);
    Some(TestProgram {
        name: text(&message["target"]["name"])?,
        source: source.strip_prefix(root()).unwrap_or(&source).to_owned(),
        executable: executable.into(),
        directory,
    })
}

/// Builds a test with these options of cargo. Returns where cargo put its executable, and the directory of its package.
pub fn test_executable(package: &str, test: &str, options: &[&str]) -> Outcome<(PathBuf, PathBuf)> {
    let chosen = ["-p", package, "--test", test];
    let mut programs = build_tests(chosen.into_iter().chain(options.iter().copied()))?.into_iter();
    let found = programs.find(|program| program.name == test);
    let TestProgram { executable, directory, .. } =
        found.ok_or_else(|| format!("cargo names no executable of {test}"))?;
    Ok((executable, directory))
}

/// Returns the cargo options that link as the release binary is linked.
pub fn static_options() -> Outcome<Vec<String>> {
    static_options_for(Machine::here()?)
}

/// Returns the same for a kind of machine.
pub fn static_options_for(machine: Machine) -> Outcome<Vec<String>> {
    static_options_with(machine, &[])
}

/// Returns the same, with more flags of rustc.
fn static_options_with(machine: Machine, more: &[String]) -> Outcome<Vec<String>> {
    let target = machine.target();
    let flags = ["-C", "target-feature=+crt-static", "-C", "relocation-model=static"].map(str::to_owned);
    let flags = serde_json::to_string(&[&flags[..], more].concat())?;
    let mut settings: Vec<String> =
        ["rustflags", "rustdocflags"].map(|kind| format!("target.{target}.{kind} = {flags}")).to_vec();
    settings.extend(machine.linker()?.map(|linker| format!("target.{target}.linker = {linker:?}")));
    let settings = settings.into_iter().flat_map(|setting| ["--config".to_owned(), setting]);
    Ok(["--target".to_owned(), target].into_iter().chain(settings).collect())
}

/// Returns flags that keep the paths of this machine out of a binary: built elsewhere it is the same.
fn remapped_paths() -> Outcome<Vec<String>> {
    let home = || std::env::home_dir().map(|home| home.join(".cargo"));
    let cargo_home =
        std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home).ok_or("no home directory")?;
    let places = [(cargo_home.as_path(), "/cargo"), (root(), "/pelton")];
    Ok(places.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).to_vec())
}

/// Whether a program is on the PATH.
pub fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
