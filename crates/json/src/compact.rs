//! Values without whitespace, otherwise as written.

use crate::visit::Kind;
use pelton_simd::padded::{Raw, Text};

/// Whether the next value needs a comma before it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compact {
    begun: bool,
}

impl Compact {
    /// Begins a top-level value.
    #[inline(always)]
    pub(crate) fn begin(&mut self) {
        self.begun = false;
    }

    #[inline(always)]
    pub(crate) fn key(&mut self, raw: Raw<'_>, to: &mut Text) {
        self.element(to);
        to.put((raw, *b":"));
    }

    #[inline(always)]
    pub(crate) fn element(&mut self, to: &mut Text) {
        if self.begun {
            to.push(b',');
        }
    }

    #[inline(always)]
    pub(crate) fn open(&mut self, kind: Kind, to: &mut Text) {
        self.begun = false;
        to.push(kind.opening());
    }

    #[inline(always)]
    pub(crate) fn close(&mut self, kind: Kind, to: &mut Text) {
        self.begun = true;
        to.push(kind.closing());
    }

    #[inline(always)]
    pub(crate) fn scalar(&mut self, raw: Raw<'_>, to: &mut Text) {
        self.begun = true;
        to.put((raw,));
    }

    pub(crate) fn piece(&mut self, raw: &[u8], to: &mut Text) {
        self.begun = true;
        to.extend(raw);
    }
}
