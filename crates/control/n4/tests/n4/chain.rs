//! N4 of another member of a chain goes on with the state of the first.

use std::sync::Arc;

use causeway_dataplane::{ApplyError, RestoredUrr};
use causeway_n4::{RestoreError, UsageSnapshot};
use causeway_pfcp::*;
use causeway_types::{Seid, Span, UrrId};

use crate::fixture::{Got, Pace, RECOVERY, Smf, TestN4, activation, establishment, query};

/// The records of a chain, as a daemon would keep them.
#[derive(Default)]
struct Records {
    sessions: Vec<Vec<u8>>,
    responses: Vec<Vec<u8>>,
}

impl Records {
    fn of(n4: &mut TestN4) -> Self {
        let mut changed: Vec<u32> = std::iter::from_fn(|| n4.n4.next_changed_session()).collect();
        changed.sort_unstable();
        changed.dedup();
        Self {
            sessions: changed.iter().filter_map(|index| n4.n4.session_record(*index)).collect(),
            responses: std::iter::from_fn(|| n4.n4.next_response()).collect(),
        }
    }
}

fn first() -> (TestN4, Smf) {
    let mut n4 = TestN4::new();
    n4.n4.number_from(RECOVERY, 1);
    n4.n4.record_changes(n4.now);
    let mut smf = Smf::new(10);
    n4.associate(&mut smf);
    (n4, smf)
}

/// Another member with these records and the associations of the first.
fn second(before: &TestN4, records: &Records) -> TestN4 {
    let mut n4 = TestN4::new();
    n4.now = before.now + Span::from_millis(300);
    n4.n4.number_from(RECOVERY, 2);
    for (_, octets) in before.n4.association_records() {
        n4.n4.restore_association(n4.now, &octets).unwrap();
    }
    for octets in &records.sessions {
        n4.n4.restore_session(n4.now, octets).unwrap();
    }
    for octets in &records.responses {
        n4.n4.restore_response(n4.now, octets).unwrap();
    }
    n4.drain();
    n4.n4.record_changes(n4.now);
    n4.drain();
    n4
}

// Input:  three sessions, of which one is modified and one deleted; another member with their records. Then the last request of each kind again, as the
//         SMF sends it when the response was lost with the first member.
// Output: the same octets, and nothing new; the records of the second are those of the first.
#[test]
fn requests_are_answered_as_before() {
    let (mut n4, mut smf) = first();
    let mut requests = Vec::new();
    let mut seids = Vec::new();
    for _ in 0..3 {
        let request = establishment(smf.node_id(), smf.f_seid());
        let octets = n4.send(&mut smf, Some(Seid(0)), request);
        let response = n4.next(smf.addr);
        seids.push(response.up_seid());
        requests.push((octets, response.bytes));
    }
    let octets = n4.send(&mut smf, Some(seids[0]), activation(1));
    requests.push((octets, n4.next(smf.addr).bytes));
    let octets = n4.send(&mut smf, Some(seids[1]), SessionDeletionRequest::default());
    requests.push((octets, n4.next(smf.addr).bytes));
    let records = Records::of(&mut n4);
    assert_eq!((records.sessions.len(), records.responses.len()), (2, 6));
    let mut other = second(&n4, &records);
    assert!(other.plane.has(seids[0]) && !other.plane.has(seids[1]) && other.plane.has(seids[2]));
    for (request, response) in requests {
        other.deliver(smf.addr, &request);
        assert_eq!(other.next(smf.addr).bytes, response);
    }
    assert_eq!(other.plane.done.len(), 2, "nothing but the two sessions");
    for index in 0..3 {
        assert_eq!(other.n4.session_record(index), n4.n4.session_record(index), "{index}");
    }
}

