//! How the binary is linked.

#[expect(
    clippy::disallowed_methods,
    reason = "a build script learns its target from the environment"
)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(name).unwrap_or_default();
    // Position-independent, the program would have some 56,000 pointers to adjust at every start:
    // about a millisecond, as much as everything else a refused task needs.
    if target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
