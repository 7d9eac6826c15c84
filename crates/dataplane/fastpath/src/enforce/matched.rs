//! The action of a flow entry on a packet.

use causeway_dataplane::{DropReason, Exit};
use causeway_packet::FrameMut;
use causeway_packet::icmp::IcmpError;
use causeway_packet::rewrite::Ecn;
use causeway_types::Direction;

use crate::enforce::hops_left;
use crate::enforce::icmp_limit::IcmpErrorLimit;
use crate::parse::user_header::UserHeader;
use crate::program::{Action, CompiledSend, Program, Route, Step};
use crate::table::FlowTable;
use crate::table::flow_entry::{Account, PER_OCTET};
use crate::topology_index::TopologyIndex;

/// The result for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The frame, in its current state, is transmitted.
    Sent(Exit),
    /// It is dropped.
    Dropped(DropReason),
    /// It is for the slow path, and nothing has changed.
    SlowPath,
}

/// A user packet with the entry of its rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchedPacket<'p> {
    pub(crate) program: &'p Program,
    pub(crate) step: &'p Step,
    pub(crate) user: &'p UserHeader,
    /// The flow entry of the first lookup key.
    pub(crate) entry: u32,
    /// Where the user packet starts in the frame.
    pub(crate) start: u16,
    /// Its GTP-U header contains no value for the next tunnel except the QFI.
    pub(crate) is_common: bool,
    /// The new ECN field, if it changes.
    pub(crate) ecn: Option<Ecn>,
}

/// The routing decision for a packet.
enum RoutingDecision {
    Forward,
    /// Only the slow path can decide.
    Unknown,
    /// The router does not forward it, and may send an ICMP error to the sender.
    Refused(DropReason, IcmpError),
}

