//! The directory for lines that do not fit into memory, and the messages about it.

use std::sync::Arc;

use pelton_stream::{Holding, Resources, Storage, Stored};

/// sort's message on failure.
pub(super) type Complaint = Vec<u8>;

/// Where sort may spill.
#[derive(Clone, Debug)]
pub(super) struct SpillDirectory {
    pub(super) storage: Arc<dyn Storage>,
    /// `-T`.
    pub(super) directory: Option<Vec<u8>>,
    /// `-S`, in bytes.
    pub(super) size_bytes: Option<usize>,
}

impl SpillDirectory {
    /// Combines the granted resources with `-S` and `-T`. `None` if nothing was granted.
    pub(super) fn of(
        resources: &Resources,
        (size_bytes, directory): &(Option<usize>, Option<Vec<u8>>),
    ) -> Option<Self> {
        let storage = Arc::clone(resources.storage.as_ref()?);
        Some(SpillDirectory { storage, directory: directory.clone(), size_bytes: *size_bytes })
    }

    /// Whether this many bytes exceed the memory, or the limit of `-S`.
    pub(super) fn is_too_much(&self, bytes: usize) -> bool {
        self.is_more_than_asked(bytes) || self.storage.is_too_much(bytes)
    }

    fn is_more_than_asked(&self, bytes: usize) -> bool {
        self.size_bytes.is_some_and(|size| bytes > size)
    }

    /// Whether this many bytes may be held; if so, they are reserved.
    pub(super) fn may_hold(&self, held: &mut Holding, bytes: usize) -> bool {
        !self.is_more_than_asked(bytes) && held.may_hold(bytes)
    }

    /// Returns the settings of one of several workers: less memory.
    pub(super) fn share(&self, parts: usize) -> Self {
        SpillDirectory { size_bytes: Some(self.memory_bytes() / parts), ..self.clone() }
    }

    /// Creates a spill file.
    pub(super) fn create(&self) -> Result<Arc<dyn Stored>, Complaint> {
        // A problem with sort's own directory may never show in the real sort, which might not need it.
        let own = self.directory.as_deref().and_then(|directory| self.storage.create(Some(directory)).ok());
        own.map_or_else(|| self.storage.create(None), Ok)
            .map_err(|error| said(&[b"cannot create temporary file in '", &self.name(), b"'"], &error))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.storage.memory_bytes().min(self.size_bytes.unwrap_or(usize::MAX))
    }

    pub(super) fn name(&self) -> Vec<u8> {
        self.directory.clone().unwrap_or_else(|| self.storage.directory())
    }
}

/// Formats an error as sort does.
pub(super) fn said(what: &[&[u8]], error: &std::io::Error) -> Complaint {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default();
    [b"sort: ", what.concat().as_slice(), b": ", reason.as_bytes(), b"\n"].concat()
}
