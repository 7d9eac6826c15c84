//! The committed P4Info is the present output of the compiler.

use std::path::Path;
use std::process::Command;

fn check(test: &str, target: &str, compiler: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join(compiler).is_file()) {
        eprintln!("SKIPPED {test}: needs {compiler} (not on PATH)");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let done =
        Command::new("scripts/p4").arg("check").env("P4_TARGETS", target).current_dir(root).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
}

// Input:  every profile, through the compiler for BMv2, where it is installed.
// Output: the P4Info that is committed.
#[test]
fn bmv2_is_fresh() {
    check("bmv2_is_fresh", "bmv2", "p4c-bm2-ss");
}