impl MatchedPacket<'_> {
    /// Executes the action.
    #[inline]
    pub(crate) fn execute(
        &self,
        now: u64,
        table: &mut FlowTable,
        topology_index: &TopologyIndex,
        mut limit: IcmpErrorLimit<'_>,
        frame: &mut FrameMut<'_>,
    ) -> Verdict {
        let send = match &self.step.action {
            Action::SlowPath => return Verdict::SlowPath,
            Action::Drop(reason) => return self.drop_counted(now, table, *reason),
            Action::Send(send) => send,
        };
        let hops = match send.route {
            Route::Tunnel(_) => match hops_left(frame.meta_mut()) {
                Some(left) => left,
                None => return Verdict::SlowPath,
            },
            Route::Network(_) => None,
        };
        match self.egress_drop_reason(send, topology_index) {
            Ok(None) => {}
            Ok(Some(reason)) => return self.drop_counted(now, table, reason),
            Err(verdict) => return verdict,
        }
        if self.has_bad_checksum(send) {
            return self.drop_counted(now, table, DropReason::MalformedIp);
        }
        match self.routing_decision(send, topology_index) {
            RoutingDecision::Forward => {}
            RoutingDecision::Unknown => return Verdict::SlowPath,
            RoutingDecision::Refused(_, error) if limit.may_send_icmp_error(self, error, frame.data()) => {
                return Verdict::SlowPath;
            }
            RoutingDecision::Refused(reason, _) => return self.drop_counted(now, table, reason),
        }
        if send.is_gated {
            return self.drop_counted(now, table, DropReason::GateClosed);
        }
        let teid = match self.charge(now, table) {
            Ok(teid) => teid,
            Err(verdict) => return verdict,
        };
        self.send(send, (teid, hops), topology_index, frame)
    }

    /// The reason why it may not be sent to a data network, as far as the address alone decides.
    #[inline]
    fn egress_drop_reason(
        &self,
        send: &CompiledSend,
        topology_index: &TopologyIndex,
    ) -> Result<Option<DropReason>, Verdict> {
        let (user, Route::Network(network)) = (self.user, &send.route) else { return Ok(None) };
        if user.is_link_scoped() {
            return Ok(None);
        }
        match topology_index.egress_drop_reason_any_protocol(*network, user) {
            Some(_) if topology_index.is_gateway(user.dst) => Err(Verdict::SlowPath),
            reason => Ok(reason),
        }
    }

    /// A router drops a packet with a wrong header checksum (RFC 1812 clause 5.2.2). Link-local packets are not
    /// forwarded, whatever their checksum.
    #[inline]
    fn has_bad_checksum(&self, send: &CompiledSend) -> bool {
        let user = self.user;
        user.has_bad_checksum && send.is_routed && !(send.leaves_link && user.is_link_scoped())
    }

    /// The checks in the order of the slow path.
    #[inline]
    fn routing_decision(&self, send: &CompiledSend, topology_index: &TopologyIndex) -> RoutingDecision {
        let user = self.user;
        let is_common = self.is_common || matches!(send.route, Route::Network(_));
        if !is_common || send.leaves_link && user.is_link_scoped() || send.is_routed && user.has_bad_checksum
        {
            return RoutingDecision::Unknown;
        }
        if send.is_routed && topology_index.decrement_ttl {
            let far = match self.program.direction {
                Direction::Uplink => user.dst,
                Direction::Downlink => user.src,
            };
            if topology_index.is_gateway(far) {
                return RoutingDecision::Unknown;
            }
            if user.hops <= 1 {
                return RoutingDecision::Refused(DropReason::TtlExpired, IcmpError::TimeExceeded);
            }
        }
        match user.len <= send.max_payload {
            true => RoutingDecision::Forward,
            false if user.is_unfragmentable => RoutingDecision::Refused(
                DropReason::MtuExceeded,
                IcmpError::PacketTooBig { mtu: send.max_payload },
            ),
            false => RoutingDecision::Unknown,
        }
    }

    /// Counts a packet that is dropped in any case.
    #[inline]
    fn drop_counted(&self, now: u64, table: &mut FlowTable, reason: DropReason) -> Verdict {
        let size = self.user.len;
        let Some(account) = self.account(table) else { return Verdict::SlowPath };
        if self.step.reports_drops || !account.may_count(self.step, size, now) {
            return Verdict::SlowPath;
        }
        // Tokens that the rate has gained so far are kept.
        if let Some(rate) = self.step.rule_rate {
            account.fill(rate, now);
        }
        account.updated = now;
        self.count_drop(table);
        Verdict::Dropped(reason)
    }

    /// Checks the rates and the budget and charges them, or drops the packet. Returns the TEID of its tunnel.
    #[inline]
    fn charge(&self, now: u64, table: &mut FlowTable) -> Result<u32, Verdict> {
        let (step, size) = (self.step, self.user.len);
        let shared_is_open = match self.program.shared.filter(|_| step.is_shared) {
            Some(rate) => {
                let entry = table.entry_mut(self.entry).ok_or(Verdict::SlowPath)?;
                entry.account.fill(rate, now)
            }
            None => true,
        };
        let account = self.account(table).ok_or(Verdict::SlowPath)?;
        if !account.may_count(step, size, now) {
            return Err(Verdict::SlowPath);
        }
        let is_open = match step.rule_rate {
            Some(rate) => account.fill(rate, now) && shared_is_open,
            None => shared_is_open,
        };
        if !is_open {
            if step.reports_drops {
                return Err(Verdict::SlowPath);
            }
            account.updated = now;
            self.count_drop(table);
            return Err(Verdict::Dropped(DropReason::MbrExceeded));
        }
        account.tokens = account.tokens.saturating_sub(i64::from(size) * PER_OCTET);
        account.budget -= u64::from(size);
        (account.updated, account.last_pass) = (now, now);
        (account.last_size, account.packets) = (size, account.packets + 1);
        if step.is_shared
            && let Some(entry) = table.entry_mut(self.entry)
        {
            entry.account.tokens = entry.account.tokens.saturating_sub(i64::from(size) * PER_OCTET);
            entry.account.last_size = size;
        }
        Ok(self.teid(table))
    }

    #[inline]
    fn account<'t>(&self, table: &'t mut FlowTable) -> Option<&'t mut Account> {
        match self.rule_entry(table)? {
            None => table.entry_mut(self.entry).map(|entry| &mut entry.account),
            Some(rule) => table.rule_mut(rule).map(|entry| &mut entry.account),
        }
    }

    /// The rule entry of its rule, if it has one.
    #[inline]
    fn rule_entry(&self, table: &FlowTable) -> Option<Option<u32>> {
        match self.step.account {
            0 => Some(None),
            place => Some(Some(table.entry(self.entry)?.rule_entry(place))),
        }
    }

    #[inline]
    fn teid(&self, table: &mut FlowTable) -> u32 {
        match self.rule_entry(table).flatten() {
            None => table.entry(self.entry).map_or(0, |entry| entry.ue_or_teid),
            Some(rule) => table.rule_mut(rule).map_or(0, |entry| entry.teid),
        }
    }

    #[inline]
    fn count_drop(&self, table: &mut FlowTable) {
        if let Some(rule) = self.rule_entry(table).flatten().filter(|_| self.step.counts_drops)
            && let Some(entry) = table.rule_mut(rule)
        {
            entry.dropped_packets += 1;
            entry.dropped_octets += u64::from(self.user.len);
            // Volumes that are measured before QoS enforcement count these octets, too.
            entry.account.budget -= u64::from(self.user.len);
        }
    }
}
