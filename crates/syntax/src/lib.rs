//! Shell text to lists, pipelines, stages, words and redirections, with byte spans.
//!
//! syntax knows nothing of processes, files or the environment: it only reads text.

pub mod tree;
