//! `pelton run`: the text, as the shell would run it.

use crate::Ending;
use crate::args::{RunArgs, When};
use crate::failure::{Failure, plain};
use crate::source::{self, Source};
use crate::terminal::{self, Look};
use pelton_run::{Environment, Execution, Observing, Options};

/// Runs it.
pub fn run(args: &RunArgs, color: When) -> Result<Ending, Failure> {
    if let Some(bytes) = args.block_bytes {
        pelton_run::set_block_bytes(bytes as usize);
    }
    let environment = Environment::inherit();
    match Source::resolve(&args.source, &environment)? {
        Source::Words(words) => {
            let exec =
                pelton_run::command(&words, &environment).map_err(|e| source::no_such_command(&words, &e))?;
            Err(source::no_such_command(&words, &pelton_sys::spawn::replace(&exec)))
        }
        Source::Text(request, plan) => {
            let options = Options { observing: Observing::No, native: native(args)? };
            if terminal::stderr_is_terminal() {
                source::warn_of_missing(&request, &plan, &environment, Look::of_stderr(color));
            }
            if let Some(exec) = pelton_run::replacement(&plan, &request, &environment, &options) {
                let error = pelton_sys::spawn::replace(&exec);
                // A script without `#!` line, say: the general way hands it to the shell.
                if matches!(plan, pelton_run::Plan::Whole { .. }) {
                    let shell = request.shell.path.display();
                    return Err(
                        Failure::new(format!("cannot start `{shell}`: {}", plain(&error))).with_status(126)
                    );
                }
            }
            let execution = pelton_run::execute(&plan, &request, &environment, &options, &mut terminal::say)
                .map_err(|error| Failure::io("cannot run the pipeline", &error))?;
            Ok(ending(&execution))
        }
    }
}

fn ending(execution: &Execution) -> Ending {
    match execution.died_by {
        Some(signal) => Ending::Signal(signal),
        None => Ending::Status(execution.status),
    }
}

/// The rules and kernels that are on.
fn native(args: &RunArgs) -> Result<Option<pelton_run::Switches>, Failure> {
    if args.faithful {
        return Ok(None);
    }
    args.switches.resolve().map(Some)
}
