//! One rewrite per file, in the order in which they are tried.
