//! Algorithms over bytes and lines that several commands share.

pub(crate) mod decimal;
pub(crate) mod distinct_lines;
pub(crate) mod file_headers;
pub(crate) mod line_count;
pub(crate) mod line_cursor;
pub(crate) mod nul_line_ends;
pub(crate) mod scan;
pub(crate) mod sets;
pub(crate) mod short_copy;
pub(crate) mod tab_stops;
pub(crate) mod tail_buffer;
pub(crate) mod translate;
