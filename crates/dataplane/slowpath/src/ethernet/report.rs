//! MAC addresses of UEs: reported, removed and transferred (TS 29.244 clauses 5.13.5 and 5.13.6).
//!
//! A URR with the trigger MACAR immediately reports every added or removed address, from the time at which an uplink
//! PDR uses it. An address is removed when it has sent no frame for the shortest Ethernet Inactivity Timer of the
//! session's URRs, or when it has moved to another session.

use std::sync::Arc;

use causeway_dataplane::{ApplyError, DropReason, Usage};
use causeway_model::{ApplyAction, MacChanges, Pdr, UeMac, Urr};
use causeway_packet::{EtherType, Ethernet, MacAddr, VlanTag};
use causeway_types::{Interface, ReportingTriggers, Seid, Span, Time, UrrId, UsageReportTrigger};

use super::Frame;
use super::stations::Station;
use crate::engine::SlowPath;
use crate::session::Session;
use crate::timers::Timer;

impl SlowPath {
    /// Reports the changes to each URR, and sets the inactivity timer.
    pub(crate) fn report_macs(&mut self, now: Time, seid: Seid) {
        let urrs = self.urrs_of_macs(seid);
        let reported = self.reported_macs.range((seid, UrrId(0))..=(seid, UrrId(u32::MAX)));
        let gone: Vec<_> = reported.map(|(key, _)| *key).filter(|(_, urr)| !urrs.contains(urr)).collect();
        gone.iter().for_each(|key| drop(self.reported_macs.remove(key)));
        if urrs.is_empty() {
            return;
        }
        let known = Arc::new(self.stations.of(seid));
        let mut reports = Vec::new();
        for urr in urrs {
            let reported = self.reported_macs.entry((seid, urr)).or_default();
            let macs = MacChanges {
                detected: known.difference(reported).copied().collect(),
                removed: reported.difference(&known).copied().collect(),
            };
            // All URRs of the session share one set.
            reported.clone_from(&known);
            if !macs.is_empty() {
                reports.push(Usage { macs, ..Usage::new(urr, UsageReportTrigger::MACAR, now, now) });
            }
        }
        reports.into_iter().for_each(|report| self.report(seid, vec![report]));
        self.schedule_mac_expiry(seid);
    }

    /// Addresses of the session may have been inactive for long enough.
    pub(crate) fn expire_macs(&mut self, at: Time, seid: Seid) {
        if let Some(session) = self.sessions.get_mut(&seid) {
            session.timers.mac_inactivity.take_if(|set| *set == at);
        }
        if let Some(limit) = self.mac_inactivity(seid) {
            self.stations.expire(seid, at, limit);
            self.report_macs(at, seid);
        }
    }

    fn schedule_mac_expiry(&mut self, seid: Seid) {
        if let (Some(limit), Some(oldest)) = (self.mac_inactivity(seid), self.stations.oldest_of(seid))
            && let Some(session) = self.sessions.get_mut(&seid)
        {
            let held = &mut session.timers.mac_inactivity;
            self.timers.set_one(held, oldest + limit, seid, Timer::MacInactivity);
        }
    }

    /// Moves addresses to the session.
    pub(crate) fn take_macs(&mut self, now: Time, seid: Seid, macs: &[UeMac]) {
        let stations: Vec<_> =
            macs.iter().filter_map(|mac| Some((self.station_of(seid, *mac)?, *mac))).collect();
        for (station, mac) in stations {
            let from = self.stations.take(station, mac, seid, now).from;
            from.into_iter().for_each(|from| self.report_macs(now, from));
        }
        for urr in self.urrs_of_macs(seid) {
            Arc::make_mut(self.reported_macs.entry((seid, urr)).or_default()).extend(macs);
        }
    }

    /// The addresses fit, and the uplink of the session names their network.
    ///
    /// # Errors
    /// [`ApplyError::Full`] or [`ApplyError::Unsupported`].
    pub(crate) fn check_macs(&self, seid: Seid, session: &Session, macs: &[UeMac]) -> Result<(), ApplyError> {
        let mut all = self.stations.of(seid);
        let before = all.len();
        all.extend(macs);
        let capacity = self.limits.macs_per_session;
        if !macs.is_empty() && all.len() > capacity {
            return Err(ApplyError::Full {
                table: "MAC addresses of the session",
                capacity: capacity as u64,
            });
        }
        let (more, capacity) = (all.len() - before, self.limits.macs);
        if !macs.is_empty() && self.stations.len() + more > capacity {
            return Err(ApplyError::Full {
                table: "MAC addresses of all sessions",
                capacity: capacity as u64,
            });
        }
        let nowhere = !macs.is_empty() && uplink_to_network(session).is_none();
        let what = "MAC addresses of a session whose uplink goes to no data network";
        if nowhere { Err(ApplyError::Unsupported(what)) } else { Ok(()) }
    }

    /// The station as its network sees it.
    fn station_of(&self, seid: Seid, mac: UeMac) -> Option<Station> {
        let pdr = uplink_to_network(self.sessions.get(&seid)?)?.clone();
        let bytes = sample_of(mac).ok()?;
        let (network, outside) = self.way_to_network(seid, &pdr, &Frame::parse(&bytes).ok()?).ok()??;
        Some(Station { network, vlans: Frame::parse(&outside).ok()?.vlans(), mac: mac.mac })
    }

    /// The URRs of uplink PDRs that report MAC addresses.
    fn urrs_of_macs(&self, seid: Seid) -> Vec<UrrId> {
        let urrs = self.sessions.get(&seid).into_iter().flat_map(|session| urrs_of_macs(session));
        urrs.map(|urr| urr.id).collect()
    }

    fn mac_inactivity(&self, seid: Seid) -> Option<Span> {
        self.sessions
            .get(&seid)
            .into_iter()
            .flat_map(|session| urrs_of_macs(session))
            .filter_map(|urr| urr.mac_inactivity)
            .min()
    }
}

fn urrs_of_macs(session: &Session) -> Vec<&Urr> {
    let uplink = session.rules.pdrs.values().filter(|pdr| pdr.pdi.source == Interface::Access);
    let used: Vec<_> = uplink.flat_map(|pdr| &pdr.urrs).collect();
    let reports = |urr: &&Urr| urr.triggers.contains(ReportingTriggers::MACAR) && used.contains(&&urr.id);
    session.rules.urrs.values().filter(reports).collect()
}

/// The first uplink PDR whose frames are forwarded to a data network.
fn uplink_to_network(session: &Session) -> Option<&Pdr> {
    let is_n6 = |pdr: &&Pdr| {
        let far = session.far_of(pdr.id).filter(|far| far.action == ApplyAction::Forward);
        far.and_then(|far| far.forwarding.as_ref()).is_some_and(|forwarding| forwarding.is_n6())
    };
    session.pdrs_in_order().into_iter().filter(|pdr| pdr.pdi.source == Interface::Access).find(is_n6)
}

/// A frame as the station would send it.
fn sample_of(mac: UeMac) -> Result<Vec<u8>, DropReason> {
    let tag = |service, vid: Option<u16>| vid.map(|control| VlanTag { service, control });
    let tags = match (tag(true, mac.s_vid), tag(false, mac.c_vid)) {
        (None, customer) => [customer, None],
        (service, customer) => [service, customer],
    };
    let (dst, ether_type) = (MacAddr::BROADCAST, Some(EtherType::ARP));
    let mut bytes = Vec::new();
    let frame = Ethernet { dst, src: mac.mac, tags, ether_type, payload: &[] };
    frame.write(&mut bytes).map_err(|_| DropReason::MalformedFrame)?;
    Ok(bytes)
}
