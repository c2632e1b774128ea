//! The files of a release, made from the debug binary: installed, tried, removed, and refused where they are damaged.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use workbench::cargo_workspace::{on_path, root, tested_binary};
use workbench::machine::Machine;
use xtask::dist::{Effort, Settings, packages, recipes};

/// Runs the script with nothing in its environment but what it needs, as where a service or a container starts it.
fn install(shell: &[&str], args: &[&str], home: &Path) -> Output {
    install_for(None, shell, args, home)
}

/// Runs the script as [`install`] does, for a user of `login_shell`.
fn install_for(login_shell: Option<&str>, shell: &[&str], args: &[&str], home: &Path) -> Output {
    let script = root().join("install.sh");
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).arg(script).args(args).env_clear().env("HOME", home).env("TMPDIR", home);
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.envs(login_shell.map(|shell| ("SHELL", shell)));
    command.output().expect("a shell")
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<String> {
    let out = Command::new("find").args([".", "-type", "f"]).current_dir(dir).output().expect("find");
    let mut files: Vec<String> = String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect();
    files.sort();
    files
}

/// Makes a release from the debug binary, of the packages that are made here.
fn release(out: &Path, base_url: Option<&str>) -> Vec<PathBuf> {
    // Without what debuggers want, it is a fifth as large.
    let binary = out.with_extension("stripped");
    let stripped =
        Command::new("strip").arg("-o").arg(&binary).arg(tested_binary().expect("a binary")).status();
    assert!(stripped.expect("strip").success());
    let settings = Settings {
        effort: Effort::Least,
        base_url: base_url.map(str::to_owned),
        nfpm: packages::find_nfpm().expect("a target directory"),
    };
    let binaries = [(Machine::here().expect("a known machine"), binary.clone())];
    xtask::dist::make(&binaries, &binary, out, &settings).expect("a release")
}

/// Returns the only file whose name ends so.
fn file<'a>(made: &'a [PathBuf], end: &str) -> &'a Path {
    let found: Vec<&PathBuf> = made.iter().filter(|file| file.to_string_lossy().ends_with(end)).collect();
    assert_eq!(found.len(), 1, "{end}: {made:?}");
    found[0]
}

/// Returns what a shell prints that runs a script with a file as its standard input.
fn shell(script: &str, file: &Path) -> String {
    let input = fs::File::open(file).expect("a file");
    let out = Command::new("sh").args(["-c", script]).stdin(input).output().expect("a shell");
    assert!(out.status.success(), "{script}: {out:?}");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Asserts that a list has lines that end so.
fn has_paths(listed: &str, paths: &[&str]) {
    for path in paths {
        assert!(listed.lines().any(|line| line.ends_with(path)), "{path}:\n{listed}");
    }
}

/// Where all packages have the same files.
const PACKAGED: [&str; 4] = [
    "usr/bin/pelton",
    "usr/share/man/man1/pelton-time.1.gz",
    "usr/share/bash-completion/completions/pelton",
    "usr/share/fish/vendor_completions.d/pelton.fish",
];

/// One test, as a release takes seconds to make.
#[test]
fn a_release_is_reproducible_complete_and_installable() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = dir.path().join("release");
    let made = release(&out, None);
    let again = release(&dir.path().join("again"), Some("https://example.org/pelton/"));
    all_but_recipes_are_the_same(&made, &again);
    packages_have_the_files(&made);
    recipes_name_the_archives_and_the_address(&made, &again);
    the_bill_of_materials_names_every_crate_that_the_binary_mentions(&made);
    an_archive_is_installed_and_removed_without_a_trace(&out, dir.path());
    a_damaged_archive_is_refused(file(&made, ".tar.gz"), dir.path());
}

