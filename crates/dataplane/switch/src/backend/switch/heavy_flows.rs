//! Passes what heavy hitters need between the components.

use std::net::Ipv4Addr;

use causeway_dataplane::HeavyHitterSettings;
use causeway_slowpath::ue_address;
use causeway_types::{Direction, IpNet, PdrId, Seid, Time};

use super::Switch;
use crate::backend::heavy_flows::FlowId;
use crate::backend::reader::FreshCount;
use crate::driver::{Entry, SwitchDriver, Update};
use crate::heavy_hitters;
use crate::pendulum::Side;

impl<D: SwitchDriver> Switch<D> {
    /// Looks for heavy hitters in this way from now on, if the switch can.
    pub(super) fn look_for_heavy_flows(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        let config = settings.filter(|_| self.heavy.are_there());
        let config = config.and_then(|it| Some((it, heavy_hitters::with_threshold(it.threshold).ok()?)));
        let settings = config.as_ref().map(|(settings, _)| *settings);
        if self.heavy.settings() == settings {
            return;
        }
        self.heavy.look_for(now, settings);
        let updates = config.map(|(_, config)| heavy_hitters::entries(&self.layout.program, &config));
        let updates = updates.and_then(Result::ok).unwrap_or_default();
        let mut rows: Vec<Entry> = updates.into_iter().filter_map(Update::into_entry).collect();
        // The threshold, without which nothing counts, is written last.
        let first = rows.len().min(1);
        rows.rotate_left(first);
        let updates = self.recovery.set_heavy_rows(rows);
        self.writer.background().push(updates);
    }

    /// A copy of a packet says that a rule has become heavy, with so many packets in a window.
    pub(super) fn heavy_flow_reported(
        &mut self,
        now: Time,
        of: Option<(Seid, PdrId, Direction)>,
        packets: u16,
    ) {
        match of.filter(|_| self.heavy.settings().is_some()) {
            Some((seid, pdr, direction)) => {
                let ue = self.ue_of(now, seid, Some(pdr));
                self.heavy.reported(now, (seid, direction), packets, ue);
            }
            None => self.packet_io.ignore(),
        }
    }

    /// The address of a session's UE: that of this PDR, or else of any. Zero: no PDR names it.
    fn ue_of(&mut self, now: Time, seid: Seid, pdr: Option<PdrId>) -> IpNet {
        let rules = self.software.rules_of(now, seid);
        let all = rules.into_iter().flat_map(|rules| {
            let first = pdr.and_then(|pdr| rules.pdrs.get(&pdr));
            first.into_iter().chain(rules.pdrs.values())
        });
        let mut known = all.filter_map(ue_address);
        known.next().unwrap_or_else(|| IpNet::from(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED)))
    }

    /// Packets were counted on a side.
    pub(super) fn count_heavy(&mut self, side: usize, counted: &[FreshCount]) {
        if side != Side::Egress as usize || self.heavy.settings().is_none() {
            return;
        }
        for ((number, _, count), _) in counted {
            if let Some(rule) = self.sessions.rule(*number) {
                self.heavy.count((rule.session, rule.direction()), *count);
            }
        }
    }

    /// The next reading of a flow's counters, or the next sessions that are swept.
    pub(super) fn step_heavy_flows(&mut self, now: Time) -> bool {
        let Some((seid, direction)) = self.heavy.next_due(now) else {
            return self.heavy.sweep(now, &self.sessions);
        };
        if !self.reader.wait_for_flow(seid, direction, &self.sessions) {
            self.heavy_flow_read(now, (seid, direction));
        }
        true
    }

    /// The counters of a flow were read.
    pub(super) fn heavy_flow_read(&mut self, now: Time, id: FlowId) {
        if let Some(rate) = self.heavy.read(now, id) {
            let ue = self.ue_of(now, id.0, None);
            self.heavy.found(now, id, rate, ue);
        }
    }
}
