//! Gives the linker of static release binaries the order of functions that `cargo xtask order` has written, and makes other
//! release binaries start as fast: with fixed addresses, the loader does not correct 17,000 of them at each start.

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
    // There rustc brings a linker (lld) that is known to take it; a build by hand may have any other.
    let known = is("TARGET", "x86_64-unknown-linux-gnu") && is_static;
    if known && is("PROFILE", "release") {
        println!(
            "cargo::rustc-link-arg-bins=-Wl,-T,{}/startup.ld",
            var("CARGO_MANIFEST_DIR").unwrap_or_default()
        );
    }
}
