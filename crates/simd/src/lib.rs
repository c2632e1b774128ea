//! Algorithms over bytes in vector instructions, which the compiler does not generate by itself.
//!
//! Each has a portable form with the same results, which machines without the instructions use and tests
//! compare with. Each `unsafe` block holds one operation and says why it is sound.
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(unused_mut, reason = "tests add the variants of x86-64, which has several")
)]

pub mod byte_masks;
pub mod byte_set_masks;
pub mod compact;
pub mod fields;
pub mod json_tokens;
#[cfg(target_arch = "aarch64")]
mod neon;
pub mod nth;
pub mod padded;
pub mod sequences;
pub mod word_count;
