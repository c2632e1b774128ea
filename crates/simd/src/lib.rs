//! Algorithms over bytes in vector instructions, which the compiler does not generate by itself.
//!
//! Each has a portable form with the same results, which machines without the instructions use and tests
//! compare with. Each `unsafe` block holds one operation and says why it is sound.

pub mod byte_masks;
pub mod byte_set_masks;
pub mod compact;
pub mod fields;
pub mod json_tokens;
pub mod padded;
pub mod sequences;
pub mod word_count;
