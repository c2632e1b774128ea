//! 64 bytes in the vector registers that every 64-bit ARM has, and a bit for each byte of them.

use std::arch::aarch64::*;

use crate::byte_masks::STEP;

/// 64 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Chunk([uint8x16_t; 4]);

impl Chunk {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn load(bytes: &[u8; STEP]) -> Self {
        let (quarters, _) = bytes.as_chunks::<16>();
        Chunk([0, 1, 2, 3].map(|at| load(&quarters[at])))
    }

    /// Returns a bit for each byte that equals `byte`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn equal(self, byte: u8) -> u64 {
        let wanted = vdupq_n_u8(byte);
        bits(self.0.map(|given| vceqq_u8(given, wanted)))
    }

    /// Returns a bit for each byte from `low` to `high`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn within(self, low: u8, high: u8) -> u64 {
        bits(self.0.map(|given| lies_within(given, low, high.wrapping_sub(low))))
    }

    /// Returns a bit for each byte that equals `byte` where bit 5 is set, as it is in small letters and curly brackets.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn equal_with_bit_5(self, byte: u8) -> u64 {
        let (bit, wanted) = (vdupq_n_u8(0x20), vdupq_n_u8(byte));
        bits(self.0.map(|given| vceqq_u8(vorrq_u8(given, bit), wanted)))
    }

    /// Returns a bit for each byte with bit 5.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn bit_5(self) -> u64 {
        let bit = vdupq_n_u8(0x20);
        bits(self.0.map(|given| vtstq_u8(given, bit)))
    }
}

#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: there are 16 bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// Returns 255 for each byte from `low` to `low + span` (modulo 256).
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn lies_within(given: uint8x16_t, low: u8, span: u8) -> uint8x16_t {
    vcleq_u8(vsubq_u8(given, vdupq_n_u8(low)), vdupq_n_u8(span))
}

/// Returns the bits of 64 bytes that are 0 or 255: the value of each byte's bit is added to those of its seven neighbours.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn bits(hits: [uint8x16_t; 4]) -> u64 {
    let values = load(&[1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]);
    let [a, b, c, d] = hits.map(|hits| vandq_u8(hits, values));
    let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
}
