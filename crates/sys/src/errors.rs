//! The system's message for an error.

/// Returns the message without the number that the standard library appends.
pub fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Whether symbolic links form a loop, or are too many.
pub fn is_link_loop(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

/// Whether there were no descriptors left, for the process or the system.
pub fn is_out_of_descriptors(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Returns the error of a process that has no descriptors left.
pub fn out_of_descriptors() -> std::io::Error {
    std::io::Error::from_raw_os_error(libc::EMFILE)
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_number_is_left() {
        assert_eq!(super::words(&std::io::Error::from_raw_os_error(2)), "No such file or directory");
        assert_eq!(super::words(&std::io::Error::other("odd")), "odd");
    }
}
