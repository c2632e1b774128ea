//! Prints the tree of each argument: `cargo run -p pelton-syntax --example tree -- 'a | b >c'`.
#![allow(missing_docs, clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    for text in std::env::args().skip(1) {
        println!("{text}\n    => {}", common::rendered(&text, pelton_syntax::Dialect::Bash));
    }
}
