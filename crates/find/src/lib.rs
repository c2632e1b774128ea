//! Searches trees as GNU find does, with one thread or several.
//!
//! ```text
//! arguments ──parse──▶ Query ──walk──▶ entries ──evaluate──▶ text, messages, commands
//! ```
//!
//! [`parse()`] parses GNU find's arguments; if one is unsupported, the real find runs. [`walk()`] visits
//! every entry, with any of the [`Walk`] strategies. It prints nothing: the [`Sink`] does.

mod command;
mod evaluate;
mod format;
mod message;
mod parse;
mod pattern;
mod query;
mod sink;
mod stamp;
mod subject;
mod walk;

pub use parse::{Surroundings, Unmodelled, parse};
pub use query::{CommandLine, Follow, Query};
pub use sink::Sink;
pub use walk::{
    ALONE, Event, IncrementalWalk, NextEntry, Order, Report, Settings, Tally, Walk, default_slots, walk,
};
