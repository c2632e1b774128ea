//! JSON read once, front to back, in constant memory: flattened to lines, or filtered by path.
//!
//! ```text
//! bytes ──window──▶ tokens ──machine──▶ events ──visitor──▶ lines
//!   64 at a time, by bits       grammar          formats
//! ```
//!
//! The [window](feed) moves over the input; `pelton_simd::json_tokens` finds the starts of tokens; the machine
//! checks the grammar of RFC 8259 and calls a [`Visitor`], which prints. Nothing is recursive, and only the
//! path is kept.

mod collect;
mod compact;
mod decode;
mod error;
mod escapes;
pub mod feed;
pub mod formats;
mod levels;
mod machine;
mod names;
pub mod ndjson;
mod out;
mod scalar;
pub mod select;
mod selected;
mod skim;
mod state;
mod trail;
mod visit;

pub use error::{Failure, Fault, SyntaxError};
pub use feed::{Pieces, read};
pub use machine::Rules;
pub use names::Names;
pub use out::Out;
pub use pelton_simd::padded::{Raw, Text};
pub use selected::{Format, Prints, Selected};
pub use visit::{Interest, Kind, StringPosition, Visitor};
