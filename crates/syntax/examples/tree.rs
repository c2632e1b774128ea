#![allow(missing_docs, clippy::print_stdout)]
#[path = "../tests/common/mod.rs"]
mod common;
fn main() {
    for a in std::env::args().skip(1) {
        println!("{a}\n    => {}", common::rendered(&a, pelton_syntax::Dialect::Bash));
    }
}
