//! Fixed cases.
