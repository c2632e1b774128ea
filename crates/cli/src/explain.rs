//! `pelton explain`: what `run` would do with a text, and why. Runs nothing.

use crate::args::ExplainArgs;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::output;
use crate::scripts;
use crate::shared_options::PassArgs;
use crate::source::{self, Source};
use crate::stateless;
use crate::terminal::Look;
use crate::terminal::When;
use crate::workers;
use pelton_report::text::printable;
use pelton_run::script::{Considered, Rewritten};
use pelton_run::{Drawing, Environment, Explained, Plan, Request, Switches, on_one_line};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Prints the explanation.
pub fn explain(args: &ExplainArgs, color: When) -> Result<Ending, Failure> {
    let text = if args.rules { names() } else { told(args, color)? };
    output::print(&text, "the plan")?;
    Ok(Ending::Status(0))
}

fn told(args: &ExplainArgs, color: When) -> Result<String, Failure> {
    let environment = Environment::inherit();
    let switches = args.switches.resolve()?;
    stateless::declare(&args.switches.stateless)?;
    let source = Source::resolve(&args.source, &environment)?;
    let called = args.on.is_none().then(|| source.called_script(&environment)).flatten();
    let depends = called.is_none().then(|| source.script_that_depends_on_its_call(&environment)).flatten();
    let source = called.unwrap_or(source);
    let Source::Text(request, plan) = source else {
        let help = match source.calls_make() {
            true => pelton_run::ON_MAKE,
            false => "the pipeline in one word: pelton explain 'sort FILE | uniq -c'",
        };
        let help = depends.map_or_else(|| help.to_owned(), |script| as_by_file(&script));
        return Err(Failure::new("a command given as words runs as it is").with_help(help));
    };
    if let Some(target) = &args.on {
        return workers::explained(target, args.part_size, &request, &plan, &environment);
    }
    let calls = scripts::rewritten(&request, &plan, &environment, &args.switches, &PassArgs::default());
    let (plan, calls) = script_or_plan(plan, calls);
    if let Some(rewritten) = calls {
        return match () {
            () if args.json => Ok(script_json(&rewritten, &request)),
            () if args.dot => Err(Failure::new(
                "there is nothing to draw: the shell runs this text, and calls pelton for its pipelines",
            )
            .with_help("one of its pipelines alone")),
            () => Ok(script(&rewritten, &request, drawing(color).width)),
        };
    }
    let mut explained = pelton_run::explain(&plan, &request, &environment, &switches, args.measure);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    explained.iter_mut().for_each(|one| one.planned.advise_on_cores(cores));
    match () {
        () if args.json => json(&plan, &explained),
        () if args.dot => dot(&plan, &explained),
        () => {
            source::warn_of_missing(&request, &plan, &environment, Look::of_stderr(color));
            let advice = depends.map(|script| format!("\n{}\n", as_by_file(&script)));
            Ok(prose(&plan, &explained, drawing(color)) + &advice.unwrap_or_default())
        }
    }
}

/// Says why a script that is called is not planned, and how it would be.
fn as_by_file((script, depends_on): &(PathBuf, &str)) -> String {
    let script = source::typed([script]);
    format!(
        "called so, a script with `{depends_on}` in it runs as it is, because it may look for its own process; to have its \
         pipelines run natively: pelton run -f {script}"
    )
}

/// Returns the rewritten script if it has calls. If not, and the shell runs all of the text, the plan gets the reason why
/// the script has none.
fn script_or_plan(plan: Plan, script: Option<Result<Rewritten, String>>) -> (Plan, Option<Rewritten>) {
    match (plan, script) {
        (plan, Some(Ok(script))) if script.has_calls() => (plan, Some(script)),
        (Plan::Whole { .. }, Some(Ok(script))) => {
            let reason = match script.pipelines.into_iter().find_map(|one| one.reason) {
                Some(first) => format!("what its pipelines hold; the first: {first}"),
                None => "its pipelines: there is none of two stages or more".to_owned(),
            };
            (Plan::Whole { reason }, None)
        }
        (Plan::Whole { .. }, Some(Err(reason))) => (Plan::Whole { reason }, None),
        (plan, _) => (plan, None),
    }
}

/// Uses the terminal's width, but keeps lines short enough to read.
fn drawing(color: When) -> Drawing {
    const WIDTH_MAX: usize = 100;
    const WIDTH_MIN: usize = 40;
    let look = Look::of_stdout(color);
    Drawing { unicode: look.unicode, width: look.width.unwrap_or(WIDTH_MAX).clamp(WIDTH_MIN, WIDTH_MAX) }
}

fn prose(plan: &Plan, explained: &[Explained], drawing: Drawing) -> String {
    if let Plan::Whole { reason } = plan {
        return format!("the shell runs all of it, because of {reason}\n");
    }
    if explained.is_empty() {
        return "there is no pipeline in it\n".to_owned();
    }
    let mut text = String::new();
    for (i, one) in explained.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        if explained.len() > 1 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}. {}", i + 1, one.text.trim());
        }
        text.push_str(&one.planned.explain(drawing));
    }
    text
}

