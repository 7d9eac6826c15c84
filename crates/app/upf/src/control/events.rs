//! What happens, for clients of the management server that listen.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use causeway_dataplane::{ClassChange, Event, Plan};
use causeway_model::SessionChange;
use causeway_n4::{ApplyId, Notice};
use causeway_types::{Seid, Time, WallClock};

use crate::management::EventSender;
use crate::management::views::{EventView, HeavyHitterView, TimedEvent, ue_text};

/// The type of a Session Report Request (TS 29.244 clause 7.3). Its header has a SEID behind type and length.
const SESSION_REPORT_REQUEST: u8 = 56;

/// The clients that listen. Without any, nothing is noted.
#[derive(Debug, Default)]
pub(super) struct Events {
    clients: Vec<EventSender>,
    /// Plans that were submitted while a client listened.
    in_flight: BTreeMap<ApplyId, EventView>,
}

impl Events {
    /// Another client listens from now on.
    pub(super) fn subscribe(&mut self, client: EventSender) {
        self.clients.retain(|client| !client.is_closed());
        self.clients.push(client);
    }

    /// A plan is submitted.
    pub(super) fn plan(&mut self, id: ApplyId, plan: &Plan) {
        if !self.are_wanted() {
            return;
        }
        let Seid(seid) = plan.session;
        let seid = format!("{seid:#x}");
        let event = match &plan.change {
            SessionChange::Install(_) => EventView::SessionEstablished { seid },
            SessionChange::Rebind(_) | SessionChange::Update(_) => EventView::SessionModified { seid },
            SessionChange::Remove => EventView::SessionDeleted { seid },
        };
        self.in_flight.insert(id, event);
    }

    /// The result of a plan.
    pub(super) fn applied(&mut self, now: Time, clock: WallClock, id: &ApplyId, is_applied: bool) {
        if self.in_flight.is_empty() {
            return;
        }
        if let Some(event) = self.in_flight.remove(id).filter(|_| is_applied) {
            self.send(now, clock, &event);
        }
    }

    /// A notice of N4.
    pub(super) fn notice(&mut self, now: Time, clock: WallClock, notice: &Notice) {
        if !self.are_wanted() {
            return;
        }
        let event = match notice {
            Notice::AssociationUp { node, .. } | Notice::AssociationRenewed { node, .. } => {
                EventView::AssociationUp { node_id: node.to_string() }
            }
            Notice::AssociationDown { node, .. } | Notice::AssociationEvicted { node, .. } => {
                EventView::AssociationDown { node_id: node.to_string() }
            }
            Notice::PathUp { peer, .. } => EventView::PathUp { peer: peer.to_string() },
            Notice::PathDown { peer, .. } => EventView::PathDown { peer: peer.to_string() },
            Notice::PeerUp { peer, .. } => EventView::PathUp { peer: peer.to_string() },
            Notice::PeerDown { peer, .. } => EventView::PathDown { peer: peer.to_string() },
            _ => return,
        };
        self.send(now, clock, &event);
    }

    /// An event of the data plane that concerns operators.
    pub(super) fn data_plane(&mut self, now: Time, clock: WallClock, event: &Event) {
        if !self.are_wanted() {
            return;
        }
        let event = match event {
            Event::HeavyHitter { hitter, is_over } => {
                let hitter = HeavyHitterView::of(hitter, clock);
                match is_over {
                    false => EventView::HeavyHitter { hitter },
                    true => EventView::HeavyHitterOver { hitter },
                }
            }
            Event::ClassChange { session, change } => {
                let ClassChange { ue, from, to } = &**change;
                EventView::ClassChange {
                    seid: session.to_string(),
                    ue: ue.as_ref().map(ue_text),
                    from: from.to_string(),
                    to: to.to_string(),
                }
            }
            _ => return,
        };
        self.send(now, clock, &event);
    }

    /// A client listens.
    pub(super) fn are_wanted(&self) -> bool {
        self.clients.iter().any(|client| !client.is_closed())
    }

    /// A datagram is sent.
    pub(super) fn datagram(&mut self, now: Time, clock: WallClock, to: SocketAddr, octets: &[u8]) {
        if let [_, SESSION_REPORT_REQUEST, _, _, a, b, c, d, e, f, g, h, ..] = *octets {
            let seid = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
            let event = EventView::ReportSent { cp_seid: format!("{seid:#x}"), to: to.to_string() };
            self.send(now, clock, &event);
        }
    }

    fn send(&mut self, now: Time, clock: WallClock, event: &EventView) {
        let time = (clock.at(now).as_nanos() / 1_000_000) as f64 / 1e3;
        self.clients.retain(|client| client.send(TimedEvent { time, event: event.clone() }));
        if self.clients.is_empty() {
            self.in_flight.clear();
        }
    }
}
