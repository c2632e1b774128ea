//! The contract between a command and the rest of pelton: parsed arguments, their meaning, and the
//! implementation behind a name.

pub mod argv;
pub(crate) mod busybox;
pub(crate) mod context;
pub mod cost;
pub(crate) mod count;
pub mod decompress;
pub mod detect;
pub(crate) mod escapes;
pub(crate) mod facts;
pub mod grammar;
pub(crate) mod in_process_exec;
pub(crate) mod interface;
pub mod io_errors;
pub mod row;
pub(crate) mod second_run;
pub mod stateless;
pub(crate) mod static_output;
pub(crate) mod uutils;
pub mod versions;
