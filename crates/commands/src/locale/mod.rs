//! Locales: which are installed, their characters, their order and their messages.

pub(crate) mod characters;
pub(crate) mod collation;
pub(crate) mod encodings;
pub(crate) mod installed;
pub(crate) mod messages;
