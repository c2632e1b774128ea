//! Searching trees as GNU find does, with one thread or several.
//!
//! ```text
//! arguments ──parse──▶ Query ──walk──▶ entries ──evaluate──▶ text, messages, commands
//! ```
//!
//! [`parse()`] reads GNU find's arguments, or says what of them is not modelled: then the real one runs. [`walk()`] visits
//! every entry, in any of the [`Walk`]s. It prints nothing: whoever is the [`Sink`] does.

mod command;
mod evaluate;
mod format;
mod message;
mod parse;
mod pattern;
mod query;
mod subject;
mod walk;

pub use parse::{Surroundings, Unmodelled, parse};
pub use query::{CommandLine, Follow, Query};
pub use walk::{
    ALONE, Event, IncrementalWalk, NextEntry, Order, Report, Settings, Sink, Tally, Walk, default_slots, walk,
};
