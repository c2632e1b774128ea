//! Makes release binaries start faster: gives the linker the order of functions that `cargo xtask order` has written, and
//! asks for no position-independent executable (PIE), in which the loader relocates 17,000 addresses at each start.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=startup.ld");
    println!("cargo::rerun-if-changed=build.rs");
    let is =
        |name: &str, wanted: &str| var(name).is_ok_and(|value| value.split(',').any(|one| one == wanted));
    if !is("PROFILE", "release") {
        return;
    }
    let is_static = is("CARGO_CFG_TARGET_FEATURE", "crt-static");
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    // There rustc brings a linker (lld) that is known to take it, unless another one was chosen.
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let chosen = var("RUSTC_LINKER").is_ok() || flags.contains("linker") || flags.contains("link-arg");
    if is("TARGET", "x86_64-unknown-linux-gnu") && (is_static || !chosen) {
        println!(
            "cargo::rustc-link-arg-bins=-Wl,-T,{}/startup.ld",
            var("CARGO_MANIFEST_DIR").unwrap_or_default()
        );
    }
}
