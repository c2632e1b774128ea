//! `--strict`: refuses a text that would not run natively, instead of running the real commands.

use crate::failure::Failure;
use crate::source::Source;
use pelton_record::Span;
use pelton_run::{Environment, Request, Stays, Switches};

/// A text is shown with its spans underlined only up to this many lines.
const LINES_SHOWN: usize = 40;

/// Fails unless every stage would run natively.
pub fn check(source: &Source, switches: &Switches, environment: &Environment) -> Result<(), Failure> {
    let (request, plan) = match source {
        Source::Text(request, plan) => (request, plan),
        Source::Words(_) => {
            return Err(Failure::new("a command given as words runs as it is, and --strict wants it native")
                .with_help("the pipeline in one word: pelton run --strict 'sort FILE | uniq -c'"));
        }
    };
    match pelton_run::stays(plan, request, environment, switches) {
        Ok((stays, _)) if stays.is_empty() => Ok(()),
        Ok((stays, count)) => Err(refusal(request, &stays, count)),
        Err(reason) => {
            let message =
                format!("the shell would run all of it, because of {reason}; --strict runs nothing then");
            let text = request.text.to_string_lossy();
            let all = Span::new(0, text.trim_end().len());
            Err(at(Failure::new(message), request, vec![(all, String::new())]).with_help(HELP))
        }
    }
}

const HELP: &str = "leave --strict out to run it all the same, or see the whole plan with `pelton explain`";

fn refusal(request: &Request, stays: &[Stays], count: usize) -> Failure {
    let what = match (stays.len(), count) {
        (1, 1) => "the only stage would not run natively".to_owned(),
        (n, _) => format!("{n} of {count} stages would not run natively"),
    };
    let message = format!("{what}; --strict runs nothing then");
    let spans = stays.iter().map(|stage| (stage.span, stage.reason.clone())).collect();
    at(Failure::new(message), request, spans).with_help(HELP)
}

/// Underlines `spans`, unless the text is too long.
fn at(failure: Failure, request: &Request, spans: Vec<(Span, String)>) -> Failure {
    let text = request.text.to_string_lossy();
    let long = spans.iter().any(|(span, _)| span.of(&text).lines().count() > LINES_SHOWN);
    if long || request.text.to_str().is_none() {
        return failure;
    }
    let origin = request.script.as_ref().map(|file| file.display().to_string());
    failure.at_each(&text, spans, origin)
}
