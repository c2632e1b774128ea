//! What a copy keeps of its source besides bytes, in the order in which one does not undo the other: times last but for
//! the mode, since a change of owner clears bits of the mode.

use crate::{Preserve, Talk};
use pelton_sys::copying;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Gives the copy at `to` what is to be kept of `from`; false if something asked for could not be.
pub fn keep(from: &Path, meta: &Metadata, to: &Path, preserve: Preserve, talk: &mut dyn Talk) -> bool {
    let is_link = meta.file_type().is_symlink();
    let (mut good, mut mode) = (true, meta.mode());
    if preserve.times
        && let Err(error) = copying::set_times(to, meta)
    {
        talk.failed("preserving times for", to, Some(&error));
        good = false;
    }
    if preserve.owner
        && let Err(error) = copying::set_owner(to, meta)
    {
        // Only root gives files away; without their owner, these bits would mean somebody else.
        mode &= !0o6000;
        if error.kind() != io::ErrorKind::PermissionDenied && error.raw_os_error() != Some(EINVAL) {
            talk.failed("failed to preserve ownership for", to, Some(&error));
            good = false;
        }
    }
    keep_attributes(from, to, preserve);
    if preserve.mode
        && !is_link
        && let Err(error) = copying::set_mode(to, mode)
    {
        talk.failed("preserving permissions for", to, Some(&error));
        good = false;
    }
    good
}

/// A user namespace does not know every owner.
const EINVAL: i32 = 22;

/// Access control lists belong to the mode. The rest is kept as far as it can be, in silence, as `cp -a` does.
fn keep_attributes(from: &Path, to: &Path, preserve: Preserve) {
    if !preserve.mode && !preserve.attributes {
        return;
    }
    for name in copying::attribute_names(from) {
        let is_list = name.as_bytes().starts_with(b"system.posix_acl_");
        if if is_list { preserve.mode } else { preserve.attributes } {
            let _ = copying::copy_attribute(from, to, &name);
        }
    }
}
