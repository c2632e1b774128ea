//! A diagnosis as a wait-for graph in Graphviz' dot language: an arrow leads from a waiter to what could end
//! its wait.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pelton_record::Diagnosis;
use pelton_record::diagnosis::{Health, Wait, What};

use crate::text;

/// Draws `diagnosis`. Dead processes have a double frame, so that nothing depends on colour.
pub fn render(diagnosis: &Diagnosis) -> String {
    let mut out =
        String::from("digraph waits {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    let dead: BTreeSet<u32> = diagnosis
        .findings
        .iter()
        .filter(|finding| finding.health == Health::Dead)
        .flat_map(|finding| finding.waits.iter().map(|wait| wait.pid))
        .collect();
    for process in &diagnosis.processes {
        let command = text::shorten(&text::printable(&process.command, true), 40, true);
        let label = format!("{} ({})\\n{}", quoted(&process.name), process.pid, quoted(&command));
        let frame = if dead.contains(&process.pid) { ", peripheries=2, color=\"#b00020\"" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  p{} [label=\"{label}\"{frame}];", process.pid);
    }
    for wait in diagnosis.findings.iter().flat_map(|finding| &finding.waits) {
        edges(&mut out, wait);
    }
    out.push_str("}\n");
    out
}

fn edges(out: &mut String, wait: &Wait) {
    let mut ends: Vec<u32> = wait.by.iter().map(|holder| holder.pid).collect();
    ends.sort_unstable();
    ends.dedup();
    for end in ends {
        let _ = writeln!(out, "  p{} -> p{end} [label=\"{}\"];", wait.pid, quoted(&label(wait)));
    }
}

fn label(wait: &Wait) -> String {
    let what = match wait.what {
        What::Data => "input",
        What::Room => "room",
        What::Child => "its end",
        What::Opener => "opening the FIFO",
        What::Lock => "a lock",
        _ => "something",
    };
    match (&wait.object, wait.fd) {
        (Some(object), Some(fd)) => format!("{what}: {fd} is {object}"),
        (Some(object), None) => format!("{what}: {object}"),
        (None, _) => what.into(),
    }
}

/// Escapes a quoted string of dot.
fn quoted(words: &str) -> String {
    text::printable(words, true).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_graph() {
        let text = render(&super::super::samples::diagnosis());
        assert!(text.contains(r#"p10 [label="python3 (10)\npython3 \"x\"^[[31m", peripheries=2"#), "{text}");
        assert!(text.contains(r#"p11 -> p10 [label="room: 1 is pipe:[9]"];"#), "{text}");
        assert!(text.contains(r#"p20 [label="sleep (20)\nsleep \"x\"^[[31m"];"#), "{text}");
    }
}
