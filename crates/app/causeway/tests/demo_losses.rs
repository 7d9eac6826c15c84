//! A demo whose N3 loses packets. A program of its own, since a demo names its namespaces after the process.

use causeway_lab::cleanup::Cleanup;
use causeway_lab::demo::{LossyLink, Options, run};
use causeway_lab::netns::Namespace;

// Input:  one packet of ten is lost on N3, from the gNBs to the UPF, then from the UPF to the gNBs.
// Output: the ping fails, and the reason names the side where the lost packets were last seen.
#[test]
fn a_failure_names_the_side_where_packets_were_last_seen() {
    let probe = Cleanup::default();
    let made = Namespace::create("probe", &probe);
    probe.run();
    if let Err(error) = made {
        return eprintln!("SKIPPED demo_losses: needs root ({error})");
    }
    for (link, last_seen, missing) in [
        (LossyLink::N3Uplink, "sent on N3 by the gNB emulator", "received on N3 by the UPF"),
        (LossyLink::N3Downlink, "forwarded to N3 by the UPF", "received on N3 by the gNB emulator"),
    ] {
        let out = std::env::temp_dir().join(format!("causeway-losses-{}", std::process::id()));
        let program = env!("CARGO_BIN_EXE_causeway").into();
        let options = Options { out: out.clone(), dataplane: None, program, keep: false, lossy: Some(link) };
        assert!(!run(&options).unwrap());
        let report = std::fs::read(out.join("report.json")).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
        let reason = report["reason"].as_str().unwrap();
        assert!(reason.contains("step 4 (Ping through the tunnel)"), "{reason}");
        assert!(reason.contains(&format!("last seen when {last_seen}: only ")), "{reason}");
        assert!(reason.contains(missing), "{reason}");
        std::fs::remove_dir_all(out).unwrap();
    }
}
