//! `causeway events`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::Operated;

// Input:  `causeway events` for one event as JSON, and meanwhile a session that its SMF deletes.
// Output: a line with the event, its time and the SEID; then the end.
#[test]
fn events_are_shown_as_they_happen() {
    let mut of = Operated::with_sessions(1);
    let mut command = of.command(&["events", "--count", "1", "-o", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut note = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut note).unwrap();
    assert_eq!(note, "waiting for events; Ctrl-C ends\n");
    let seid = of.seid(0);
    of.smf.delete(&[of.sessions[0].seid]);
    let output = child.wait_with_output().unwrap();
    let event: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&event["event"], &event["seid"]), (&"session_deleted".into(), &seid.into()));
    assert!(event["time"].as_f64().unwrap() > 1.7e9, "{event}");
    assert_eq!(output.status.code(), Some(0));
}
