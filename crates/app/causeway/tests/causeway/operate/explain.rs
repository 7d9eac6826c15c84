//! `causeway explain`.

use super::{Operated, ended, ue};

// Input:  an uplink packet of a UE with a session; one with another source address; one in a tunnel that no session has.
// Output: the session, its PDR, FAR, QER and URR, and the verdict; the reason with what to do. Nothing is counted as received.
#[test]
fn an_uplink_packet_is_explained() {
    let of = Operated::with_sessions(1);
    let (own, teid) = (ue(0).to_string(), of.sessions[0].uplink.teid.to_string());
    let explained = of.text(&["explain", "uplink", &own, "203.0.113.1", "--port", "53", "--qfi", "9"]);
    for part in [&format!("TEID {teid}"), &of.seid(0), "matches", "gate open", "counts", "FAR ", "Verdict: "]
    {
        assert!(explained.contains(part), "{part} is not in\n{explained}");
    }
    let spoofed = of.text(&["explain", "uplink", "10.45.7.7", "203.0.113.1", "--teid", &teid, "--qfi", "9"]);
    for part in ["another UE address", "Verdict: dropped", "To do: "] {
        assert!(spoofed.contains(part), "{part} is not in\n{spoofed}");
    }
    let unknown = of.json(&["explain", "uplink", &own, "203.0.113.1", "--teid", "0x77"]);
    assert_eq!(
        (unknown["disposition"].as_str(), &unknown["rules"]),
        (Some("dropped"), &serde_json::Value::Null)
    );
    assert_eq!(unknown["reason"]["reason"], "unknown_teid");
    assert_eq!(of.json(&["status"])["received_packets"], 0);
}

// Input:  a packet of a UE without a session; one from a data network that the UPF does not have; addresses of two IP
//         versions.
// Output: one line that says what is wrong; exit code 1.
#[test]
fn what_cannot_be_explained_is_an_error() {
    let of = Operated::with_sessions(0);
    for (args, expected) in [
        (vec!["uplink", "10.45.9.9", "203.0.113.1"], "there is no session with an uplink tunnel"),
        (vec!["downlink", "10.45.9.9", "203.0.113.1", "--dnn", "x"], "network is no dnn of upf.session"),
        (vec!["uplink", "10.45.9.9", "2001:db8::1", "--teid", "7"], "different IP versions"),
    ] {
        let output = of.command(&[&["explain"], &args[..]].concat()).output().unwrap();
        let (code, _, error) = ended(&output);
        assert!(code == Some(1) && error.contains(expected), "{args:?}: {error}");
    }
}
