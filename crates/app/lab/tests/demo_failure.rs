//! A demo whose UPF does not start.

use causeway_lab::cleanup::Cleanup;
use causeway_lab::demo::{Options, run};
use causeway_lab::netns::Namespace;

// Input:  a program that ends at once in place of the UPF.
// Output: the demo fails at its first step, says why and what was not reached, and leaves no namespace.
#[test]
fn a_upf_that_ends_is_the_reason() {
    let probe = Cleanup::default();
    let made = Namespace::create("probe", &probe);
    probe.run();
    if let Err(error) = made {
        return eprintln!("SKIPPED demo_failure: needs root ({error})");
    }
    let out = std::env::temp_dir().join(format!("causeway-demo-{}", std::process::id()));
    let passed = run(&Options {
        out: out.clone(),
        dataplane: None,
        program: "/bin/false".into(),
        keep: false,
        lossy: None,
    })
    .unwrap();
    assert!(!passed);
    let report = std::fs::read(out.join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let reason = report["reason"].as_str().unwrap();
    assert!(reason.contains("step 1") && reason.contains("causeway run ended: exit status: 1"), "{reason}");
    assert_eq!(report["not_reached"].as_array().map(Vec::len), Some(9));
    let ours = format!("causeway-{}-", std::process::id());
    for entry in std::fs::read_dir("/run/netns").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.starts_with(&ours), "{name} is left");
    }
    std::fs::remove_dir_all(out).unwrap();
}
