//! Vector code for shifting ranges of byte values and dropping others, or those at some positions, which the compiler
//! does not generate by itself.
//!
//! When bytes are dropped, each output position depends on all bytes before it. AVX-512 has an instruction
//! for that; SSSE3 and ARM can shuffle eight bytes by a lookup table. Other machines get `None`, and the caller works
//! byte by byte.

/// A range of byte values, `low` to `low + span`, and what is added to each (modulo 256).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first value.
    pub low: u8,
    /// How many values follow it.
    pub span: u8,
    /// Added to each value.
    pub shift: u8,
}

/// How many bytes the output must have room for beyond the input's length.
pub const ROOM: usize = 64;

/// Copies `bytes` to `out` without those in `drops`, and shifts those in `moves`; a byte may be in one range
/// of each at most. `out` must hold [`ROOM`] bytes more than `bytes`; its content past the result is
/// undefined. Returns the result's length, or `None` if this machine lacks the instructions.
pub fn move_and_drop(bytes: &[u8], moves: &[Run], drops: &[Run], out: &mut [u8]) -> Option<usize> {
    assert!(out.len() >= bytes.len() + ROOM, "no room for whole vectors");
    imp::move_and_drop(bytes, moves, drops, out)
}

/// Copies those `bytes` to `out` whose bits are set: bit i of `kept[w]` is that of byte 64w + i. Room, result and
/// `None` as for [`move_and_drop`].
pub fn keep(bytes: &[u8], kept: &[u64], out: &mut [u8]) -> Option<usize> {
    assert!(out.len() >= bytes.len() + ROOM, "no room for whole vectors");
    assert!(kept.len() == bytes.len().div_ceil(64), "as many words as the bytes need");
    imp::keep(bytes, kept, out)
}

/// Copies `bytes` to `out`. Bytes outside the ranges in `keeps` (whose shifts are ignored) become `to`, and
/// only the first of adjacent `to`s is written; none if `after` says that one precedes. `to` is in none of
/// the ranges. Room, result and `None` as for [`move_and_drop`].
pub fn squeeze(bytes: &[u8], keeps: &[Run], to: u8, after: bool, out: &mut [u8]) -> Option<usize> {
    assert!(out.len() >= bytes.len() + ROOM, "no room for whole vectors");
    imp::squeeze(bytes, keeps, to, after, out)
}

/// For each subset of eight bytes: the indices of its members, the first in the lowest byte.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static ORDERS: [u64; 256] = orders();

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const fn orders() -> [u64; 256] {
    let mut orders = [0; 256];
    let mut kept = 0;
    while kept < 256 {
        let (mut order, mut place, mut index) = (0u64, 0, 0);
        while index < 8 {
            if kept >> index & 1 == 1 {
                order |= index << (8 * place);
                place += 1;
            }
            index += 1;
        }
        orders[kept as usize] = order;
        kept += 1;
    }
    orders
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    use super::Run;

    pub(super) fn squeeze(_: &[u8], _: &[Run], _: u8, _: bool, _: &mut [u8]) -> Option<usize> {
        None
    }

    pub(super) fn move_and_drop(_: &[u8], _: &[Run], _: &[Run], _: &mut [u8]) -> Option<usize> {
        None
    }

    pub(super) fn keep(_: &[u8], _: &[u64], _: &mut [u8]) -> Option<usize> {
        None
    }
}

#[cfg(target_arch = "aarch64")]
mod imp {
    use std::arch::aarch64::*;

    use super::{ORDERS, Run};
    use crate::neon::{bits, lies_within, load};

    pub(super) fn move_and_drop(bytes: &[u8], moves: &[Run], drops: &[Run], out: &mut [u8]) -> Option<usize> {
        // SAFETY: every 64-bit ARM has these instructions.
        Some(unsafe { by_16_move_and_drop(bytes, moves, drops, out) })
    }

    pub(super) fn squeeze(bytes: &[u8], keeps: &[Run], to: u8, after: bool, out: &mut [u8]) -> Option<usize> {
        // SAFETY: every 64-bit ARM has these instructions.
        Some(unsafe { by_16_squeeze(bytes, keeps, to, after, out) })
    }

    pub(super) fn keep(bytes: &[u8], kept: &[u64], out: &mut [u8]) -> Option<usize> {
        // SAFETY: every 64-bit ARM has these instructions.
        Some(unsafe { by_16_keep(bytes, kept, out) })
    }

