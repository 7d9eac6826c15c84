//! Ctrl-C in the middle of `causeway demo`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Namespaces that the process with this id has made.
fn namespaces_of(pid: u32) -> Vec<String> {
    let entries = std::fs::read_dir("/run/netns").into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("causeway-{pid}-"))).collect()
}

// Input:  SIGINT once the first UEs are connected.
// Output: exit status 130, and neither a namespace nor the UPF is left.
#[test]
fn an_interrupted_demo_leaves_nothing_behind() {
    let out = std::env::temp_dir().join(format!("causeway-interrupt-{}", std::process::id()));
    let mut demo = Command::new(env!("CARGO_BIN_EXE_causeway"))
        .args(["demo", "--out"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = demo.id();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map_while(Result::ok);
    if !lines.any(|line| line.contains("Association and 10 UEs")) {
        let output = demo.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cannot run"), "the demo failed before its second step: {said}");
        return eprintln!("SKIPPED demo_interrupt: needs netns ({})", said.trim());
    }
    let status = Command::new("kill").args(["-INT", &pid.to_string()]).status().unwrap();
    assert!(status.success());
    assert_eq!(lines.filter(|line| line.starts_with("Interrupted")).count(), 1);
    assert_eq!(demo.wait().unwrap().code(), Some(130));
    assert_eq!(namespaces_of(pid), Vec::<String>::new());
    let configuration = out.join("upf.yaml").display().to_string();
    let running =
        Command::new("pgrep").args(["-f", &format!("run --config {configuration}")]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&running.stdout), "", "the UPF still runs");
    std::fs::remove_dir_all(out).unwrap();
}
