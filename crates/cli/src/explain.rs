//! `pelton explain`: what `run` would do with a text, and why. Nothing is run.

use crate::Ending;
use crate::args::{ExplainArgs, When};
use crate::failure::Failure;
use crate::source::Source;
use crate::terminal::Look;
use pelton_run::{Environment, Plan, Switches};
use std::io::Write;

/// Explains it on standard output.
pub fn explain(args: &ExplainArgs, color: When) -> Result<Ending, Failure> {
    let environment = Environment::inherit();
    let switches = args.switches.resolve()?;
    let text = match Source::resolve(&args.source, &environment)? {
        Source::Words(_) => {
            return Err(Failure::new("a command given as words runs as it is")
                .with_help("the pipeline in one word: pelton explain 'sort FILE | uniq -c'"));
        }
        Source::Text(request, plan) => {
            let explained = pelton_run::explain(&plan, &request, &environment, &switches);
            if args.json {
                json(&plan, &explained)?
            } else {
                prose(&plan, &explained, Look::of_stderr(color).unicode)
            }
        }
    };
    pelton_sys::signals::default_sigpipe();
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::io("cannot print the plan", &error))?;
    Ok(Ending::Status(0))
}

fn prose(plan: &Plan, explained: &[(String, pelton_run::Planned)], unicode: bool) -> String {
    if let Plan::Whole { reason } = plan {
        return format!("the shell runs all of it, because of {reason}\n");
    }
    let mut text = String::new();
    for (i, (pipeline, planned)) in explained.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        if explained.len() > 1 {
            text.push_str(&format!("{}. {}\n", i + 1, pipeline.trim()));
        }
        text.push_str(&planned.explain(unicode));
    }
    text
}

fn json(plan: &Plan, explained: &[(String, pelton_run::Planned)]) -> Result<String, Failure> {
    let pipelines: Vec<_> = explained
        .iter()
        .map(|(text, planned)| serde_json::json!({ "text": text, "plan": planned.summary() }))
        .collect();
    let whole = match plan {
        Plan::Whole { reason } => Some(reason),
        Plan::Steps(_) => None,
    };
    let value = serde_json::json!({ "pipelines": pipelines, "shell_runs_all_because_of": whole });
    Ok(format!("{value:#}\n"))
}

impl crate::args::SwitchArgs {
    /// The rules and kernels that are on. A name that nothing has is a mistake worth telling.
    pub fn resolve(&self) -> Result<Switches, Failure> {
        let known = pelton_run::list_names();
        if let Some(name) = self.without.iter().chain(&self.only).find(|name| !known.contains(&name.as_str()))
        {
            let message = format!("no rule or kernel is called `{name}`");
            return Err(Failure::new(message).with_help(format!("one of {}", known.join(", "))));
        }
        Ok(Switches { without: self.without.clone(), only: self.only.clone() })
    }
}