    #[target_feature(enable = "neon")]
    fn by_16_keep(bytes: &[u8], kept: &[u64], out: &mut [u8]) -> usize {
        let mut end = 0;
        for (chunk, kept) in bytes.chunks(64).zip(kept) {
            for (index, quarter) in chunk.chunks(16).enumerate() {
                let kept = (kept >> (16 * index)) as u32 & valid(quarter);
                end = pack(load(&padded(quarter)), kept, out, end);
            }
        }
        end
    }

    #[target_feature(enable = "neon")]
    fn by_16_move_and_drop(bytes: &[u8], moves: &[Run], drops: &[Run], out: &mut [u8]) -> usize {
        let mut end = 0;
        for chunk in bytes.chunks(16) {
            let given = load(&padded(chunk));
            let hits = |run: &Run| lies_within(given, run.low, run.span);
            let dropped = drops.iter().fold(vdupq_n_u8(0), |any, run| vorrq_u8(any, hits(run)));
            let moved = moves
                .iter()
                .fold(given, |moved, run| vaddq_u8(moved, vandq_u8(hits(run), vdupq_n_u8(run.shift))));
            end = pack(moved, valid(chunk) & !mask(dropped), out, end);
        }
        end
    }

    #[target_feature(enable = "neon")]
    fn by_16_squeeze(bytes: &[u8], keeps: &[Run], to: u8, after: bool, out: &mut [u8]) -> usize {
        let (mut end, mut before) = (0, u32::from(after));
        for chunk in bytes.chunks(16) {
            let given = load(&padded(chunk));
            let kept = keeps
                .iter()
                .fold(vdupq_n_u8(0), |kept, run| vorrq_u8(kept, lies_within(given, run.low, run.span)));
            let others = !mask(kept) & 0xffff;
            let written = valid(chunk) & !(others & (others << 1 | before));
            before = others >> 15;
            end = pack(vbslq_u8(kept, given, vdupq_n_u8(to)), written, out, end);
        }
        end
    }

    /// At most 16 bytes, with NULs behind them.
    #[inline(always)]
    fn padded(chunk: &[u8]) -> [u8; 16] {
        let mut padded = [0; 16];
        padded[..chunk.len()].copy_from_slice(chunk);
        padded
    }

    /// Returns a bit for each byte of a chunk.
    #[inline(always)]
    fn valid(chunk: &[u8]) -> u32 {
        0xffff >> (16 - chunk.len())
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn mask(hits: uint8x16_t) -> u32 {
        let none = vdupq_n_u8(0);
        bits([hits, none, none, none]) as u32
    }

    /// Writes the bytes whose bits are set in `kept`.
    #[inline]
    #[target_feature(enable = "neon")]
    fn pack(bytes: uint8x16_t, kept: u32, out: &mut [u8], mut end: usize) -> usize {
        for (kept, half) in [(kept & 0xff, vget_low_u8(bytes)), (kept >> 8, vget_high_u8(bytes))] {
            let packed = vtbl1_u8(half, vcreate_u8(ORDERS[kept as usize]));
            let place = &mut out[end..end + 8];
            // SAFETY: there is room for 8 bytes.
            unsafe { vst1_u8(place.as_mut_ptr(), packed) };
            end += kept.count_ones() as usize;
        }
        end
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::*;

    use super::{ORDERS, Run};

    pub(super) fn move_and_drop(bytes: &[u8], moves: &[Run], drops: &[Run], out: &mut [u8]) -> Option<usize> {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi2") {
            // SAFETY: the machine has these instructions.
            return Some(unsafe { wide(bytes, moves, drops, out) });
        }
        if is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt") {
            // SAFETY: the machine has these instructions.
            return Some(unsafe { narrow(bytes, moves, drops, out) });
        }
        None
    }

