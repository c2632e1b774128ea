//! Starts the shell on a rewritten text.
//!
//! A text without a file, and any script of dash, runs as `sh -c TEXT NAME ARGS`. bash behaves differently for a file and
//! for a text: in messages from functions, in `BASH_SOURCE`, in the status after `set -u`, and when its last command
//! ends; zsh in all of its messages. So these are started with the path of the script, and read the rewritten text in its place
//! ([`pelton_sys::read_instead`]).

use super::Rewritten;
use crate::c_string::c_string;
use crate::environ::Environment;
use crate::plan::Request;
use pelton_syntax::Dialect;
use pelton_sys::read_instead::{self, MovesDescriptor};
use pelton_sys::spawn;
use std::io;

/// Replaces this process by the shell, which runs the rewritten text with the name and the arguments of the request.
/// Returns only on failure; `None` if nothing can be started.
pub fn start(rewritten: &Rewritten, request: &Request, environment: &Environment) -> Option<io::Error> {
    let env = environment.as_inherited();
    if let Some(file) = request.script.as_ref().filter(|_| rewritten.from_file) {
        let exec = request.shell.call_script(file, &request.shell_flags, &request.args, &env)?;
        let by = match request.shell.dialect {
            Some(Dialect::Zsh) => MovesDescriptor::Zsh,
            _ => MovesDescriptor::Bash,
        };
        // Where the system does not permit it, the script runs as it is.
        let _ = read_instead::arrange(&request.shell.path, by, file, rewritten.text.as_bytes());
        return Some(spawn::replace(&exec));
    }
    let flags = request.shell_flags.iter().map(|flag| flag.to_str()).collect::<Option<Vec<_>>>()?;
    c_string(rewritten.text.as_bytes())?;
    let exec = request.shell.call(&flags, rewritten.text.as_bytes(), &request.name, &request.args, &env)?;
    Some(spawn::replace(&exec))
}

/// Whether the shell can read a rewritten text in place of the script's file.
pub(super) fn may_read_file(request: &Request) -> bool {
    request.script.is_some()
        && matches!(request.shell.dialect, Some(Dialect::Bash | Dialect::Zsh))
        && read_instead::IS_SUPPORTED
}