/// Explains a script: each pipeline, its line, what pelton runs.
fn script(rewritten: &Rewritten, request: &Request, width: usize) -> String {
    let mut text = "the shell runs this script; pelton runs these of its pipelines:\n\n".to_owned();
    for one in &rewritten.pipelines {
        let written = pipeline_text(one, request);
        let line = one.line.to_string();
        let room = width.saturating_sub(line.len() + 7).max(20);
        let shown: String = written.chars().take(room).collect();
        let dots = if shown.len() < written.len() { "…" } else { "" };
        let _ = writeln!(text, "line {line}: {shown}{dots}");
        let stages = one.stages;
        let _ = match (one.called, &one.reason) {
            (0, reason) => writeln!(text, "    not through pelton{}", because(reason)),
            (1, _) if stages == 1 => writeln!(text, "    the command through pelton: its input is large"),
            (called, _) if called == stages => writeln!(text, "    all {stages} stages through pelton"),
            (called, reason) => {
                writeln!(
                    text,
                    "    {called} of {stages} stages through pelton; not the others{}",
                    because(reason)
                )
            }
        };
    }
    for file in &rewritten.sourced {
        let name = printable(&file.name, true);
        let _ =
            writeln!(text, "line {}: sources {name}\n    its text is known; the shell runs it", file.line);
    }
    let (called, all) =
        (rewritten.pipelines.iter().filter(|one| one.called > 0).count(), rewritten.pipelines.len());
    let pipelines = if all == 1 { "pipeline goes" } else { "pipelines go" };
    let _ = writeln!(
        text,
        "\n{called} of {all} {pipelines} through pelton.\n\
         Safe: a stage runs natively only where pelton's tests found it equal to the command that you have, for those words\n\
         and this locale; else the command itself runs. `pelton explain 'PIPELINE'` shows what becomes of each stage of one,\n\
         with its variables and `$(…)` written out."
    );
    text
}

fn because(reason: &Option<String>) -> String {
    reason.as_ref().map_or(String::new(), |reason| format!(", because of {reason}"))
}

/// The text on one line.
fn pipeline_text(one: &Considered, request: &Request) -> String {
    let text = request.text.to_string_lossy();
    let written = text.get(one.span.start..one.span.end).unwrap_or_default();
    printable(&on_one_line(written), true)
}

fn script_json(rewritten: &Rewritten, request: &Request) -> String {
    let pipelines: Vec<_> = rewritten
        .pipelines
        .iter()
        .map(|one| {
            serde_json::json!({
                "text": pipeline_text(one, request), "line": one.line, "stages": one.stages,
                "stages_called": one.called, "not_all_because_of": one.reason,
            })
        })
        .collect();
    let sources = rewritten.sourced.iter();
    let sources: Vec<_> =
        sources.map(|file| serde_json::json!({ "file": file.name, "line": file.line })).collect();
    let value = serde_json::json!({
        "version": 1, "script": pipelines, "sources": sources, "shell_text": rewritten.text,
    });
    format!("{value:#}\n")
}

fn json(plan: &Plan, explained: &[Explained]) -> Result<String, Failure> {
    let pipelines: Vec<_> = explained
        .iter()
        .map(|one| {
            let input_bytes = one.planned.input_bytes;
            serde_json::json!({ "text": one.text, "input_bytes": input_bytes, "plan": one.planned.summary() })
        })
        .collect();
    let whole = match plan {
        Plan::Whole { reason } => Some(reason),
        Plan::Steps(_) => None,
    };
    let value =
        serde_json::json!({ "version": 1, "pipelines": pipelines, "shell_runs_all_because_of": whole });
    Ok(format!("{value:#}\n"))
}

fn dot(plan: &Plan, explained: &[Explained]) -> Result<String, Failure> {
    match (plan, explained) {
        (Plan::Whole { reason }, _) => Err(Failure::new(format!(
            "there is nothing to draw: the shell runs all of it, because of {reason}"
        ))),
        (_, [one]) => Ok(one.planned.dot(one.text.trim())),
        (_, several) => {
            Err(Failure::new(format!("there are {} pipelines in it, and one is drawn", several.len()))
                .with_help("each of them alone"))
        }
    }
}

/// Lists what `--without` and `--only` accept.
fn names() -> String {
    let mut text = "Rules, in the order in which they are tried\n".to_owned();
    let names = pelton_run::describe_names();
    for (name, summary) in names.iter().filter_map(|named| Some((named.name, named.summary?))) {
        let _ = writeln!(text, "  {name:18} {summary}");
    }
    let kernels: Vec<&str> =
        names.iter().filter(|named| named.summary.is_none()).map(|named| named.name).collect();
    let _ = write!(text, "\nCommands that have a kernel of their own\n  {}\n", kernels.join(" "));
    text.push_str("\n--without NAME switches one off, --only NAME all others; both may be repeated.\n");
    text
}

impl crate::shared_options::SwitchArgs {
    /// Returns the rules and kernels that are on. Fails for an unknown name.
    pub fn resolve(&self) -> Result<Switches, Failure> {
        let known = pelton_run::list_names();
        if let Some(name) = self.without.iter().chain(&self.only).find(|name| !known.contains(&name.as_str()))
        {
            let message = format!("no rule or kernel is called `{name}`");
            return Err(Failure::new(message).with_help("pelton explain --rules lists them"));
        }
        Ok(Switches { without: self.without.clone(), only: self.only.clone() })
    }
}
