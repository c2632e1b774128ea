//! Runs a shell text exactly as the shell would: the same bytes, statuses, files, errors and signals.
//!
//! [`plan()`] decides what pelton starts itself and what the user's shell runs; [`execute()`] does it. The
//! shell runs what is not fully modelled: a single stage where the difference cannot show, otherwise the
//! whole text. run prints nothing, except a shell's own messages on standard error about its children.

mod alternatives;
mod builtin_output;
mod c_string;
mod environ;
mod execute;
mod expand;
mod jobs;
mod lines;
mod lookup;
mod measure;
mod native;
mod parts;
mod plan;
mod portable_stages;
mod progress;
mod rerun_safety;
mod rows;
pub mod script;
mod shell;
mod shell_queries;
mod stage;

pub use environ::Environment;
pub use execute::{
    Execution, HoldOthers, Observing, Options, Profiled, ShowLive, command, execute, execute_command,
    replacement, shell_call,
};
pub use lines::{add_lines, on_one_line};
pub use lookup::find as find_program;
pub use measure::{assemble, conclude, correct_bytes, shown_text, this_machine};
pub use native::files::SMALL_LIMIT_BYTES;
pub use native::{Explained, Jobs, Stays, explain, set_jobs, set_memory, set_niceness, stays};
pub use parts::{set_declared, set_part_bytes};
pub use pelton_commands::stateless::Declared;
pub use pelton_observe::history;
pub use pelton_observe::inside::Launches;
pub use pelton_observe::what_if::what_if;
pub use pelton_observe::{Compared, compare, each_run, scaling_exponent, summarise};
pub use pelton_plan::{Drawing, Named, ON_MAKE, Planned, Switches, describe_names, is_make, list_names};
pub use pelton_stream::set_block_bytes;
pub use plan::{ListItem, PipelinePlan, Plan, Request, ShellOption, plan};
pub use portable_stages::{Call, PortableStage, portable_stages};
pub use progress::{Progress, ShowProgress};
pub use rerun_safety::{RerunHazards, rerun_hazards};
pub use shell::{Shell, UnknownShell};
pub use stage::{Kind, StagePlan, is_builtin};