// Input:  sessions that the second member has, which begins in the same second; it modifies, reports usage of, and deletes them, and establishes another one.
// Output: accepted; the report goes to the SMF with another sequence number than any of the first; the new session has another SEID and TEID.
#[test]
fn sessions_go_on() {
    let (mut n4, mut smf) = first();
    let seids = [n4.establish(&mut smf), n4.establish(&mut smf)];
    n4.uses(seids[0], 1000);
    let report = n4.next(smf.addr);
    n4.deliver(smf.addr, &Smf::report_response(&report, seids[0], Cause::RequestAccepted));
    let records = Records::of(&mut n4);
    let mut other = second(&n4, &records);
    other.uses(seids[0], 2000);
    let next = other.next(smf.addr);
    assert_ne!(next.header.sequence, report.header.sequence);
    assert_eq!((report.usage()[0].1, next.usage()[0].1), (0, 1), "UR-SEQN goes on");
    other.deliver(smf.addr, &Smf::report_response(&next, seids[0], Cause::RequestAccepted));
    assert_eq!(other.ask(&mut smf, Some(seids[1]), activation(1)).cause(), Cause::RequestAccepted);
    let new = other.establish(&mut smf);
    assert!(!seids.contains(&new));
    let tunnels = |seid| -> Vec<_> {
        let session = other.n4.session(seid).unwrap();
        session.rules().pdrs.values().filter_map(|pdr| pdr.pdi.tunnel).collect()
    };
    assert!(tunnels(new).iter().all(|tunnel| !tunnels(seids[0]).contains(tunnel)));
    for seid in seids {
        let deleted = other.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
        assert_eq!(deleted.cause(), Cause::RequestAccepted);
    }
}

// Input:  a session with a report that is sent and not answered, and usage that waits while a modification is in the data plane; another member with the record.
//         The SMF answers the report there. Then the record of the first is restored once more, after the answer.
// Output: the same octets after the first wait, so that the SMF counts nothing twice; the usage that waited, with the next number, once changes are recorded. Once answered,
//         nothing is sent again.
#[test]
fn reports_without_a_response_go_on() {
    let (mut n4, mut smf) = first();
    let seid = n4.establish(&mut smf);
    n4.uses(seid, 1000);
    let report = n4.next(smf.addr);
    n4.plane.pace = Pace::Held;
    n4.send(&mut smf, Some(seid), activation(1));
    n4.uses(seid, 500);
    let records = Records::of(&mut n4);
    let mut other = second(&n4, &records);
    assert_eq!(other.n4.next_changed_session(), Some(0), "the request for what waited is recorded");
    other.pass(Span::from_secs(2));
    let sent: Vec<Vec<u8>> = other.sent.drain(..).map(|(_, bytes)| bytes).collect();
    assert_eq!(sent.iter().filter(|bytes| **bytes == report.bytes).count(), 1);
    let waited: Vec<_> = sent.iter().filter(|bytes| **bytes != report.bytes).collect();
    let next = Got::from_bytes(waited[0]);
    assert_eq!((report.usage()[0].1, report.usage()[0].2), (0, 1000));
    assert_eq!((next.usage()[0].1, next.usage()[0].2), (1, 500));
    other.deliver(smf.addr, &Smf::report_response(&report, seid, Cause::RequestAccepted));
    other.deliver(smf.addr, &Smf::report_response(&next, seid, Cause::RequestAccepted));
    other.sent.clear();
    other.pass(Span::from_secs(600));
    other.is_quiet();
    let record = other.n4.session_record(0).unwrap();
    let mut third = second(&other, &Records { sessions: vec![record], responses: Vec::new() });
    third.pass(Span::from_secs(600));
    third.is_quiet();
}

// Input:  a session with a snapshot of its usage; then a report of it, a query, and a modification that gives a threshold, each followed by a restoration of the record.
// Output: the snapshot goes on without the usage that was reported since; new thresholds count from the last report.
#[test]
fn a_snapshot_goes_on_without_what_was_reported() {
    let (mut n4, mut smf) = first();
    let seid = n4.establish(&mut smf);
    let restored = |n4: &TestN4, snapshot: &UsageSnapshot| -> Vec<_> {
        let records = Records { sessions: vec![n4.n4.session_record(0).unwrap()], responses: Vec::new() };
        let urrs = second(n4, &records).n4.restored_urrs(snapshot);
        let octets = |it: &RestoredUrr| it.reported.map(|totals| totals.volume.total());
        urrs.iter().map(|it| (it.urr, octets(it), it.has_new_thresholds, it.has_new_quotas)).collect()
    };
    let snapshot = n4.n4.usage_snapshot(seid, vec![7]).unwrap();
    assert_eq!(restored(&n4, &snapshot), [(UrrId(1), None, false, false)]);
    let volumes = Volumes { total: Some(7), uplink: None, downlink: None };
    let update = UpdateUrr { volume_threshold: Some(VolumeThreshold(volumes)), ..UpdateUrr::new(UrrId(1)) };
    let update = SessionModificationRequest { update_urrs: [update].into(), ..Default::default() };
    assert_eq!(n4.ask(&mut smf, Some(seid), update).cause(), Cause::RequestAccepted);
    assert_eq!(restored(&n4, &snapshot), [(UrrId(1), None, true, false)]);
    n4.uses(seid, 1000);
    assert_eq!(restored(&n4, &snapshot), [(UrrId(1), Some(1000), true, false)]);
    let snapshot = n4.n4.usage_snapshot(seid, vec![7]).unwrap();
    assert_eq!(restored(&n4, &snapshot), [(UrrId(1), None, false, false)]);
    assert_eq!(n4.ask(&mut smf, Some(seid), query()).cause(), Cause::RequestAccepted);
    assert_eq!(restored(&n4, &snapshot), [(UrrId(1), Some(10), false, false)]);
    assert_eq!(n4.n4.session_index(seid), Some(0));
    assert_eq!((n4.n4.usage_snapshot(Seid(7), Vec::new()), n4.n4.established_session(1)), (None, None));
}

