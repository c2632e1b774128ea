//! This workspace keeps the import law.

use xtask::law;

#[test]
fn this_workspace_keeps_the_law() {
    law::run().unwrap_or_else(|violations| panic!("\n  {violations}\n"));
}

#[test]
fn the_law_looks_at_all_of_it() {
    let crates = law::crates().unwrap();
    for name in ["record", "sys", "cli", "testkit", "xtask"] {
        let one = crates.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("no {name}"));
        assert!(!one.sources.is_empty(), "{name} has no sources");
    }
    assert!(
        crates.iter().any(|one| one.name == "cli" && one.imports.iter().any(|import| import.name == "run"))
    );
}
