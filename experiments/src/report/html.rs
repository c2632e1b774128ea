//! The report as one self-contained page: tables, pictures, pelton's output.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::escape::escaped;
use super::{Entry, figure_words, group, items, machine, plots, score, score_words, text, verdict};

const STYLE: &str = include_str!("style.css");

/// Returns the whole page.
pub fn page(entries: &[Entry]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>pelton: the experiments</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>The experiments</h1>\n\
         <p>Published measurements of shell pipelines, tree walks, pipe buffers, threads and copies, made again by pelton on one machine: \
         what was published, what the shell (or the original’s language) gives here, what pelton gives, and whether the shape held. \
         Seconds are the machine’s. What is compared are ratios: medians of runs that took turns, with the least and the most of them.</p>\n"
    );
    if let Some(record) = entries.iter().find_map(|(_, record)| record.as_ref()) {
        let _ = writeln!(out, "<p class=\"machine\">{}</p>", escaped(&machine(record)));
    }
    out.push_str("</header>\n");
    summary(entries, &mut out);
    let mut last = "";
    for (experiment, record) in entries {
        if group(experiment.id) != last {
            last = group(experiment.id);
            let _ = writeln!(out, "<h2>{last}</h2>");
        }
        let _ = writeln!(
            out,
            "<section id=\"{0}\">\n<h3><a href=\"#{0}\">{0}: {1}</a></h3>",
            experiment.id,
            escaped(experiment.title)
        );
        match record {
            Some(record) => section(record, &mut out),
            None => out.push_str("<p>This experiment was not run here.</p>\n"),
        }
        out.push_str("</section>\n");
    }
    out.push_str("<footer>Again: <code>cargo xtask experiments</code>. Raw samples lie beside this page, in <code>results/</code>.</footer>\n</body>\n</html>\n");
    out
}

/// Adds a tile for each experiment, as an overview.
fn summary(entries: &[Entry], out: &mut String) {
    out.push_str("<nav>\n");
    for (experiment, record) in entries {
        let class = match record.as_ref().map(score) {
            None => "none",
            Some((held, of, open)) if held + open == of => "held",
            Some(_) => "part",
        };
        let _ = writeln!(
            out,
            "<a class=\"{class}\" href=\"#{0}\"><b>{0}</b> {1}<small>{2}</small></a>",
            experiment.id,
            escaped(experiment.title),
            score_words(record)
        );
    }
    out.push_str("</nav>\n");
}

fn section(record: &Json, out: &mut String) {
    let _ = writeln!(
        out,
        "<p><span class=\"label\">Published</span> {}</p>",
        sentence(text(record, "published"))
    );
    rows(record, out);
    for plot in items(record, "plots") {
        let _ = writeln!(
            out,
            "<figure>\n<figcaption>{}</figcaption>\n{}</figure>",
            escaped(text(plot, "title")),
            plots::svg(plot)
        );
    }
    shapes(record, out);
    for note in items(record, "notes") {
        let _ = writeln!(out, "<p>{}</p>", sentence(note.as_str().unwrap_or_default()));
    }
    if !items(record, "missing").is_empty() {
        let names: Vec<&str> = items(record, "missing").iter().filter_map(Json::as_str).collect();
        let _ = writeln!(out, "<p>Not installed: {}.</p>", escaped(&names.join(", ")));
    }
    for shown in items(record, "shown") {
        let _ = writeln!(
            out,
            "<details><summary><code>{}</code></summary><pre>{}</pre></details>",
            escaped(text(shown, "command")),
            escaped(text(shown, "text"))
        );
    }
    let _ = writeln!(
        out,
        "<p class=\"lesson\"><span class=\"label\">Lesson</span> {}</p>",
        sentence(text(record, "lesson"))
    );
    let _ = writeln!(
        out,
        "<p class=\"machine\">{} form, {} s; {}</p>",
        text(record, "form"),
        record["took_s"],
        escaped(&machine(record))
    );
}

fn rows(record: &Json, out: &mut String) {
    if items(record, "rows").is_empty() {
        return;
    }
    out.push_str("<div class=\"wide\"><table><thead><tr><th></th><th>published</th><th>the shell here</th><th>pelton here</th></tr></thead><tbody>\n");
    for row in items(record, "rows") {
        let cells =
            ["published", "shell", "pelton"].map(|key| format!("<td>{}</td>", escaped(text(row, key))));
        let _ = writeln!(out, "<tr><th>{}</th>{}</tr>", sentence(text(row, "what")), cells.concat());
    }
    out.push_str("</tbody></table></div>\n");
}

fn shapes(record: &Json, out: &mut String) {
    out.push_str("<div class=\"wide\"><table class=\"shapes\"><thead><tr><th>expected shape</th><th>expected</th><th>here</th><th></th></tr></thead><tbody>\n");
    for shape in items(record, "shapes") {
        let class = match shape["held"].as_bool() {
            Some(true) => "held",
            Some(false) => "failed",
            None => "open",
        };
        let reason = shape["reason"].as_str().filter(|reason| !reason.is_empty());
        let reason = reason.map_or_else(String::new, |reason| format!("<small>{}</small>", escaped(reason)));
        let _ = writeln!(
            out,
            "<tr><th>{}{reason}</th><td>{}</td><td>{}</td><td class=\"{class}\">{}</td></tr>",
            sentence(text(shape, "claim")),
            escaped(text(shape, "expected")),
            escaped(&figure_words(shape)),
            verdict(shape)
        );
    }
    out.push_str("</tbody></table></div>\n");
}

/// Formats a sentence: text between backquotes is code.
fn sentence(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        let part = escaped(part);
        out.push_str(&if index % 2 == 1 { format!("<code>{part}</code>") } else { part });
    }
    out
}
