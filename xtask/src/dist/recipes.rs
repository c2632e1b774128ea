//! Files from which others package a release: their templates are in the folder `packaging`.

use std::fs;
use std::path::{Path, PathBuf};

use super::write;
use crate::Outcome;
use workbench::cargo_workspace::root;
use workbench::machine::Machine;

/// The templates of recipes.
const RECIPES: [&str; 4] = ["PKGBUILD", "pelton.rb", "default.nix", "Containerfile"];
/// Stands in a recipe where its user must put the address of the release: no host can have this
/// name.
pub const NO_ADDRESS: &str = "https://PUT-THE-ADDRESS-OF-THE-RELEASE-HERE.invalid";

/// The values of a template's placeholders, such as `@VERSION@`.
#[derive(Default)]
pub(super) struct Values(Vec<(String, String)>);

impl Values {
    /// Adds a value.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.push((format!("@{name}@"), value.to_owned()));
    }

    /// Returns a template with its placeholders replaced. A paragraph for a machine that the
    /// release is not built for, which has placeholders such as `@SHA256_aarch64@`, is left out.
    ///
    /// # Errors
    /// If the template cannot be read, or has a placeholder without a value.
    pub fn fill(&self, template: &str) -> Outcome<String> {
        let text = fs::read_to_string(root().join("packaging").join(template))?;
        let replaced = self.0.iter().fold(text, |text, (name, value)| text.replace(name, value));
        let is_absent =
            |text: &str| Machine::ALL.iter().any(|machine| text.contains(&format!("_{}@", machine.name())));
        let paragraphs: Vec<&str> = replaced.split("\n\n").filter(|text| !is_absent(text)).collect();
        let filled = paragraphs.join("\n\n");
        match placeholder(&filled) {
            None => Ok(filled),
            Some(name) => Err(format!("packaging/{template}: @{name}@ has no value").into()),
        }
    }
}

/// Returns the first placeholder's name.
fn placeholder(text: &str) -> Option<&str> {
    let is_name =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    // What stands before the first @ and after the last is not between two.
    let parts: Vec<&str> = text.split('@').collect();
    parts.get(1..parts.len().saturating_sub(1))?.iter().copied().find(is_name)
}

/// Writes the recipes, and returns their paths.
///
/// # Errors
/// As [`Values::fill`], or if they cannot be written.
pub(super) fn make(values: &Values, out: &Path) -> Outcome<Vec<PathBuf>> {
    let mut made = Vec::new();
    for recipe in RECIPES {
        let file = out.join(recipe);
        write(&file, &values.fill(recipe)?)?;
        made.push(file);
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::{Values, placeholder};

    #[test]
    fn placeholders_are_found() {
        assert_eq!(placeholder("a @VERSION@ b"), Some("VERSION"));
        assert_eq!(placeholder("someone@localhost, another@localhost"), None);
        let refused = Values::default().fill("nfpm.yaml").expect_err("no values");
        assert_eq!(refused.to_string(), "packaging/nfpm.yaml: @VERSION@ has no value");
    }

    #[test]
    fn paragraphs_for_other_machines_are_left_out() {
        let mut values = Values::default();
        for name in ["VERSION", "BASE_URL", "MACHINES", "ARCHIVE_x86_64", "SHA256_x86_64"] {
            values.set(name, "value");
        }
        let filled = values.fill("PKGBUILD").expect("a recipe");
        assert!(filled.contains("sha256sums_x86_64=('value')") && !filled.contains("aarch64"), "{filled}");
    }
}
