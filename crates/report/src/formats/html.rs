//! One self-contained page: the timeline of every stage with its rates and its pipe, the table, the verdict.
//!
//! `timeline.html` draws it, from figures embedded as JSON.

use pelton_record::diagnosis::Frame;
use pelton_record::profile::{Profile, StackCount};
use pelton_record::{Pipeline, Run, Slice, Stage};
use serde_json::{Value, json};

use super::{Style, Subject, table};
use crate::text;

const PAGE: &str = include_str!("timeline.html");
/// The part of the page that draws flame graphs.
const FLAME: &str = include_str!("flame.js");

/// The style of the text on a page.
pub const TABLE: Style = Style { width: Some(132), color: false, unicode: true, all: false };

/// Renders a record as a page.
pub fn render(subject: &Subject<'_>, _style: &Style) -> String {
    let run = subject.shown;
    page(&run.text, &run.verdict.headline, &table::render(subject, &TABLE), &[("", run)])
}

/// Renders two records as one page: the first above the second, with the same time axis. `table` is what is said of both.
pub fn beside(headline: &str, table: &str, before: &Run, after: &Run) -> String {
    let title = match before.text == after.text {
        true => format!("{}: before and after", before.text),
        false => format!("before: {}   after: {}", before.text, after.text),
    };
    page(&title, headline, table, &[("before: ", before), ("after: ", after)])
}

/// Renders a page of runs, each with what stands before the texts of its pipelines.
fn page(title: &str, headline: &str, table: &str, runs: &[(&str, &Run)]) -> String {
    let mut pipelines = Vec::new();
    let mut bottlenecks = Vec::new();
    for (label, run) in runs {
        let found = run.verdict.bottleneck.as_ref();
        bottlenecks.extend(found.map(|found| [pipelines.len() + found.pipeline, found.stage]));
        pipelines.extend(run.pipelines.iter().map(|one| pipeline(label, one)));
    }
    let mut stages = runs.iter().flat_map(|(_, run)| &run.pipelines).flat_map(|pipeline| &pipeline.stages);
    let has_profile = stages.any(|stage| stage.profile.is_some());
    let wall_ns = runs.iter().map(|(_, run)| run.wall_ns).max().unwrap_or(0);
    let data = json!({"wall": wall_ns, "bottlenecks": bottlenecks, "pipelines": pipelines});
    // Without `<`, nothing can end the script element or begin a comment in it.
    let data = super::json::compact(&data).trim_end().replace('<', "\\u003c");
    filled(&[
        ("title", shown(title)),
        ("headline", shown(headline)),
        ("table", text::escaped(table)),
        ("data", data),
        ("flame", if has_profile { FLAME.to_owned() } else { String::new() }),
    ])
}

/// Fills in the page's placeholders. Values are not expanded again.
fn filled(values: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        out += before;
        out.extend(values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str()));
        rest = after;
    }
    out + rest
}

fn pipeline(label: &str, pipeline: &Pipeline) -> Value {
    let pipes: Vec<Value> = pipeline.pipes.iter().map(|pipe| {
        let fills = pipe.over_time.iter().map(|fill| json!([fill.start_ns, fill.length_ns, fill.bytes, fill.full_share]));
        json!({"writer": pipe.writer, "capacity": pipe.capacity_bytes.unwrap_or(65_536), "fills": fills.collect::<Vec<_>>()})
    }).collect();
    json!({
        "text": format!("{label}{}", text::printable(&pipeline.text, true)),
        "stages": pipeline.stages.iter().map(stage).collect::<Vec<_>>(),
        "pipes": pipes,
    })
}

fn stage(stage: &Stage) -> Value {
    let slice = |slice: &Slice| {
        json!([
            slice.start_ns,
            slice.length_ns,
            slice.running_ns,
            slice.cpu_wait_ns,
            slice.starved_ns,
            slice.backpressured_ns,
            slice.other_ns,
            slice.read_bytes,
            slice.written_bytes,
        ])
    };
    json!({
        "text": text::printable(&stage.text, true),
        "start": stage.start_ns,
        "wall": stage.cost.wall_ns,
        "profile": stage.profile.as_ref().map(profile),
        "slices": stage.timeline.iter().flatten().map(slice).collect::<Vec<_>>(),
    })
}

fn profile(profile: &Profile) -> Value {
    let said = |text: &str| text::printable(text, true);
    let frame = |frame: &Frame| {
        json!([
            said(&frame.function),
            frame.file.as_deref().map_or(String::new(), said),
            frame.line,
            frame.is_library
        ])
    };
    let stack = |stack: &StackCount| json!([stack.samples, said(&stack.process), stack.frames]);
    json!({
        "cpu": profile.seen_cpu_ns,
        "verdict": said(&profile.verdict),
        "several": profile.stacks.iter().any(|stack| stack.process != profile.stacks[0].process),
        "frames": profile.frames.iter().map(frame).collect::<Vec<_>>(),
        "stacks": profile.stacks.iter().map(stack).collect::<Vec<_>>(),
    })
}

/// Makes user text safe.
fn shown(text: &str) -> String {
    text::escaped(&text::printable(text, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn shown_page(run: &Run) -> String {
        render(&samples::subject(run), &Style::default())
    }

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        let mut run = samples::simple();
        run.text = "echo '</script><script>alert(1)</script>{{data}}' & x".to_owned();
        run.pipelines[0].stages[0].text = run.text.clone();
        let page = shown_page(&run);
        assert_eq!(page.matches("<script").count(), PAGE.matches("<script").count());
        assert_eq!(page.matches("</script").count(), PAGE.matches("</script").count());
    }

    #[test]
    fn a_page_needs_no_network() {
        let page = shown_page(&samples::native());
        for outside in ["http://", "https://", "//cdn", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains(&text::escaped(&samples::native().verdict.headline)));
    }
}
