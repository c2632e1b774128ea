//! Copies a file's attributes, in an order in which no step undoes another: the mode comes after the owner,
//! since a change of owner clears bits of the mode.

use crate::{Preserve, Talk};
use pelton_sys::copying;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Sets the attributes of `to` that are to be preserved from `from`. Returns false if a requested one failed.
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
        // Only root can give files away. With another owner, the set-ID bits would grant other rights.
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

/// Error for an owner that is unknown in the user namespace.
const EINVAL: i32 = 22;

/// Copies access control lists, which belong to the mode, and extended attributes. Ignores errors, as `cp -a`
/// does.
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
