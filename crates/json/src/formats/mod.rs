//! Output formats, one per file.

mod gron;
mod lines;
mod matching;
mod records;
mod template;
mod tokens;
mod values;

pub use gron::Gron;
pub use lines::Lines;
pub use matching::Matching;
pub use records::{OutputField, Records, Shown};
pub use template::{Piece, Template, parse_template};
pub use tokens::Tokens;
pub use values::Values;