fn all_but_recipes_are_the_same(made: &[PathBuf], again: &[PathBuf]) {
    let sums = |made: &[PathBuf]| fs::read_to_string(file(made, "SHA256SUMS")).expect("checksums");
    assert_eq!(sums(made).lines().count(), made.len() - 1);
    let sums = |made: &[PathBuf]| -> Vec<String> {
        let sums = sums(made);
        let is_recipe = |line: &&str| ["PKGBUILD", ".rb", ".nix"].iter().any(|end| line.ends_with(end));
        sums.lines().filter(|line| !is_recipe(line)).map(str::to_owned).collect()
    };
    assert_eq!(sums(made), sums(again));
    assert_eq!(sums(made).len(), made.len() - 1 - 3);
}

fn packages_have_the_files(made: &[PathBuf]) {
    let listed = shell("dpkg-deb --contents /dev/stdin", file(made, ".deb"));
    has_paths(&listed, &PACKAGED);
    has_paths(&listed, &["usr/share/zsh/vendor-completions/_pelton", "usr/share/doc/pelton/copyright"]);
    assert!(listed.lines().all(|line| line.contains("root/root")), "{listed}");

    if packages::find_nfpm().expect("a target directory").is_none() {
        return pelton_testkit::skips::skip("nfpm");
    }
    let apk = shell("tar -tz 2>/dev/null", file(made, ".apk"));
    let arch = shell("zstd -dc | tar -t", file(made, ".pkg.tar.zst"));
    for listed in [&apk, &arch] {
        has_paths(listed, &PACKAGED);
        has_paths(listed, &["usr/share/zsh/site-functions/_pelton", "usr/share/licenses/pelton/LICENSE-MIT"]);
    }
    has_paths(&apk, &[".PKGINFO"]);
    has_paths(&arch, &[".PKGINFO", ".MTREE"]);
    rpm_has_the_files(file(made, ".rpm"), &apk);
}

/// Asserts that an .rpm has the same files as another package, and directories of its own that erasing it removes.
fn rpm_has_the_files(rpm: &Path, others: &str) {
    if !["rpm2cpio", "cpio"].into_iter().all(on_path) {
        return pelton_testkit::skips::skip("rpm2cpio and cpio");
    }
    let listed = shell("rpm2cpio - | cpio --list --quiet", rpm);
    let paths: BTreeSet<&str> = listed.lines().map(|line| line.trim_start_matches(['.', '/'])).collect();
    let files = others.lines().filter(|line| line.starts_with("usr/") && !line.ends_with('/'));
    let own_directories = ["usr/share/doc/pelton", "usr/share/licenses/pelton"];
    assert_eq!(paths, files.chain(own_directories).collect());
}

fn recipes_name_the_archives_and_the_address(without: &[PathBuf], with: &[PathBuf]) {
    let archive = file(with, ".tar.gz");
    let name = archive.file_name().expect("a name").to_string_lossy().into_owned();
    let sum = shell("sha256sum", archive);
    let sum = sum.split(' ').next().expect("a checksum");
    for (recipe, has_address) in
        [("PKGBUILD", true), ("pelton.rb", true), ("default.nix", true), ("Containerfile", false)]
    {
        let text = fs::read_to_string(file(with, recipe)).expect("a recipe");
        assert!(text.contains(&name) && text.contains(sum) == has_address, "{text}");
        assert_eq!(text.contains("https://example.org/pelton"), has_address, "{text}");
        assert!(!text.contains(recipes::NO_ADDRESS) && !text.contains("_aarch64@"), "{text}");
        let text = fs::read_to_string(file(without, recipe)).expect("a recipe");
        let marked = text.lines().position(|line| line.contains(recipes::NO_ADDRESS));
        assert_eq!(marked.is_some_and(|line| line < 10), has_address, "near the top: {text}");
    }
    let checked = Command::new("bash").arg("-n").arg(file(with, "PKGBUILD")).status();
    assert!(checked.expect("bash").success());
}

/// Returns the names and versions of the crates whose source files a binary mentions.
fn mentioned_crates(binary: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(binary);
    let paths = text.split("/registry/src/").skip(1).filter_map(|rest| rest.split('/').nth(1));
    let crates = paths.filter(|name| {
        name.contains('-') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte))
    });
    crates.map(str::to_owned).collect()
}

