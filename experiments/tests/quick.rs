//! The quick form of the experiments: whatever does not depend on the machine must be as expected. Times are in the report
//! only.

use std::fs;
use std::path::PathBuf;

use pelton_experiments::{Options, all, run};
use serde_json::Value;
use workbench::cargo_workspace::tested_binary;

/// All that the requirements list.
const IDS: [&str; 26] = [
    "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", "P14", "F1", "F2",
    "F3", "F4", "B1", "B2", "B3", "T1", "T2", "C1", "C2", "C3",
];

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is in the way of nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_report_has_every_id_of_the_requirements() {
    assert_eq!(all().map(|one| one.id).collect::<Vec<_>>(), IDS);
}

#[test]
fn what_does_not_depend_on_the_machine_is_as_expected() {
    let scratch =
        Scratch(std::env::temp_dir().join(format!("pelton-experiments-test-{}", std::process::id())));
    let pelton = tested_binary().unwrap();
    let options =
        Options { quick: true, pelton: Some(pelton), results: Some(scratch.0.clone()), ..Options::default() };
    run(&options).unwrap();
    let mut wrong = Vec::new();
    for id in IDS {
        let record = fs::read(scratch.0.join("results").join(id).with_extension("json")).unwrap();
        let record: Value = serde_json::from_slice(&record).unwrap();
        assert_eq!((&record["id"], &record["form"]), (&id.into(), &"quick".into()));
        let exact = record["shapes"].as_array().unwrap().iter().filter(|shape| shape["exact"] == true);
        for shape in exact {
            match shape["held"].as_bool() {
                Some(true) => {}
                Some(false) => wrong.push(format!("{id}: {shape}")),
                None => assert!(shape["reason"].as_str().is_some_and(|why| !why.is_empty()), "{id}: {shape}"),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let (markdown, html) = (scratch.0.join("report.md"), scratch.0.join("report.html"));
    let (markdown, html) = (fs::read_to_string(markdown).unwrap(), fs::read_to_string(html).unwrap());
    for id in IDS {
        assert!(
            markdown.contains(&format!("\n### {id}: ")) && html.contains(&format!("<section id=\"{id}\">")),
            "{id}"
        );
    }
    assert!(
        html.contains("<svg") && !html.contains("src=") && !html.contains("http"),
        "the page needs nothing else"
    );
}
