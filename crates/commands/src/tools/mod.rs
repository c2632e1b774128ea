//! Every tool, in one list; and the small tools, one file or folder each.

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
pub(crate) mod shuf;
pub(crate) mod tac;
pub(crate) mod tail;
pub(crate) mod tee;
pub(crate) mod tr;
pub(crate) mod tsort;
pub(crate) mod unexpand;
pub(crate) mod uniq;
pub(crate) mod wc;
pub(crate) mod xargs;

use crate::tool::row::Tool;
use crate::{awk, grep, sed, sort};

/// Every tool that pelton knows.
pub static TOOLS: &[&Tool] = &[
    // One line per tool.
    &awk::tool::AWK,
    &cat::TOOL,
    &comm::TOOL,
    &cut::TOOL,
    &echo::TOOL,
    &expand::TOOL,
    &find::TOOL,
    &fold::TOOL,
    &grep::TOOL,
    &awk::tool::GAWK,
    &head::TOOL,
    &join::TOOL,
    &awk::tool::NAWK,
    &nl::TOOL,
    &awk::tool::ORIGINAL_AWK,
    &paste::TOOL,
    &awk::tool::MAWK,
    &json::TOOL,
    &printf::TOOL,
    &rev::TOOL,
    &sed::TOOL,
    &seq::TOOL,
    &sort::TOOL,
    &shuf::TOOL,
    &tac::TOOL,
    &tail::TOOL,
    &tee::TOOL,
    &tr::TOOL,
    &tsort::TOOL,
    &unexpand::TOOL,
    &uniq::TOOL,
    &wc::TOOL,
    &xargs::TOOL,
    &jq::TOOL,
];
