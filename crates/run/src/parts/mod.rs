//! A real command as several processes, each over some of the lines of its input.
//!
//! A pelton process replaces the command. It inspects the first part of its input without consuming it
//! ([`cost_probe`]): if the command costs too little, or anything is unusual, it becomes the command, and
//! nothing has changed. Otherwise it distributes the lines ([`dispatcher`]):
//!
//! ```text
//!            ┌► part 1 (lines 1 to 9000)  ─► at once      ┐
//!   input ───┼► part 2 (9001 to 18000)    ─► buffered     ├─► output, in order
//!            └► part 3 (18001 to …)       ─► buffered     ┘
//! ```
//!
//! A process does not report finished lines, so each gets a run of lines and then EOF, and the next run goes
//! to a new process. A run is long enough that a process start costs little beside it ([`part_size`]): that
//! is simple, and exact for any command. Long-lived processes would save that little, and need a way to tell
//! the output of one block from the next, which no filter offers.
//!
//! Whatever ends a part early would have ended the command: later parts are dropped, and their processes
//! killed. They die with this process too, so that none is left in any case.

mod cost_probe;
mod dispatcher;
mod part_commands;
mod part_process;
mod part_size;
mod pending;
mod replacing_process;
mod settings;
mod source;
mod status;

pub use part_commands::Parts;
pub use settings::{set_declared, set_part_bytes};

use crate::native::elastic;
use crate::native::files;
use crate::stage::{StagePlan, Surroundings};
use pelton_commands::Input;
use pelton_commands::stateless::{Data, Stateless, may_be_stateless};
use pelton_sys::spawn::Redirection;
use pelton_sys::startup;
use source::WORTH_BYTES;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether several processes of a command with this name may share its lines.
pub fn may_be(name: &[u8]) -> bool {
    may_be_stateless(name) || settings::declared().names(name)
}

/// Returns the properties of this call, if the user declared it.
pub fn declared(name: &[u8], args: &[Vec<u8>]) -> Option<Stateless> {
    settings::declared().find(name, args)
}

/// Returns why a stage that could be split should not be, as far as known before it starts.
pub fn refusal(
    stateless: &Stateless,
    stage: &StagePlan,
    first: bool,
    input_bytes: Option<u64>,
    around: &Surroundings<'_>,
) -> Option<String> {
    if let Err(declined) = files::standard_streams() {
        return Some(declined.reason);
    }
    if startup::sigpipe_was_ignored() {
        return Some("SIGPIPE is ignored, and each part would complain if its reader leaves".to_owned());
    }
    let home = around.environment.get("HOME").map(Path::new);
    if stateless.data == Data::Json && home.is_none_or(|home| home.join(".jq").exists()) {
        return Some("what .jq at home defines".to_owned());
    }
    if settings::part_bytes().is_some() {
        return None;
    }
    if !elastic::Elastic::new().may_grow() {
        return Some("there is one core for it, or --jobs allows no more".to_owned());
    }
    let own = stage.program(around).ok()?.child.redirections;
    let redirected = own.iter().rev().find_map(|redirection| match redirection {
        Redirection::Open { fd: 0, path, .. } => Some(path.as_bytes()),
        _ => None,
    });
    let file = match &stateless.input {
        Input::File(name) => Some(name.as_slice()),
        Input::Stdin => redirected,
    };
    if first && file.is_none() && std::io::stdin().is_terminal() {
        return Some("its standard input is a terminal".to_owned());
    }
    let size =
        |name: &[u8]| std::fs::metadata(Path::new(OsStr::from_bytes(name))).ok().map(|file| file.len());
    let bytes = file.map_or(input_bytes, size)?;
    (bytes < WORTH_BYTES).then(|| "its input is small".to_owned())
}
