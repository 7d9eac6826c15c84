//! Frames to stations that no session is known to have.

use std::sync::Arc;

use causeway_dataplane::{Disposition, DropReason, Op, PacketEngine};
use causeway_model::{EthernetFilter, MacMatch, MacRange, RuleSet, SessionChange};
use causeway_types::{MacAddr, PdrId};

use crate::common::ethernet::{Sessions, frame, from_lan, session};

const HOST: [u8; 6] = [2, 0, 0, 0, 0, 0x99];

const fn station(last: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, last]
}

impl Sessions {
    /// The sessions whose PDRs are compared with a frame to the station, and what becomes of it.
    fn tried(&mut self, last: u8) -> (Vec<u64>, Disposition) {
        let (ingress, packet) = from_lan(frame(station(last), HOST));
        let said = self.plane.explain(self.now, &ingress, &packet).expect("it concerns few sessions");
        let disposition = self.plane.process(self.now, &ingress, &packet, &mut Vec::new());
        assert_eq!(said.disposition, disposition);
        (said.sessions.iter().map(|trial| trial.session.0).collect(), disposition)
    }
}

/// A session whose downlink is filtered instead of ETHI.
fn filtered(number: u32, filter: EthernetFilter) -> RuleSet {
    let mut rules = session(number);
    let downlink = rules.pdrs.get_mut(&PdrId(2)).unwrap();
    downlink.pdi.whole_ethernet_session = false;
    downlink.pdi.ethernet = vec![filter];
    rules
}

fn to(first: u8, last: u8) -> EthernetFilter {
    let destination = MacRange::new(MacAddr(station(first)), MacAddr(station(last)));
    EthernetFilter { macs: vec![MacMatch { source: None, destination }], ..EthernetFilter::default() }
}

// Input:  2,000 sessions with ETHI, and frames to stations that are unknown.
// Output: no session's PDRs are compared with them: more than 64 would not be explained.
#[test]
fn sessions_with_ethi_are_not_tried() {
    let mut sessions = Sessions::new((1..=2000).map(session));
    for last in 1..=20 {
        assert_eq!(sessions.tried(last), (vec![], Disposition::Dropped(DropReason::UnknownMac)));
    }
}

// Input:  sessions with ETHI and with filters: an address, a range, any address with another Ethertype, any with this one,
//         also in a PDR for any network; frames to unknown stations; then PDRs that change and a session that ends.
// Output: the sessions that a filter may name are tried, in the order of their SEIDs, until one matches.
#[test]
fn sessions_are_tried_by_what_their_filters_name() {
    let of_type = |ether_type| EthernetFilter { ether_type: Some(ether_type), ..EthernetFilter::default() };
    let mut anywhere = filtered(5, to(4, 4));
    anywhere.pdrs.get_mut(&PdrId(2)).unwrap().pdi.network_instance = None;
    let rules =
        [session(1), filtered(2, to(1, 1)), filtered(3, to(2, 3)), filtered(4, of_type(0x0806)), anywhere];
    let mut sessions = Sessions::new(rules);
    let unknown = Disposition::Dropped(DropReason::UnknownMac);
    assert_eq!(sessions.tried(1), (vec![2], Disposition::Forwarded));
    assert_eq!(sessions.tried(2), (vec![3], Disposition::Forwarded));
    assert_eq!(sessions.tried(4), (vec![3, 4, 5], Disposition::Forwarded));
    assert_eq!(sessions.tried(9), (vec![3, 4], unknown));
    let downlink = |rules: RuleSet| -> SessionChange {
        vec![Op::PutPdr(Arc::clone(rules.pdrs.get_shared(&PdrId(2)).unwrap()))].into()
    };
    sessions.change(2, downlink(session(2)));
    sessions.change(3, SessionChange::Remove);
    sessions.change(4, downlink(filtered(4, of_type(0x88b5))));
    assert_eq!(sessions.tried(1), (vec![4], Disposition::Forwarded));
    sessions.change(4, downlink(filtered(4, to(8, 8))));
    assert_eq!(sessions.tried(1), (vec![], unknown));
}