fn the_bill_of_materials_names_every_crate_that_the_binary_mentions(made: &[PathBuf]) {
    let bill = fs::read(file(made, ".cdx.json")).expect("a bill of materials");
    let bill: Value = serde_json::from_slice(&bill).expect("JSON");
    let components = bill["components"].as_array().expect("components");
    let text = |component: &Value, key: &str| component[key].as_str().unwrap_or_default().to_owned();
    let listed: BTreeSet<String> =
        components.iter().map(|one| format!("{}-{}", text(one, "name"), text(one, "version"))).collect();
    assert_eq!(listed.len(), components.len(), "none twice");
    let mentioned = mentioned_crates(&fs::read(tested_binary().expect("a binary")).expect("a binary"));
    assert!(mentioned.len() > 5, "{mentioned:?}");
    assert_eq!(mentioned.difference(&listed).collect::<Vec<_>>(), Vec::<&String>::new());

    let known: BTreeSet<String> = components.iter().map(|one| text(one, "bom-ref")).collect();
    for user in bill["dependencies"].as_array().expect("dependencies") {
        for used in user["dependsOn"].as_array().expect("a list") {
            assert!(known.contains(used.as_str().expect("a reference")), "{used}");
        }
    }
    for one in components {
        let from_a_registry = one["purl"].is_string();
        assert_eq!(one["hashes"][0]["content"].is_string(), from_a_registry, "{one}");
    }
}

fn an_archive_is_installed_and_removed_without_a_trace(out: &Path, dir: &Path) {
    let from = ["--from", out.to_str().expect("a path")];
    for shell in [&["dash"][..], &["bash", "--posix"]] {
        let home = tempfile::tempdir_in(dir).expect("a home");
        let done = install(shell, &from, home.path());
        let said =
            String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.contains("installed pelton"), "{said}");
        let pelton = home.path().join(".local/bin/pelton");
        let ran = Command::new(&pelton)
            .args(["run", "seq 3 | tac"])
            .env("HOME", home.path())
            .output()
            .expect("it runs");
        assert_eq!(ran.stdout, b"3\n2\n1\n");
        assert!(home.path().join(".local/share/man/man1/pelton-time.1").exists());
        // Over itself, for users of other shells.
        for (login_shell, line) in
            [(None, ".bashrc"), (Some("/usr/bin/fish"), "fish_add_path"), (Some("/bin/zsh"), ".zshrc")]
        {
            let done = install_for(login_shell, shell, &from, home.path());
            let said = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success() && said.contains(line), "{login_shell:?}: {said}");
        }
        let _ = fs::remove_dir_all(home.path().join(".cache"));
        assert!(install(shell, &["--uninstall"], home.path()).status.success());
        assert_eq!(files(home.path()), Vec::<String>::new());
        assert!(!home.path().join(".local/share").exists(), "empty directories are removed");
        let none = install(shell, &["--uninstall"], home.path());
        assert!(
            String::from_utf8_lossy(&none.stderr).contains("is not installed in") && !none.status.success()
        );
    }
}

fn a_damaged_archive_is_refused(archive: &Path, dir: &Path) {
    let mut bytes = fs::read(archive).expect("an archive");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(archive, bytes).expect("written");
    let home = tempfile::tempdir_in(dir).expect("a home");
    let from = archive.parent().expect("a directory").to_str().expect("a path");
    let refused = install(&["dash"], &["--from", from], home.path());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the checksum of"), "{refused:?}");
    assert!(!refused.status.success() && files(home.path()).is_empty());
}

#[test]
fn what_cannot_be_installed_is_said() {
    let home = tempfile::tempdir().expect("a home");
    for (args, says) in [
        (&["--from", "/nonexistent"][..], "there is no SHA256SUMS in /nonexistent"),
        (&["--what"], "there is no option --what"),
        (&["--prefix"], "--prefix needs a value"),
    ] {
        let refused = install(&["dash"], args, home.path());
        assert!(String::from_utf8_lossy(&refused.stderr).contains(says), "{args:?}: {refused:?}");
        assert!(!refused.status.success() && files(home.path()).is_empty());
    }
}
