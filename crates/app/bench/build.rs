//! Notes which commit was built, for the conditions of every report.

use std::process::Command;

fn main() {
    let revision = git(&["rev-parse", "--short=10", "HEAD"]).unwrap_or_else(|| "unknown".into());
    println!("cargo:rustc-env=CAUSEWAY_REVISION={revision}");
    println!("cargo:rustc-env=CAUSEWAY_TARGET_FEATURES={}", features());
    println!("cargo:rerun-if-changed=build.rs");
    // Written by each commit and checkout, in work trees of their own too.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// The widest vector instructions that the compiler may use unasked.
fn features() -> &'static str {
    let enabled = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let has = |name: &str| enabled.split(',').any(|feature| feature == name);
    if has("avx512f") {
        "x86-64-v4"
    } else if has("avx2") {
        "x86-64-v3"
    } else {
        "portable"
    }
}
