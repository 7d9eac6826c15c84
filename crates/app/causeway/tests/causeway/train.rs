//! `causeway train` as a shell sees it.

use std::path::PathBuf;
use std::process::{Command, Output};

fn train(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_causeway")).arg("train").args(args).output().unwrap()
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

fn file(name: &str, content: &str) -> PathBuf {
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("train-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path
}

const HEAD: &str =
    "uplink_packets,downlink_packets,uplink_size,downlink_size,uplink_gap,downlink_gap,class\n";

// Input:  a table of windows of two classes; the same with a word for a number; the same of one class.
// Output: a model and its scores, 0; the file, the line and the column, 1; what to give, 2.
#[test]
fn a_table_becomes_a_model() {
    let windows = |class: &str, packets: u32| -> String {
        (0..10).map(|place| format!("90,{},120,1000,9000,1100,{class}\n", packets + place)).collect()
    };
    let (calm, game) = (windows("other", 50), windows("cloud-gaming", 700));
    let table = file("windows.csv", &format!("{HEAD}{calm}{game}"));
    let out = file("model.json", "");
    let output = train(&[table.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("never") && said.contains("downlink > 379 packets: cloud-gaming"), "{said}");
    let model: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!((&model["format"], &model["window_ms"]), (&"causeway-class-model".into(), &1000.into()));

    let wrong = file("wrong.csv", &format!("{HEAD}{calm}90,many,120,1000,9000,1100,cloud-gaming\n"));
    let output = train(&[wrong.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("wrong.csv: line 12, column downlink_packets: \"many\""));

    let single = file("single.csv", &format!("{HEAD}{calm}"));
    let output = train(&[single.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("give --positive or --labels"), "{}", text(&output.stderr));
}
