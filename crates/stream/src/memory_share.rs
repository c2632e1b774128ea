//! What one kernel holds of the memory that all share.

use crate::Storage;
use std::sync::Arc;

/// So much of it is one kernel's, until this is dropped.
#[derive(Debug)]
pub struct Holding {
    storage: Arc<dyn Storage>,
    bytes: usize,
    /// What it is never asked to give back. In bytes.
    least: usize,
}

impl Holding {
    /// What everybody gets, however much others hold.
    pub fn new(storage: &Arc<dyn Storage>) -> Self {
        let least = storage.open();
        Holding { storage: Arc::clone(storage), bytes: least, least }
    }

    /// Nothing at first: for one whose work others can take back.
    pub fn none(storage: &Arc<dyn Storage>) -> Self {
        Holding { storage: Arc::clone(storage), bytes: 0, least: 0 }
    }

    /// Whether it may hold so much: more is taken if it has less, and there is more. In bytes.
    pub fn may_hold(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes {
            let Some(taken) = self.storage.take(self.bytes, bytes) else { return false };
            self.bytes = taken;
        }
        true
    }

    /// It needs no more than this from now on. In bytes.
    pub fn keep(&mut self, bytes: usize) {
        let kept = bytes.max(self.least);
        if kept < self.bytes {
            self.storage.give_back(self.bytes - kept);
            self.bytes = kept;
        }
    }

    /// What the other one holds is held by this one.
    pub fn absorb(&mut self, mut other: Holding) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.storage.give_back(self.bytes);
    }
}