// Input:  five sessions that an SMF establishes in the same way, of which the second has reported usage; another member with their records.
// Output: from the third one on they share a profile, as sessions do that a known template establishes; each has its rules, and its reports go on.
#[test]
fn restored_sessions_share_a_profile() {
    let (mut n4, mut smf) = first();
    let seids: Vec<Seid> = (0..5).map(|_| n4.establish(&mut smf)).collect();
    n4.uses(seids[3], 1000);
    let report = n4.next(smf.addr);
    n4.deliver(smf.addr, &Smf::report_response(&report, seids[3], Cause::RequestAccepted));
    let records = Records::of(&mut n4);
    let mut other = second(&n4, &records);
    let profiles: Vec<_> = other.plane.done.iter().map(|plan| plan.change.installed().unwrap()).collect();
    assert!(profiles[2].is_shared());
    assert!(profiles[2..].iter().all(|it| Arc::ptr_eq(it.profile(), profiles[2].profile())));
    for index in 0..5 {
        assert_eq!(other.n4.session_record(index), n4.n4.session_record(index), "{index}");
    }
    other.uses(seids[3], 2000);
    assert_eq!(other.next(smf.addr).usage()[0].1, 1, "UR-SEQN goes on");
    for seid in seids {
        assert_eq!(other.ask(&mut smf, Some(seid), activation(1)).cause(), Cause::RequestAccepted);
        let deleted = other.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
        assert_eq!(deleted.cause(), Cause::RequestAccepted);
    }
    assert_eq!((other.n4.session_count(), other.rest().tunnels), (0, 0));
}

// Input:  records that are cut off, of an SMF without an association, twice the same; a data plane that refuses the session.
// Output: errors with their names, and a session less; nothing else changes.
#[test]
fn a_record_that_cannot_be_restored_changes_nothing() {
    let (mut n4, mut smf) = first();
    let seid = n4.establish(&mut smf);
    let records = Records::of(&mut n4);
    let record = &records.sessions[0];
    let mut other = TestN4::new();
    for len in 0..record.len() {
        assert_eq!(other.n4.restore_session(other.now, &record[..len]), Err(RestoreError::NoRecord));
    }
    assert_eq!(other.n4.restore_association(other.now, &[1, 2]), Err(RestoreError::NoRecord));
    assert_eq!(other.n4.restore_response(other.now, &[]), Err(RestoreError::NoRecord));
    assert!(matches!(other.n4.restore_session(other.now, record), Err(RestoreError::NoAssociation(_))));
    let mut other = second(&n4, &records);
    assert_eq!(other.n4.restore_session(other.now, record), Err(RestoreError::Seid(seid)));
    assert_eq!(other.n4.sessions().count(), 1);
    let mut refusing = second(&n4, &Records::default());
    refusing.plane.failures.push_back(ApplyError::UnknownSession(seid));
    refusing.n4.restore_session(refusing.now, record).unwrap();
    refusing.drain();
    assert_eq!((refusing.n4.session_count(), refusing.rest().tunnels), (0, 0));
    assert_eq!(refusing.ask(&mut smf, Some(seid), activation(1)).cause(), Cause::SessionContextNotFound);
}
