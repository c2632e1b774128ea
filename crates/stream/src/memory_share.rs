//! One kernel's share of the memory that all kernels share.

use crate::Storage;
use std::sync::Arc;

/// A reservation of memory, returned when dropped.
#[derive(Debug)]
pub struct Holding {
    storage: Arc<dyn Storage>,
    bytes: usize,
    /// The guaranteed minimum, in bytes.
    least: usize,
}

impl Holding {
    /// Reserves the minimum that every kernel gets, whatever the others hold.
    pub fn new(storage: &Arc<dyn Storage>) -> Self {
        let least = storage.open();
        Holding { storage: Arc::clone(storage), bytes: least, least }
    }

    /// Reserves nothing yet: for a worker whose work others can take back.
    pub fn none(storage: &Arc<dyn Storage>) -> Self {
        Holding { storage: Arc::clone(storage), bytes: 0, least: 0 }
    }

    /// Whether the kernel may hold this many bytes: grows the reservation if needed and possible.
    pub fn may_hold(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes {
            let Some(taken) = self.storage.take(self.bytes, bytes) else { return false };
            self.bytes = taken;
        }
        true
    }

    /// Shrinks the reservation to this many bytes, but not below the minimum.
    pub fn keep(&mut self, bytes: usize) {
        let kept = bytes.max(self.least);
        if kept < self.bytes {
            self.storage.give_back(self.bytes - kept);
            self.bytes = kept;
        }
    }

    /// Takes over the reservation of `other`.
    pub fn merge(&mut self, mut other: Holding) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.storage.give_back(self.bytes);
    }
}
