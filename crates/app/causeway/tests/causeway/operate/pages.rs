//! Lists of many sessions.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::{Operated, ended};

// Input:  1,200 sessions, more than a page of the API has: the first 3, the ones after them, and all.
// Output: so many; a place to continue, which is the session after; all of them once, as text and as JSON.
#[test]
fn pages_continue() {
    let mut of = Operated::with_sessions(0);
    assert_eq!(of.smf.establish(1200).1, None);
    let first = of.json(&["sessions", "--limit", "3"]);
    assert_eq!(first["total"], 1200);
    assert_eq!(first["sessions"].as_array().unwrap().len(), 3);
    let after = first["after"].as_str().unwrap();
    let next = of.json(&["sessions", "--limit", "3", "--after", after]);
    let all = of.json(&["sessions", "--all"]);
    let seids = |page: &serde_json::Value| -> Vec<String> {
        let sessions = page["sessions"].as_array().unwrap().iter();
        sessions.map(|session| session["seid"].as_str().unwrap().to_owned()).collect()
    };
    let mut listed = seids(&all);
    assert_eq!([seids(&first), seids(&next)].concat(), listed[..6]);
    listed.sort();
    listed.dedup();
    assert_eq!(listed.len(), 1200);
    assert!(all.get("after").is_none(), "{}", all["after"]);

    let output = of.command(&["sessions", "--all"]).output().unwrap();
    let (_, text, note) = ended(&output);
    assert_eq!((text.lines().count(), note), (1201, "1,200 of 1,200 sessions\n"));
    let output = of.command(&["sessions", "--limit", "3"]).output().unwrap();
    let (_, text, note) = ended(&output);
    let expected = format!("3 of 1,200 sessions; more may follow: --after {after}, or --all\n");
    assert_eq!((text.lines().count(), note), (4, &*expected));
}

// Input:  a reader that leaves after the first line of many.
// Output: the command ends without a message, with 0.
#[test]
fn a_reader_that_leaves_ends_the_list() {
    let mut of = Operated::with_sessions(0);
    assert_eq!(of.smf.establish(1000).1, None);
    let mut command = of.command(&["sessions", "--all"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("SEID"), "{first}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(ended(&output), (Some(0), "", ""));
}
