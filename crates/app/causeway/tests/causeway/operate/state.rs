//! The UPF as a whole.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Stdio;
use std::time::Instant;

use causeway_pfcp::Cause;

use super::capture::Gnb;
use super::{GNB, Operated, ue};
use crate::common::smf::Smf;
use crate::common::{PATIENCE, loopback};

// Input:  a UPF with two sessions of one SMF; each command about the whole, as text and as JSON.
// Output: the figures that belong to it.
#[test]
fn the_whole_is_shown() {
    let of = Operated::with_sessions(2);
    let (at, smf) = (of.at.to_string(), of.smf.address.to_string());
    for (args, in_text, pointer, value) in [
        (&["status"][..], &["2 of at most", "fastpath, 1 packet thread", &at][..], "/sessions", 2.into()),
        (&["associations"], &["NODE ID", &smf, "up"], "/associations/0/node_id", smf.clone().into()),
        (&["peers"], &[], "/peers", serde_json::json!([])),
        (&["pools"], &[], "/pools", serde_json::json!([])),
        (&["workers"], &["THREAD", "LOAD", "0 /s"], "/workers/0/sessions", 2.into()),
        (&["heavy"], &[], "/flows", serde_json::json!([])),
        (&["placement"], &[], "/enabled", false.into()),
        (&["interfaces"], &["n3-"], "/interfaces/0/failures", serde_json::json!([])),
        (&["drops"], &[], "/drops", serde_json::json!([])),
        (&["config", "show"], &["upf:", "max_sessions: "], "/upf/pfcp/server/0/address", at.clone().into()),
    ] {
        let text = of.text(args);
        for part in in_text {
            assert!(text.contains(part), "{args:?}: {part} is not in\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{args:?}: colours without a terminal: {text:?}");
        let json = of.json(args);
        assert_eq!(json.pointer(pointer), Some(&value), "{args:?}: {json}");
    }
}

// Input:  a hybrid data plane with two sessions, of which the first sends more than `promote_at`; one session; one that does not exist.
// Output: the uplink rule of the first is on the switch and listed, with its UE and SMF; the others are in software; an error.
#[test]
fn rules_on_the_switch_are_shown() {
    let of =
        Operated::with_keys(2, "  dataplane: hybrid\n  hybrid: {promote_at: 64kbps, demote_below: 0kbps}\n");
    assert!(of.text(&["status"]).contains("hybrid, 1 packet thread"));
    let empty = of.text(&["placement"]);
    assert!(
        empty.starts_with(
            "rules              0 on the switch of at most 20,000, 0 moving (0 armed), 4 in software\n"
        ),
        "{empty}"
    );
    let gnb = Gnb::new();
    let start = Instant::now();
    let placement = loop {
        gnb.send(&of, 100);
        let placement = of.json(&["placement"]);
        if placement["rules"]["switch"] == 1 && placement["switch"]["packets"] != 0 {
            break placement;
        }
        assert!(start.elapsed() < PATIENCE, "{placement}");
    };
    let rule = &placement["listed"][0];
    let shown = [&rule["direction"], &rule["place"], &rule["seid"], &rule["ue"][0], &rule["smf"]];
    let expected = ["uplink", "switch", &of.seid(0), &ue(0).to_string(), &of.smf.address.to_string()];
    assert_eq!(shown, expected, "{placement}");
    assert_eq!((&placement["total"], &placement["moves"]["promoted"]), (&1.into(), &1.into()), "{placement}");
    let text = of.text(&["placement"]);
    for part in [
        "1 on the switch of at most 20,000, 0 moving (0 armed), 3 in software",
        "its rate reached promote_at",
        &of.seid(0),
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let of_one = of.json(&["placement", &of.seid(1)]);
    let places: Vec<_> = of_one["listed"].as_array().unwrap().iter().map(|rule| &rule["place"]).collect();
    assert_eq!(places, ["software", "software"], "{of_one}");
    let output = of.command(&["placement", "0x7"]).output().unwrap();
    let (code, _, error) = super::ended(&output);
    assert!(code == Some(1) && error.contains("no session has the SEID 0x7"), "{output:?}");
}

// Input:  a packet for a tunnel that does not exist.
// Output: `causeway drops` has its reason, its number, what it means and what to do; `--all` has every other reason, too.
#[test]
fn drops_are_explained() {
    let of = Operated::with_sessions(0);
    let gnb = std::net::UdpSocket::bind((loopback(), 0)).unwrap();
    // A G-PDU of version 1 with an IPv4 packet that is cut off.
    let datagram = [0x30, 0xff, 0, 4, 0, 0, 0x12, 0x34, 0x45, 0, 0, 4];
    gnb.send_to(&datagram, (of.at, 2152)).unwrap();
    let mut drops = of.json(&["drops"]);
    while drops["drops"].as_array().unwrap().is_empty() {
        drops = of.json(&["drops"]);
    }
    let reason = &drops["drops"][0];
    assert_eq!((&reason["reason"], &reason["count"]), (&"unknown_teid".into(), &1.into()), "{drops}");
    let text = of.text(&["drops"]);
    let [name, meaning, remedy] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!(name, "unknown_teid: 1 packets, 0 /s");
    assert_eq!(meaning.trim(), reason["meaning"].as_str().unwrap());
    assert_eq!(remedy.trim(), format!("To do: {}", reason["remedy"].as_str().unwrap()));
    assert!(of.json(&["drops", "--all"])["drops"].as_array().unwrap().len() > 20);
}

// Input:  a new log level, a reload of an unchanged file, of a changed one and of a wrong one.
// Output: each is confirmed, or the error has file, line and cure.
#[test]
fn a_running_upf_is_changed() {
    let mut of = Operated::with_sessions(0);
    assert_eq!(of.text(&["log-level", "debug"]), "log level is debug\n");
    of.running.until("log level is debug");
    let path = of.path.clone();
    assert_eq!(of.text(&["reload"]), "nothing has changed\n");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replace("  pfcp:", "  ue_address_quarantine: 5m\n  max_sessions: 7\n  pfcp:");
    std::fs::write(&path, changed).unwrap();
    assert_eq!(
        of.text(&["reload"]),
        "upf.ue_address_quarantine: in force\nupf.max_sessions: takes effect at the next start\n"
    );
    std::fs::write(&path, text.replace("  pfcp:", "  quarantine: 5m\n  pfcp:")).unwrap();
    let output = of.command(&["reload"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(":3: upf.quarantine: unknown key"), "{error}");
}

// Input:  reloads with a model of application classes that comes, with its file cut short, and with the whole file again.
// Output: it is in force; the file is named with what is wrong with it, and the former model stays: the whole one is nothing new.
#[test]
fn a_damaged_model_changes_nothing() {
    const MODEL: &str = include_str!("../../../../experiment/src/gaming/models/300.json");
    let of = Operated::with_sessions(0);
    let path = of.path.clone();
    let model = path.with_extension("model.json");
    std::fs::write(&model, MODEL).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let key = format!("  traffic: {{classes: {{model: {}}}}}\n  pfcp:", model.display());
    std::fs::write(&path, text.replace("  pfcp:", &key)).unwrap();
    assert_eq!(of.text(&["reload"]), "upf.traffic.classes.model: in force\n");
    std::fs::write(&model, &MODEL[..MODEL.len() / 2]).unwrap();
    let output = of.command(&["reload"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    let expected = format!("upf.traffic.classes.model: {}: the model file is damaged", model.display());
    assert!(error.contains(&expected), "{error}");
    std::fs::write(&model, MODEL).unwrap();
    assert_eq!(of.text(&["reload"]), "nothing has changed\n");
    std::fs::remove_file(&model).unwrap();
}

// Input:  draining without a wait; a new session; a wait of no time; a wait during which the last sessions end; the end.
// Output: the session is refused; `status` and /readyz say it; the waits end with 1 and with 0; sessions are accepted again.
#[test]
fn a_upf_is_drained() {
    let mut of = Operated::with_sessions(2);
    assert_eq!(http_status(of.at, "/readyz"), "HTTP/1.1 200 OK");
    assert_eq!(of.text(&["drain", "--no-wait"]), "no new sessions are accepted; sessions: 2\n");
    assert!(of.text(&["status"]).contains("draining"));
    assert_eq!(http_status(of.at, "/readyz"), "HTTP/1.1 503 Service Unavailable");
    assert_eq!(of.smf.establish(1), (vec![], Some(Cause::NoResourcesAvailable)));
    let output = of.command(&["drain", "--within", "0"]).output().unwrap();
    let (code, _, error) = super::ended(&output);
    assert!(code == Some(1) && error.contains("2 sessions remain"), "{output:?}");

    let waiting = of.command(&["drain"]).stdout(Stdio::piped()).spawn().unwrap();
    let seids: Vec<_> = of.sessions.iter().map(|session| session.seid).collect();
    of.smf.delete(&seids);
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(super::ended(&output), (Some(0), "no new sessions are accepted; sessions: 0\n", ""));
    assert_eq!(of.text(&["drain", "--undo"]), "new sessions are accepted; sessions: 0\n");
    assert_eq!(of.smf.establish(1).1, None);
}

/// The status line of a page.
fn http_status(at: Ipv4Addr, path: &str) -> String {
    let mut stream = TcpStream::connect((at, 9098)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

// Input:  the release of an association that does not exist; a request to the SMF of one; the end of it at once.
// Output: refused, with what to do; requested; ended with its sessions.
#[test]
fn an_association_is_released() {
    let of = Operated::with_sessions(2);
    let smf = of.smf.address.to_string();
    let output = of.command(&["release", "192.0.2.99"]).output().unwrap();
    let (code, _, error) = super::ended(&output);
    assert!(
        code == Some(1) && error.contains("no association with 192.0.2.99; `causeway associations`"),
        "{output:?}"
    );
    let output = of.command(&["release", "--now", "192.0.2.99"]).output().unwrap();
    assert!(super::ended(&output).2.contains("`causeway associations` lists them"), "{output:?}");
    let requested = of.text(&["release", &smf]);
    assert_eq!(requested, format!("{smf} was requested to release its association\n"));
    let ended = of.text(&["release", &smf, "--now"]);
    assert_eq!(ended, format!("the association with {smf} has ended; sessions removed: 2\n"));
    while of.json(&["status"])["sessions"] != 0 {}
    assert_eq!(of.json(&["associations"])["associations"], serde_json::json!([]));
}

// Input:  SMFs whose Node IDs are host names with characters that separate parts of a URL, an escape, and one that reads like an address; one
//         whose name is what is before such a character. Each of the former is released at once, others are requested, and a drain
//         requests the rest.
// Output: each of the former ends, and is not there any more; that one stays. All others are requested.
#[test]
fn a_node_id_may_have_any_characters() {
    let of = Operated::with_sessions(0);
    let names =
        |end: &str| ["a?b", "a#b", "a/b", "%41", "a b", "192.0.2."].map(|begin| format!("{begin}{end}"));
    let associate = |name: &str| {
        Smf::named(of.at, loopback(), causeway_pfcp::NodeId::Fqdn(causeway_pfcp::Fqdn::new(name)))
    };
    let mut smfs = vec![associate("a")];
    for name in names("77") {
        smfs.push(associate(&name));
        let ended = of.text(&["release", "--now", &name]);
        assert_eq!(ended, format!("the association with {name} has ended; sessions removed: 0\n"));
        let output = of.command(&["release", "--now", &name]).output().unwrap();
        assert!(super::ended(&output).2.contains("no association with"), "{output:?}");
    }
    let left = of.json(&["associations"]);
    assert!(left["associations"].as_array().unwrap().iter().any(|one| one["node_id"] == "a"), "{left}");
    // An association that was requested ends soon, with or without its SMF.
    for name in names("78") {
        smfs.push(associate(&name));
        let requested = of.text(&["release", &name]);
        assert_eq!(requested, format!("{name} was requested to release its association\n"));
    }
    smfs.extend(names("79").iter().map(|name| associate(name)));
    of.text(&["drain", "--release", "--no-wait"]);
}

// Input:  `causeway doctor` about a configuration whose UPF runs, and about one with an address that no interface has.
// Output: its N4 port is in use, which is no failure; the address is a failure with a cure, in text and as JSON; exit code 1.
#[test]
fn the_doctor_names_what_a_host_lacks() {
    let of = Operated::with_sessions(0);
    let doctor = |args: &[&str]| {
        let path = of.path.to_str().unwrap();
        of.command(&[&["doctor", "--config", path], args].concat()).output().unwrap()
    };
    let output = doctor(&["-o", "json"]);
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = |subject: &str, part: &str| {
        let all = findings.as_array().unwrap().iter();
        let mut found = all.filter(|finding| finding["subject"] == subject);
        found
            .find(|finding| finding["state"].as_str().unwrap().contains(part))
            .unwrap_or_else(|| panic!("{findings:#}"))
            .clone()
    };
    let n4 = finding("upf.pfcp.server[0]", &format!("PFCP on {}:8805, in use", of.at));
    assert_eq!(n4["verdict"], "warning");
    assert!(n4["remedy"].as_str().unwrap().contains("if this UPF is running"), "{n4}");
    finding("upf.metrics.server[0]", "HTTP on");

    let output = doctor(&["--pfcp-address", "192.0.2.77"]);
    let (code, text, _) = super::ended(&output);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("FAILURE  upf.pfcp.server[0]: no interface of this host has 192.0.2.77"), "{text}");
    assert!(text.contains("`ip address add 192.0.2.77/PREFIX dev INTERFACE`"), "{text}");
}

// Input:  a session without drops; three packets in its tunnel with the source address of another UE; the session ends,
//         and another one of the UE begins.
// Output: no drops at first; then the reason with the number, when the last one was, what it means and what to do; the new
//         session has none. Drops of tunnels that no session has are nobody's.
#[test]
fn a_session_shows_its_drops() {
    let mut of = Operated::with_sessions(2);
    let seid = of.seid(0);
    assert!(of.text(&["session", &seid]).contains("none known"));
    let gnb = Gnb::new();
    (0..3).for_each(|_| gnb.send_spoofed(&of));
    let start = Instant::now();
    let drops = loop {
        let drops = of.json(&["session", &seid])["state"]["drops"].clone();
        if drops["reasons"][0]["packets"] == 3 {
            break drops;
        }
        assert!(start.elapsed() < PATIENCE, "{drops}");
    };
    assert_eq!(drops["reasons"], serde_json::json!([{"reason": "spoofed_source", "packets": 3}]));
    assert_eq!(drops["last_reason"]["reason"], "spoofed_source");
    assert!(
        drops["last"].as_f64() >= drops["since"].as_f64() && drops["since"].as_f64() > Some(1e9),
        "{drops}"
    );
    let shown = of.text(&["session", &seid]);
    for part in ["3 packets, the first", "spoofed_source", "the last one", "To do: "] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    assert!(of.json(&["session", &of.seid(1)])["state"]["drops"].is_null());
    of.smf.delete(&[of.sessions[0].seid]);
    let next = of.smf.establish_whole(ue(0), "001010000000000", GNB);
    assert!(of.json(&["session", &format!("{:#x}", next.seid.0)])["state"]["drops"].is_null());
}
