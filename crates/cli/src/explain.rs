//! `pelton explain`: what `run` would do with a text, and why. Nothing is run.

use crate::Ending;
use crate::args::{ExplainArgs, When};
use crate::failure::Failure;
use crate::source::Source;
use crate::terminal::Look;
use pelton_run::{Drawing, Environment, Explained, Plan, Switches};
use std::fmt::Write as _;
use std::io::Write;

/// Explains it on standard output.
pub fn explain(args: &ExplainArgs, color: When) -> Result<Ending, Failure> {
    let text = if args.rules { names() } else { told(args, color)? };
    pelton_sys::signals::default_sigpipe();
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::io("cannot print the plan", &error))?;
    Ok(Ending::Status(0))
}

fn told(args: &ExplainArgs, color: When) -> Result<String, Failure> {
    let environment = Environment::inherit();
    let switches = args.switches.resolve()?;
    let Source::Text(request, plan) = Source::resolve(&args.source, &environment)? else {
        return Err(Failure::new("a command given as words runs as it is")
            .with_help("the pipeline in one word: pelton explain 'sort FILE | uniq -c'"));
    };
    let mut explained = pelton_run::explain(&plan, &request, &environment, &switches, args.measure);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    explained.iter_mut().for_each(|one| one.planned.advise_on_cores(cores));
    match () {
        () if args.json => json(&plan, &explained),
        () if args.dot => dot(&plan, &explained),
        () => Ok(prose(&plan, &explained, drawing(color))),
    }
}

/// As wide as the terminal, but not so wide that sentences are hard to read.
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

/// What `--without` and `--only` can name.
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

impl crate::args::SwitchArgs {
    /// The rules and kernels that are on. A name that nothing has is a mistake worth telling.
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
