//! Renders a [`record::Run`](pelton_record::Run): one record, several formats, one file each in [`formats`].
//!
//! Everything here is a pure function from a record and a [`Style`] to text. This crate prints nothing and
//! does not query environment or terminal: the command line does, and passes its decisions in [`Style`].
//!
//! `units.rs` defines how figures are written; `text.rs`, how the user's text is made safe.

mod arrivals;
mod by_line;
mod columns;
mod comparison;
pub mod diagnosis;
pub mod formats;
pub mod guard;
mod history;
mod inside;
mod kept_lines;
mod layout;
mod lines;
pub mod live;
mod paint;
mod pipes;
mod probe_figures;
mod process_tree;
mod profile;
#[cfg(test)]
mod properties;
mod prose;
mod rows;
#[cfg(test)]
mod samples;
mod spread;
mod style;
mod syscalls;
pub mod text;
mod threads;
pub mod units;
mod what_if;

pub use comparison::{comparison, comparison_page, growths};
pub use formats::{Format, UnknownFormat, json::compact, json::pretty, json::schema, render};
pub use history::{exceeded as budgets, list as history};
pub use kept_lines::{kept_line, kept_lines};
pub use style::Style;
