//! `causeway demo --dataplane xplane`: a UPF whose tables are in the memory of another host.

use std::process::Command;

// Input:  the demo with a memory server in a namespace of its own.
// Output: all steps pass, and the server has executed reads and writes of four connections, none of them repeated or refused.
#[test]
fn the_demo_passes_over_a_memory_server() {
    let out = std::env::temp_dir().join(format!("causeway-memory-demo-{}", std::process::id()));
    let demo = Command::new(env!("CARGO_BIN_EXE_causeway"))
        .args(["demo", "--dataplane", "xplane", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let (said, errors) = (String::from_utf8_lossy(&demo.stdout), String::from_utf8_lossy(&demo.stderr));
    if errors.contains("cannot run") {
        return eprintln!("SKIPPED demo_external_memory: needs netns ({})", errors.trim());
    }
    assert!(demo.status.success() && said.contains("All 10 steps passed"), "{said}\n{errors}");
    let log = std::fs::read_to_string(out.join("memory-server.log")).unwrap();
    let work = log.lines().last().unwrap();
    assert!(work.starts_with("stopped: 4 connections, 0 rejected; "), "{work}");
    assert!(work.contains(" 0 requests refused;") && !work.contains(" 0 reads "), "{work}");
    std::fs::remove_dir_all(out).unwrap();
}
