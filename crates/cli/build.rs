//! Makes release binaries start faster: gives the linker the order of functions that `cargo xtask order` has written, and
//! fixed addresses, of which the loader would correct 17,000 at each start.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=startup.ld");
    println!("cargo::rerun-if-changed=build.rs");
    let is =
        |name: &str, wanted: &str| var(name).is_ok_and(|value| value.split(',').any(|one| one == wanted));
    let is_static = is("CARGO_CFG_TARGET_FEATURE", "crt-static");
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_gnu && !is_static && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    // There rustc brings a linker (lld) that is known to take it, unless another one was chosen.
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let chosen = var("RUSTC_LINKER").is_ok() || flags.contains("linker") || flags.contains("link-arg");
    let known = is("TARGET", "x86_64-unknown-linux-gnu") && (is_static || !chosen);
    if known && is("PROFILE", "release") {
        println!(
            "cargo::rustc-link-arg-bins=-Wl,-T,{}/startup.ld",
            var("CARGO_MANIFEST_DIR").unwrap_or_default()
        );
    }
}
