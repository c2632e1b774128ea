//! A bill of materials, as CycloneDX JSON: the crates that are linked into a binary, Rust's
//! standard library and the C library.
//!
//! It has no serial number, which would be random, and its time is the commit's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{output, utc_date};
use crate::Outcome;
use workbench::Failure;
use workbench::cargo_workspace::{cargo, root};
use workbench::machine::Machine;

/// A crate, as `cargo tree` describes it.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Crate {
    name: String,
    version: String,
    /// Its licences, in the words of its manifest.
    licence: String,
    /// Whether it belongs to the workspace.
    is_own: bool,
}

impl Crate {
    /// Parses `name vVERSION (PATH)\tLICENCE`.
    fn parse(line: &str) -> Option<Crate> {
        let (package, licence) = line.split_once('\t')?;
        let mut words = package.split(' ');
        let name = words.next()?.to_owned();
        let version = words.next()?.strip_prefix('v')?.to_owned();
        let is_own = words.next().is_some_and(|word| word.starts_with("(/"));
        let licence = licence.trim_end_matches(" (*)").replace('/', " OR ");
        Some(Crate { name, version, licence: licence.replace("  OR  ", " OR "), is_own })
    }

    /// Returns the name of it that no other component has.
    fn reference(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    fn component(&self, checksums: &BTreeMap<String, String>) -> Value {
        let mut component = json!({
            "type": "library",
            "bom-ref": self.reference(),
            "name": self.name,
            "version": self.version,
            "licenses": [{ "expression": self.licence }],
        });
        if !self.is_own {
            component["purl"] = json!(format!("pkg:cargo/{}", self.reference()));
        }
        if let Some(sum) = checksums.get(&self.reference()) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    }
}

/// The crates that are linked into pelton, and which uses which.
struct Crates {
    all: BTreeSet<Crate>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Crates {
    /// Asks cargo. Procedural macros and build scripts are not linked.
    fn of(machine: Machine) -> Outcome<Crates> {
        let mut tree = cargo(["tree", "--package", "pelton", "--edges", "normal,no-proc-macro"]);
        tree.args(["--prefix", "depth", "--format", "\t{p}\t{l}", "--offline", "--locked"]);
        Crates::parse(&output(tree.args(["--target", &machine.target()]))?)
    }

    /// Parses lines of a depth and a crate: it is used by the crate above it that is one less deep.
    fn parse(tree: &str) -> Outcome<Crates> {
        let mut crates = Crates { all: BTreeSet::new(), uses: BTreeMap::new() };
        let mut above: Vec<String> = Vec::new();
        for line in tree.lines() {
            let cannot = || -> Failure { format!("cargo tree says '{line}'").into() };
            let (depth, rest) = line.split_once('\t').ok_or_else(cannot)?;
            let found = Crate::parse(rest).ok_or_else(cannot)?;
            above.truncate(depth.parse()?);
            if let Some(user) = above.last() {
                crates.uses.entry(user.clone()).or_default().insert(found.reference());
            }
            above.push(found.reference());
            crates.uses.entry(found.reference()).or_default();
            crates.all.insert(found);
        }
        Ok(crates)
    }
}

/// Returns the bill of materials of a binary with this SHA-256. `time`: in seconds since 1970.
///
/// # Errors
/// If cargo, rustc or the C compiler does not answer.
pub(super) fn make(machine: Machine, version: &str, sum: &str, time: &str) -> Outcome<String> {
    let crates = Crates::of(machine)?;
    let checksums = checksums(&fs::read_to_string(root().join("Cargo.lock"))?);
    let (binary, libraries): (Vec<&Crate>, Vec<&Crate>) =
        crates.all.iter().partition(|one| one.name == "pelton");
    let binary = binary.first().ok_or("cargo tree does not name pelton")?;
    let mut components: Vec<Value> = libraries.iter().map(|one| one.component(&checksums)).collect();
    components.extend([standard_library()?, c_library(machine)?]);
    let dependencies: Vec<Value> =
        crates.uses.iter().map(|(user, uses)| json!({ "ref": user, "dependsOn": uses })).collect();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": utc_date(time, "%FT%TZ")?,
            "component": {
                "type": "application",
                "bom-ref": binary.reference(),
                "name": "pelton",
                "version": version,
                "licenses": [{ "expression": binary.licence }],
                "hashes": [{ "alg": "SHA-256", "content": sum }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
}

/// Returns the checksums in a Cargo.lock, by name and version.
fn checksums(lock: &str) -> BTreeMap<String, String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let blocks = lock.split("[[package]]").filter_map(|block| {
        let reference = format!("{}@{}", value(block, "name")?, value(block, "version")?);
        Some((reference, value(block, "checksum")?))
    });
    blocks.collect()
}

fn standard_library() -> Outcome<Value> {
    let said = output(Command::new("rustc").arg("-vV").current_dir(root()))?;
    let version = said.lines().find_map(|line| line.strip_prefix("release: "));
    let version = version.ok_or("rustc -vV names no release")?;
    Ok(platform_library("rust-std", version, "MIT OR Apache-2.0", "rust-lang:rust"))
}

/// Describes glibc, which is linked statically: in the version for which the C compiler compiles.
fn c_library(machine: Machine) -> Outcome<Value> {
    let compiler = machine.linker()?.unwrap_or_else(|| "cc".to_owned());
    let mut compile = Command::new(compiler);
    let said = output(compile.args(["-E", "-dM", "-x", "c", "-include", "features.h", "/dev/null"]))?;
    let number = |name: &str| {
        let found = said.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")));
        found.ok_or_else(|| -> Failure { format!("the C compiler does not define {name}").into() })
    };
    let version = format!("{}.{}", number("__GLIBC__")?, number("__GLIBC_MINOR__")?);
    Ok(platform_library("glibc", &version, "LGPL-2.1-or-later", "gnu:glibc"))
}

/// Describes a library that is not a crate. `product`: vendor and product, by which databases of
/// security holes know it.
fn platform_library(name: &str, version: &str, licence: &str, product: &str) -> Value {
    json!({
        "type": "library",
        "bom-ref": format!("{name}@{version}"),
        "name": name,
        "version": version,
        "licenses": [{ "expression": licence }],
        "cpe": format!("cpe:2.3:a:{product}:{version}:*:*:*:*:*:*:*"),
    })
}

#[cfg(test)]
mod tests {
    use super::{Crates, checksums};

    #[test]
    fn trees_are_read() {
        let tree = "0\tpelton v0.1.0 (/w/cli)\tMIT\n1\ta v1.0.0\tMIT/Apache-2.0\n2\tb v2.0.0\tMIT\n1\tb v2.0.0\tMIT (*)\n";
        let crates = Crates::parse(tree).expect("a tree");
        let names: Vec<(&str, &str)> =
            crates.all.iter().map(|one| (one.name.as_str(), one.licence.as_str())).collect();
        assert_eq!(names, [("a", "MIT OR Apache-2.0"), ("b", "MIT"), ("pelton", "MIT")]);
        let uses: Vec<&String> = crates.uses["pelton@0.1.0"].iter().collect();
        assert_eq!(uses, ["a@1.0.0", "b@2.0.0"]);
        assert!(Crates::parse("what\n").is_err());
    }

    #[test]
    fn checksums_are_read() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"0f\"\n\n[[package]]\nname = \"b\"\nversion = \"2\"\n";
        let read = checksums(lock);
        assert_eq!((read.len(), read["a@1.0.0"].as_str()), (1, "0f"));
    }
}