    pub(super) fn squeeze(bytes: &[u8], keeps: &[Run], to: u8, after: bool, out: &mut [u8]) -> Option<usize> {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi2") {
            // SAFETY: the machine has these instructions.
            return Some(unsafe { squeeze_wide(bytes, keeps, to, after, out) });
        }
        if is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt") {
            // SAFETY: the machine has these instructions.
            return Some(unsafe { squeeze_narrow(bytes, keeps, to, after, out) });
        }
        None
    }

    pub(super) fn keep(bytes: &[u8], kept: &[u64], out: &mut [u8]) -> Option<usize> {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi2") {
            // SAFETY: the machine has these instructions.
            return Some(unsafe { keep_wide(bytes, kept, out) });
        }
        if is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt") {
            // SAFETY: the machine has these instructions.
            return Some(unsafe { keep_narrow(bytes, kept, out) });
        }
        None
    }

    /// 64 bytes at a time. The caller has checked that `out` holds 64 bytes more than `bytes`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    fn keep_wide(bytes: &[u8], kept: &[u64], out: &mut [u8]) -> usize {
        let mut end = 0;
        for (chunk, kept) in bytes.chunks(64).zip(kept) {
            let (given, valid) = load_wide(chunk);
            end = pack_wide(given, kept & valid, out, end);
        }
        end
    }

    /// 16 bytes at a time, each half shuffled. `out` holds 64 bytes more than `bytes`.
    #[target_feature(enable = "ssse3,popcnt")]
    pub(super) fn keep_narrow(bytes: &[u8], kept: &[u64], out: &mut [u8]) -> usize {
        let mut end = 0;
        for (chunk, kept) in bytes.chunks(64).zip(kept) {
            for (index, quarter) in chunk.chunks(16).enumerate() {
                let (given, valid) = load_narrow(quarter);
                end = pack(given, (kept >> (16 * index)) as u32 & valid, out, end);
            }
        }
        end
    }

    /// 64 bytes at a time. The caller has checked that `out` holds 64 bytes more than `bytes`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    fn squeeze_wide(bytes: &[u8], keeps: &[Run], to: u8, after: bool, out: &mut [u8]) -> usize {
        let (mut end, mut before) = (0, u64::from(after));
        for chunk in bytes.chunks(64) {
            let (given, valid) = load_wide(chunk);
            let kept = keeps.iter().fold(0, |kept, run| {
                let offset = _mm512_sub_epi8(given, _mm512_set1_epi8(run.low as i8));
                kept | _mm512_cmple_epu8_mask(offset, _mm512_set1_epi8(run.span as i8))
            });
            let written = valid & !(!kept & (!kept << 1 | before));
            before = !kept >> 63;
            let mapped = _mm512_mask_blend_epi8(kept, _mm512_set1_epi8(to as i8), given);
            end = pack_wide(mapped, written, out, end);
        }
        end
    }

    /// 16 bytes at a time, each half shuffled. `out` holds 64 bytes more than `bytes`.
    #[target_feature(enable = "ssse3,popcnt")]
    pub(super) fn squeeze_narrow(bytes: &[u8], keeps: &[Run], to: u8, after: bool, out: &mut [u8]) -> usize {
        let (mut end, mut before) = (0, u32::from(after));
        for chunk in bytes.chunks(16) {
            let (given, valid) = load_narrow(chunk);
            let kept = keeps.iter().fold(_mm_setzero_si128(), |kept, run| {
                let offset = _mm_sub_epi8(given, _mm_set1_epi8(run.low as i8));
                let hits = _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8(run.span as i8)), offset);
                _mm_or_si128(kept, hits)
            });
            let target = _mm_andnot_si128(kept, _mm_set1_epi8(to as i8));
            let mapped = _mm_or_si128(_mm_and_si128(kept, given), target);
            let others = !(_mm_movemask_epi8(kept) as u32) & 0xffff;
            let written = valid & !(others & (others << 1 | before));
            before = others >> 15;
            end = pack(mapped, written, out, end);
        }
        end
    }

    /// 64 bytes at a time. The caller has checked that `out` holds 64 bytes more than `bytes`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    fn wide(bytes: &[u8], moves: &[Run], drops: &[Run], out: &mut [u8]) -> usize {
        let mut end = 0;
        for chunk in bytes.chunks(64) {
            let (given, valid) = load_wide(chunk);
            let hits = |run: &Run| {
                let offset = _mm512_sub_epi8(given, _mm512_set1_epi8(run.low as i8));
                _mm512_cmple_epu8_mask(offset, _mm512_set1_epi8(run.span as i8))
            };
            let dropped = drops.iter().fold(0, |dropped, run| dropped | hits(run));
            let moved = moves.iter().fold(given, |moved, run| {
                _mm512_mask_add_epi8(moved, hits(run), moved, _mm512_set1_epi8(run.shift as i8))
            });
            let kept = valid & !dropped;
            end = pack_wide(moved, kept, out, end);
        }
        end
    }

    /// 16 bytes at a time, each half shuffled. `out` holds 64 bytes more than `bytes`.
    #[target_feature(enable = "ssse3,popcnt")]
    pub(super) fn narrow(bytes: &[u8], moves: &[Run], drops: &[Run], out: &mut [u8]) -> usize {
        let mut end = 0;
        let (chunks, rest) = bytes.as_chunks::<16>();
        for chunk in chunks {
            end = narrow_chunk(chunk, 0xffff, moves, drops, out, end);
        }
        if !rest.is_empty() {
            let mut padded = [0; 16];
            padded[..rest.len()].copy_from_slice(rest);
            end = narrow_chunk(&padded, (1 << rest.len()) - 1, moves, drops, out, end);
        }
        end
    }

    #[inline]
    #[target_feature(enable = "ssse3,popcnt")]
    fn narrow_chunk(
        chunk: &[u8; 16],
        valid: u32,
        moves: &[Run],
        drops: &[Run],
        out: &mut [u8],
        end: usize,
    ) -> usize {
        // SAFETY: the chunk has 16 bytes.
        let given = unsafe { _mm_loadu_si128(chunk.as_ptr().cast()) };
        let hits = |run: &Run| {
            let offset = _mm_sub_epi8(given, _mm_set1_epi8(run.low as i8));
            _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8(run.span as i8)), offset)
        };
        let dropped = drops.iter().fold(_mm_setzero_si128(), |any, run| _mm_or_si128(any, hits(run)));
        let moved = moves.iter().fold(given, |moved, run| {
            _mm_add_epi8(moved, _mm_and_si128(hits(run), _mm_set1_epi8(run.shift as i8)))
        });
        pack(moved, valid & !(_mm_movemask_epi8(dropped) as u32), out, end)
    }

    /// Loads at most 64 bytes, with NULs behind them. Returns also a bit for each.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    fn load_wide(chunk: &[u8]) -> (__m512i, u64) {
        let valid = u64::MAX >> (64 - chunk.len());
        // SAFETY: the mask lets only bytes of the chunk be read.
        (unsafe { _mm512_maskz_loadu_epi8(valid, chunk.as_ptr().cast()) }, valid)
    }

    /// Writes the bytes whose bits are set in `kept`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    fn pack_wide(bytes: __m512i, kept: u64, out: &mut [u8], end: usize) -> usize {
        let packed = _mm512_maskz_compress_epi8(kept, bytes);
        let place = &mut out[end..end + 64];
        // SAFETY: there is room for 64 bytes.
        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), packed) };
        end + kept.count_ones() as usize
    }

    /// Loads at most 16 bytes, with NULs behind them. Returns also a bit for each.
    #[inline]
    #[target_feature(enable = "ssse3,popcnt")]
    fn load_narrow(chunk: &[u8]) -> (__m128i, u32) {
        let mut padded = [0; 16];
        padded[..chunk.len()].copy_from_slice(chunk);
        // SAFETY: it has 16 bytes.
        (unsafe { _mm_loadu_si128(padded.as_ptr().cast()) }, 0xffff >> (16 - chunk.len()))
    }

    /// Writes the bytes whose bits are set in `kept`.
    #[inline]
    #[target_feature(enable = "ssse3,popcnt")]
    fn pack(bytes: __m128i, kept: u32, out: &mut [u8], mut end: usize) -> usize {
        for (kept, half) in [(kept & 0xff, bytes), (kept >> 8, _mm_srli_si128::<8>(bytes))] {
            let order = _mm_set_epi64x(0, ORDERS[kept as usize] as i64);
            let packed = _mm_shuffle_epi8(half, order);
            let place = &mut out[end..end + 8];
            // SAFETY: there is room for 8 bytes.
            unsafe { _mm_storel_epi64(place.as_mut_ptr().cast(), packed) };
            end += kept.count_ones() as usize;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variant = fn(&[u8], &[Run], &[Run], &mut [u8]) -> Option<usize>;

    /// The variant that this machine selects, and the one it would select without its newest instructions.
    fn variants() -> Vec<Variant> {
        let mut variants: Vec<Variant> = vec![move_and_drop];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt") {
            // SAFETY: the machine has these instructions.
            variants.push(|bytes, moves, drops, out| Some(unsafe { imp::narrow(bytes, moves, drops, out) }));
        }
        variants
    }

    #[test]
    fn every_variant_agrees_with_one_byte_at_a_time() {
        let bytes: Vec<u8> = (0..3000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect();
        let run = |low, span, shift| Run { low, span, shift };
        let moves = [run(b'a', 25, 224), run(0, 0, 7), run(200, 55, 3)];
        let all = [run(b'0', 9, 0), run(b'\n', 0, 0), run(128, 127, 0)];
        let inside = |run: &Run, byte: u8| byte.wrapping_sub(run.low) <= run.span;
        for length in [0, 1, 7, 16, 63, 64, 65, 200, 3000] {
            for drops in [&all[..0], &all[..1], &all] {
                let expected: Vec<u8> = bytes[..length]
                    .iter()
                    .filter(|byte| !drops.iter().any(|run| inside(run, **byte)))
                    .map(|byte| {
                        let shift = moves.iter().find(|run| inside(run, *byte)).map_or(0, |run| run.shift);
                        byte.wrapping_add(shift)
                    })
                    .collect();
                for variant in variants() {
                    let mut out = vec![0; length + ROOM];
                    if let Some(end) = variant(&bytes[..length], &moves, drops, &mut out) {
                        assert_eq!(out[..end], expected, "{length} {drops:?}");
                    }
                }
            }
        }
    }

    type Squeeze = fn(&[u8], &[Run], u8, bool, &mut [u8]) -> Option<usize>;

    #[test]
    fn every_variant_squeezes_as_one_byte_at_a_time_does() {
        let mut variants: Vec<Squeeze> = vec![squeeze];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt") {
            variants.push(|text, runs, to, on, out| {
                // SAFETY: the machine has these instructions.
                Some(unsafe { imp::squeeze_narrow(text, runs, to, on, out) })
            });
        }
        let bytes: Vec<u8> = (0..3000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 25) as u8).collect();
        let keeps = [(b'a', 25), (b'A', 25), (b'0', 9)].map(|(low, span)| Run { low, span, shift: 0 });
        for length in [0, 1, 7, 15, 16, 17, 63, 64, 65, 128, 200, 3000] {
            for (keeps, after) in [(&keeps[..], false), (&keeps[..1], true), (&keeps[..0], false)] {
                let mut expected = Vec::new();
                let mut last = after;
                for byte in &bytes[..length] {
                    let kept = keeps.iter().any(|run| byte.wrapping_sub(run.low) <= run.span);
                    if kept || !last {
                        expected.push(if kept { *byte } else { b'\n' });
                    }
                    last = !kept;
                }
                for variant in &variants {
                    let mut out = vec![0; length + ROOM];
                    if let Some(end) = variant(&bytes[..length], keeps, b'\n', after, &mut out) {
                        assert_eq!(out[..end], expected, "{length} {after}");
                    }
                }
            }
        }
    }
    type Keep = fn(&[u8], &[u64], &mut [u8]) -> Option<usize>;

    #[test]
    fn every_variant_keeps_the_bytes_whose_bits_are_set() {
        let mut variants: Vec<Keep> = vec![keep];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt") {
            // SAFETY: the machine has these instructions.
            variants.push(|bytes, kept, out| Some(unsafe { imp::keep_narrow(bytes, kept, out) }));
        }
        let random = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let bytes: Vec<u8> = (0..3000).map(|i| random(i) as u8).collect();
        for length in [0, 1, 7, 15, 16, 17, 63, 64, 65, 128, 200, 3000_usize] {
            for density in 0..4 {
                let word = |i: u64| match density {
                    0 => 0,
                    1 => random(i) & random(i + 99),
                    2 => random(i),
                    _ => u64::MAX,
                };
                let kept: Vec<u64> = (0..length.div_ceil(64) as u64).map(word).collect();
                let is_kept = |at: &usize| kept[at / 64] >> (at % 64) & 1 == 1;
                let expected: Vec<u8> = (0..length).filter(is_kept).map(|at| bytes[at]).collect();
                for variant in &variants {
                    let mut out = vec![0; length + ROOM];
                    if let Some(end) = variant(&bytes[..length], &kept, &mut out) {
                        assert_eq!(out[..end], expected, "{length} {density}");
                    }
                }
            }
        }
    }
}
