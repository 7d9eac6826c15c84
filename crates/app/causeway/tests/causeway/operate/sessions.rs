//! `causeway sessions` and `causeway session`.

use super::{GNB, Operated, ended, ue};

/// The UEs that `causeway sessions` lists.
fn ues(of: &Operated, args: &[&str]) -> Vec<String> {
    let list = of.json(&[&["sessions"], args].concat());
    let sessions = list["sessions"].as_array().unwrap().iter();
    sessions.map(|session| session["ue"][0].as_str().unwrap().to_owned()).collect()
}

// Input:  four sessions, of which one has another gNB; each filter, with a value that fits and one that does not.
// Output: the sessions that fit, and no others; in text a line for each under the headings, and on standard error how many.
#[test]
fn sessions_are_found_by_each_filter() {
    let of = Operated::with_sessions(4);
    let all: Vec<_> = (0..4).map(|n| ue(n).to_string()).collect();
    let smf = of.smf.address.to_string();
    let (seid, teid) = (of.seid(1), of.sessions[3].uplink.teid.to_string());
    let cp_seid = format!("{}@{smf}", of.sessions[0].cp_seid.0);
    for (args, expected) in [
        (vec![], &all[..]),
        (vec!["--ue", &all[1]], &all[1..2]),
        (vec!["--ue", "10.45.9.9"], &[]),
        (vec!["--seid", &seid], &all[1..2]),
        (vec!["--teid", &teid], &all[3..]),
        (vec!["--cp-seid", &cp_seid], &all[..1]),
        (vec!["--dnn", "internet"], &all[..]),
        (vec!["--dnn", "elsewhere & nowhere"], &[]),
        (vec!["--smf", &smf], &all[..]),
        (vec!["--smf", "smf.example"], &[]),
        (vec!["--gnb", "198.51.100.7"], &all[1..]),
        (vec!["--imsi", "001010000000001"], &all[1..2]),
        (vec!["--imsi", "00101"], &[]),
        (vec!["--user-id", "imsi-001010000000002"], &all[2..3]),
        (vec!["--ue", &all[1], "--dnn", "internet", "--gnb", "198.51.100.8"], &[]),
    ] {
        let mut found = ues(&of, &args);
        found.sort();
        assert_eq!(found, expected, "{args:?}");
    }
    let output = of.command(&["sessions", "--gnb", "198.51.100.8"]).output().unwrap();
    let (code, listed, note) = ended(&output);
    assert_eq!((code, note), (Some(0), "1 of 4 sessions\n"));
    let [heading, line] = listed.lines().collect::<Vec<_>>()[..] else { panic!("{listed}") };
    assert!(heading.starts_with("SEID") && !heading.contains('\u{1b}'), "{heading}");
    for part in [of.seid(0), all[0].clone(), "internet".into(), "@198.51.100.8".into()] {
        assert!(line.contains(&part), "{part} is not in {line}");
    }
}

// Input:  one session, by the address of its UE and by its SEID, in text and as JSON.
// Output: rules with their actions, tunnels, QFI, gates, rates; usage, what is left until the threshold; the buffer. JSON has the same.
#[test]
fn a_session_is_shown_whole() {
    let of = Operated::with_sessions(1);
    let (ue, seid) = (ue(0).to_string(), of.seid(0));
    let by_ue = of.text(&["session", &ue]);
    for part in [
        seid.as_str(),
        "its SEID 0x1@",
        "internet",
        "0 packets, 0 B",
        "gtpu",
        "QFI 9",
        "buffer",
        "forward",
        "50 Mbit/s",
        "VOLTH",
        "1 MiB",
        "measuring",
        "open",
    ] {
        assert!(by_ue.contains(part), "{part} is not in\n{by_ue}");
    }
    assert!(of.text(&["session", &seid]).contains("UNTIL THRESHOLD"));
    let json = of.json(&["session", &ue]);
    assert_eq!(json["seid"], seid);
    assert_eq!(json["state"]["usage"][0]["until_threshold"]["volume"]["total"], 1 << 20);
    assert_eq!(json["fars"].as_array().unwrap().len(), 2);
}

// Input:  a UE and a SEID without a session, and a text that is neither.
// Output: one line that says so and where to look; exit code 1, and 2 for the text.
#[test]
fn a_session_that_is_not_there_is_an_error() {
    let of = Operated::with_sessions(0);
    for (name, expected) in [
        ("10.45.9.9", "there is no session with the UE address 10.45.9.9; `causeway sessions` lists them\n"),
        ("0x1234", "there is no session with SEID 0x1234; `causeway sessions` lists them\n"),
    ] {
        let output = of.command(&["session", name]).output().unwrap();
        assert_eq!(ended(&output), (Some(1), "", expected));
    }
    let output = of.command(&["session", "nonsense"]).output().unwrap();
    let (code, _, error) = ended(&output);
    assert_eq!(code, Some(2));
    assert!(error.contains("expected an address of a UE or a SEID of the UPF"), "{error}");
}

// Input:  a model of classes; a session without a PDR of a class, then one with such a PDR, and no traffic.
// Output: the latter has the class of other traffic, by `session` and `sessions`, in text and as JSON; the former none.
#[test]
fn the_class_of_a_session_is_shown() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../experiment/src/gaming/models/1000.json");
    let mut of = Operated::with_keys(1, &format!("  traffic: {{classes: {{model: {model}}}}}\n"));
    assert!(of.text(&["sessions"]).lines().next().unwrap().ends_with("FOR"));
    of.smf.application = Some("cloud-gaming");
    let session = of.smf.establish_whole(ue(1), "001010000000001", GNB);
    let (without, with) = (of.seid(0), format!("{:#x}", session.seid.0));
    let is_shown = |seid: &str| {
        let text = of.text(&["session", seid]);
        text.lines().any(|line| line.starts_with("application class ") && line.ends_with(" other"))
    };
    assert_eq!((is_shown(&without), is_shown(&with)), (false, true));
    let class = |seid| of.json(&["session", seid])["class"].clone();
    assert_eq!((class(&without), class(&with)), (serde_json::Value::Null, "other".into()));
    let listed = of.text(&["sessions"]);
    assert!(listed.lines().next().unwrap().ends_with("CLASS"), "{listed}");
    let last = |seid: &str| {
        let line = listed.lines().find(|line| line.starts_with(seid)).unwrap();
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!((last(&without).as_str(), last(&with).as_str()), ("-", "other"), "{listed}");
}
