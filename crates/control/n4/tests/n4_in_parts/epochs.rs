//! Restarts of SMFs, which all parts know.

use causeway_n4::Notice;
use causeway_pfcp::*;
use causeway_types::{NtpSeconds, Seid};

use crate::alone::with_follow_on;
use crate::fixture::{Got, Pace, Smf, TestN4, config, query};
use crate::numbers::{part_of, parts};
use crate::order::establish_in;
use crate::requests::{USUAL, new_in};

/// A heartbeat of the SMF after a restart.
fn heartbeat_of_restart(smf: &mut Smf) -> Vec<u8> {
    smf.recovery = NtpSeconds(smf.recovery.0 + 1);
    smf.request(None, HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery)))
}

// Input:  a session in each part, then the heartbeat of a restart and an establishment in that part in one datagram; the SMF confirms the
//         restart.
// Output: the session of before the restart is removed, and the one since the restart stays.
#[test]
fn a_session_behind_a_restart_in_its_datagram_stays() {
    for part in parts() {
        let (mut n4, mut smf) = TestN4::associated();
        let older = establish_in(&mut n4, &mut smf, part);
        let heartbeat = heartbeat_of_restart(&mut smf);
        let request = new_in(&mut smf, part, USUAL);
        let establishment = smf.request(Some(Seid(0)), request);
        n4.deliver(smf.addr, &with_follow_on(&[heartbeat, establishment]));
        let at = n4.sent.iter().position(|(_, bytes)| bytes.get(1) == Some(&51));
        let (_, bytes) = n4.sent.remove(at.expect("a response")).expect("it is there");
        let newer = Got::from_bytes(&bytes).up_seid();
        n4.shows_its_restart(&smf);
        assert!(
            n4.has_notice(|it| matches!(it, Notice::PeerRestarted { purged: 1, .. })),
            "{:?}",
            n4.notices
        );
        let sessions: Vec<_> = n4.n4.sessions().map(|it| it.seid).collect();
        assert_eq!((part_of(newer), sessions), (part, vec![newer]), "{older:?}");
    }
}

// Input:  an SMF of a set that has restarted has a session in each part, which another one takes over; then the operator ends the
//         association of the first, which sends a request about the session, twice.
// Output: the second is the same request.
#[test]
fn the_end_of_an_association_ends_its_restarts_in_all_parts() {
    for part in parts() {
        let (mut n4, mut one, two) = crate::sets::each_its_own(config());
        let heartbeat = heartbeat_of_restart(&mut one);
        n4.deliver(one.addr, &heartbeat);
        n4.shows_its_restart(&one);
        n4.sent.clear();
        let session = establish_in(&mut n4, &mut one, part);
        let node_id = Some(two.node_id());
        let takeover = SessionModificationRequest { node_id, ..query() };
        assert_eq!(n4.ask(&mut two.clone(), Some(session), takeover).cause(), Cause::RequestAccepted);
        assert!(n4.n4.end(n4.now, &one.node()).is_some());
        n4.drain();
        n4.plane.pace = Pace::Held;
        let bytes = n4.send(&mut one, Some(session), query());
        assert_eq!((n4.plane.held.len(), n4.rest().waiting_requests), (1, 0));
        n4.deliver(one.addr, &bytes);
        assert_eq!(n4.rest().waiting_requests, 0, "part {part}");
    }
}
