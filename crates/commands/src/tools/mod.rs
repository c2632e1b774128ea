//! Every tool, in one list; and the small tools, one file or folder each.

use crate::tool::row::Tool;

/// Declares the modules of the small tools, and lists the row of every tool.
macro_rules! registry {
    ($($(mod $module:ident)? $(use $row:path)?;)*) => {
        $($(pub(crate) mod $module;)?)*

        /// Every tool that pelton knows.
        pub static TOOLS: &[&Tool] = &[$($(&$module::TOOL,)? $(&$row,)?)*];
    };
}

// One line per tool: `mod NAME;` for a file or folder here, `use PATH;` for a row elsewhere.
registry! {
    use crate::awk::tool_rows::AWK;
    mod base64;
    mod basename;
    mod cat;
    mod comm;
    mod cut;
    mod dirname;
    mod echo;
    mod expand;
    mod find;
    mod fold;
    use crate::grep::TOOL;
    use crate::tools::gzip::GUNZIP;
    mod gzip;
    use crate::tools::gzip::ZCAT;
    use crate::awk::tool_rows::GAWK;
    mod head;
    mod join;
    use crate::awk::tool_rows::NAWK;
    mod nl;
    use crate::awk::tool_rows::ORIGINAL_AWK;
    mod paste;
    use crate::awk::tool_rows::MAWK;
    mod json;
    mod ls;
    mod printf;
    mod rev;
    use crate::sed::TOOL;
    mod seq;
    use crate::tools::sha256sum::SHA1SUM;
    use crate::tools::sha256sum::SHA224SUM;
    mod sha256sum;
    use crate::sort::TOOL;
    mod shuf;
    mod tac;
    mod tail;
    mod tee;
    mod tr;
    mod tsort;
    mod unexpand;
    mod uniq;
    mod wc;
    mod xargs;
    mod jq;
}
