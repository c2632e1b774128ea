//! Users and groups by name and number, from whatever the machine keeps them in.

use std::ffi::{CStr, c_char, c_int};

/// The number of a user.
pub fn user_id(name: &CStr) -> Option<u32> {
    ask(|entry, text, found| {
        // SAFETY: all four are valid for the call, and `text` is as long as is said.
        unsafe { libc::getpwnam_r(name.as_ptr(), entry, text.as_mut_ptr(), text.len(), found) }
    })
    .map(|(entry, _): (libc::passwd, _)| entry.pw_uid)
}

/// The number of a group.
pub fn group_id(name: &CStr) -> Option<u32> {
    ask(|entry, text, found| {
        // SAFETY: as above.
        unsafe { libc::getgrnam_r(name.as_ptr(), entry, text.as_mut_ptr(), text.len(), found) }
    })
    .map(|(entry, _): (libc::group, _)| entry.gr_gid)
}

/// The name of a user.
pub fn user_name(id: u32) -> Option<Vec<u8>> {
    let (entry, _text) = ask(|entry: *mut libc::passwd, text, found| {
        // SAFETY: as above.
        unsafe { libc::getpwuid_r(id, entry, text.as_mut_ptr(), text.len(), found) }
    })?;
    // SAFETY: the entry was found, and its strings lie in `_text`, which still lives.
    Some(unsafe { CStr::from_ptr(entry.pw_name) }.to_bytes().to_vec())
}

/// The name of a group.
pub fn group_name(id: u32) -> Option<Vec<u8>> {
    let (entry, _text) = ask(|entry: *mut libc::group, text, found| {
        // SAFETY: as above.
        unsafe { libc::getgrgid_r(id, entry, text.as_mut_ptr(), text.len(), found) }
    })?;
    // SAFETY: as above.
    Some(unsafe { CStr::from_ptr(entry.gr_name) }.to_bytes().to_vec())
}

/// Asks with as much room for strings as it takes.
fn ask<T: Copy>(
    mut call: impl FnMut(*mut T, &mut [c_char], *mut *mut T) -> c_int,
) -> Option<(T, Vec<c_char>)> {
    let mut text: Vec<c_char> = vec![0; 1024];
    loop {
        let mut entry = std::mem::MaybeUninit::<T>::zeroed();
        let mut found: *mut T = std::ptr::null_mut();
        match call(entry.as_mut_ptr(), &mut text, &mut found) {
            libc::ERANGE if text.len() < 1 << 24 => text.resize(text.len() * 4, 0),
            0 if !found.is_null() => {
                // SAFETY: `found` says that the entry was filled.
                return Some((unsafe { entry.assume_init() }, text));
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_both_ways() {
        assert_eq!(user_id(c"root"), Some(0));
        assert_eq!(user_name(0).as_deref(), Some(&b"root"[..]));
        assert_eq!(group_id(c"root"), Some(0));
        assert_eq!(group_name(0).as_deref(), Some(&b"root"[..]));
        assert_eq!(user_id(c"no such user"), None);
    }
}
