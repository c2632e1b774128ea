//! The small commands: one file or folder each.

pub(crate) mod cat;
pub(crate) mod comm;
pub(crate) mod cut;
pub(crate) mod echo;
pub(crate) mod expand;
pub(crate) mod find;
pub(crate) mod fold;
pub(crate) mod head;
pub(crate) mod join;
pub(crate) mod jq;
pub(crate) mod json;
pub(crate) mod nl;
pub(crate) mod paste;
pub(crate) mod printf;
pub(crate) mod rev;
pub(crate) mod seq;
pub(crate) mod tac;
pub(crate) mod tail;
pub(crate) mod tee;
pub(crate) mod tr;
pub(crate) mod unexpand;
pub(crate) mod uniq;
pub(crate) mod wc;
pub(crate) mod xargs;
