//! Tools for tests on BMv2.

use std::path::{Path, PathBuf};
use std::process::Command;

const TOOLS: [&str; 2] = ["simple_switch_grpc", "p4c-bm2-ss"];

/// The first tool that is not on PATH.
pub(crate) fn missing() -> Option<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |tool: &str| std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    TOOLS.into_iter().find(|tool| !is_there(tool))
}

/// A profile for BMv2, such as `HIP4`.
pub(crate) fn compile(folder: &Path, profile: &str) -> PathBuf {
    let json = folder.join("upf.json");
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = above.find(|folder| folder.join("p4/bmv2/upf.p4").is_file()).unwrap();
    let done = Command::new("p4c-bm2-ss")
        .args(["--std", "p4-16", "-DINNER_IPV6", "p4/bmv2/upf.p4"])
        .arg(format!("-DPROFILE_{profile}"))
        .arg("-o")
        .arg(&json)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    json
}
