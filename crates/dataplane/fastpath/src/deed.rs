//! What a line does with a packet.

use std::num::NonZeroU8;

use causeway_dataplane::DropReason;
use causeway_packet::icmp::IcmpError;
use causeway_packet::rewrite::{Ecn, decrement_hop_limit, set_ecn};
use causeway_ports::{FrameMut, Meta};
use causeway_types::Direction;

use crate::forward::hops_left;
use crate::line::{Account, PER_OCTET};
use crate::packet::User;
use crate::program::{Deed, Program, Rate, Sending, Step, Tunnel, Way};
use crate::refusal::Teller;
use crate::surroundings::{Exit, Surroundings};
use crate::table::Table;

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The frame, as it is now, leaves.
    Sent(Exit),
    /// It is dropped.
    Dropped(DropReason),
    /// It is for the slow room, and nothing has changed.
    Ask,
}

/// A user packet at the line of its rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready<'p> {
    pub(crate) program: &'p Program,
    pub(crate) step: &'p Step,
    pub(crate) user: &'p User,
    /// The line of the first door.
    pub(crate) line: u32,
    /// Where the user packet begins in the frame.
    pub(crate) start: u16,
    /// What came with it that may be for the next tunnel is nothing but the QFI.
    pub(crate) is_plain: bool,
    /// What it says of congestion from now on, if that changes.
    pub(crate) ecn: Option<Ecn>,
}

/// Whether a packet may go its way.
enum Passage {
    Free,
    /// Only the slow room knows.
    Unknown,
    /// The router does not forward it, and its sender may be told so.
    Refused(DropReason, IcmpError),
}

impl Ready<'_> {
    /// Does it.
    #[inline]
    pub(crate) fn act(
        &self,
        now: u64,
        table: &mut Table,
        surroundings: &Surroundings,
        mut teller: Teller<'_>,
        frame: &mut FrameMut<'_>,
    ) -> Verdict {
        let sending = match &self.step.deed {
            Deed::Ask => return Verdict::Ask,
            Deed::Drop(reason) => return self.drop_counted(now, table, *reason),
            Deed::Send(sending) => sending,
        };
        let hops = match sending.way {
            Way::Tunnel(_) => match hops_left(frame.meta_mut()) {
                Some(left) => left,
                None => return Verdict::Ask,
            },
            Way::Network(_) => None,
        };
        match self.closed(sending, surroundings) {
            Ok(None) => {}
            Ok(Some(reason)) => return self.drop_counted(now, table, reason),
            Err(verdict) => return verdict,
        }
        if self.is_damaged(sending) {
            return self.drop_counted(now, table, DropReason::MalformedIp);
        }
        match self.passage(sending, surroundings) {
            Passage::Free => {}
            Passage::Unknown => return Verdict::Ask,
            Passage::Refused(_, error) if teller.may_tell(self, error, frame.data()) => return Verdict::Ask,
            Passage::Refused(reason, _) => return self.drop_counted(now, table, reason),
        }
        if sending.is_gated {
            return self.drop_counted(now, table, DropReason::GateClosed);
        }
        let teid = match self.charge(now, table) {
            Ok(teid) => teid,
            Err(verdict) => return verdict,
        };
        self.send(sending, (teid, hops), surroundings, frame)
    }

    /// Why it may not leave to a data network, as far as that can be said without its protocol.
    #[inline]
    fn closed(&self, sending: &Sending, surroundings: &Surroundings) -> Result<Option<DropReason>, Verdict> {
        let (user, Way::Network(network)) = (self.user, &sending.way) else { return Ok(None) };
        if user.is_of_link() {
            return Ok(None);
        }
        match surroundings.refuses_all(*network, user) {
            Some(_) if surroundings.is_gateway(user.dst) => Err(Verdict::Ask),
            reason => Ok(reason),
        }
    }

    /// A router drops it, as its header checksum is wrong (RFC 1812 clause 5.2.2); what belongs to the link goes nowhere before.
    #[inline]
    fn is_damaged(&self, sending: &Sending) -> bool {
        let user = self.user;
        user.is_damaged && sending.is_routed && !(sending.leaves_link && user.is_of_link())
    }

    /// In the order in which the reference asks.
    #[inline]
    fn passage(&self, sending: &Sending, surroundings: &Surroundings) -> Passage {
        let user = self.user;
        let is_plain = self.is_plain || matches!(sending.way, Way::Network(_));
        if !is_plain || sending.leaves_link && user.is_of_link() || sending.is_routed && user.is_damaged {
            return Passage::Unknown;
        }
        if sending.is_routed && surroundings.decrement_ttl {
            let far = match self.program.direction {
                Direction::Uplink => user.dst,
                Direction::Downlink => user.src,
            };
            if surroundings.is_gateway(far) {
                return Passage::Unknown;
            }
            if user.hops <= 1 {
                return Passage::Refused(DropReason::TtlExpired, IcmpError::TimeExceeded);
            }
        }
        match user.len <= sending.room {
            true => Passage::Free,
            false if user.is_uncuttable => {
                Passage::Refused(DropReason::MtuExceeded, IcmpError::PacketTooBig { mtu: sending.room })
            }
            false => Passage::Unknown,
        }
    }

    /// Counts a packet that is dropped in any case.
    #[inline]
    fn drop_counted(&self, now: u64, table: &mut Table, reason: DropReason) -> Verdict {
        let size = self.user.len;
        let Some(account) = self.account(table) else { return Verdict::Ask };
        if self.step.reports_drops || !may_count(account, self.step, size, now) {
            return Verdict::Ask;
        }
        // What the rate has gained until now is not lost.
        if let Some(rate) = self.step.own {
            fill(account, rate, now);
        }
        account.updated = now;
        self.count_drop(table);
        Verdict::Dropped(reason)
    }

    /// Asks the rates and the budget and charges them, or drops the packet. Returns the TEID of its tunnel.
    #[inline]
    fn charge(&self, now: u64, table: &mut Table) -> Result<u32, Verdict> {
        let (step, size) = (self.step, self.user.len);
        let shared_is_open = match self.program.shared.filter(|_| step.is_shared) {
            Some(rate) => {
                let line = table.line_mut(self.line).ok_or(Verdict::Ask)?;
                fill(&mut line.account, rate, now)
            }
            None => true,
        };
        let account = self.account(table).ok_or(Verdict::Ask)?;
        if !may_count(account, step, size, now) {
            return Err(Verdict::Ask);
        }
        let is_open = match step.own {
            Some(rate) => fill(account, rate, now) && shared_is_open,
            None => shared_is_open,
        };
        if !is_open {
            if step.reports_drops {
                return Err(Verdict::Ask);
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
            && let Some(line) = table.line_mut(self.line)
        {
            line.account.tokens = line.account.tokens.saturating_sub(i64::from(size) * PER_OCTET);
            line.account.last_size = size;
        }
        Ok(self.teid(table))
    }

    #[inline]
    fn account<'t>(&self, table: &'t mut Table) -> Option<&'t mut Account> {
        match self.rule_line(table)? {
            None => table.line_mut(self.line).map(|line| &mut line.account),
            Some(rule) => table.rule_mut(rule).map(|line| &mut line.account),
        }
    }

    /// The line of its rule, if it is not the door's.
    #[inline]
    fn rule_line(&self, table: &Table) -> Option<Option<u32>> {
        match self.step.account {
            0 => Some(None),
            place => Some(Some(table.line(self.line)?.account.budget as u32 + u32::from(place) - 1)),
        }
    }

    #[inline]
    fn teid(&self, table: &mut Table) -> u32 {
        match self.rule_line(table).flatten() {
            None => table.line(self.line).map_or(0, |line| line.aux),
            Some(rule) => table.rule_mut(rule).map_or(0, |line| line.teid),
        }
    }

    #[inline]
    fn count_drop(&self, table: &mut Table) {
        if let Some(rule) = self.rule_line(table).flatten().filter(|_| self.step.counts_drops)
            && let Some(line) = table.rule_mut(rule)
        {
            line.dropped_packets += 1;
            line.dropped_octets += u64::from(self.user.len);
            // What is measured before QoS enforcement reaches its limits by these, too.
            line.account.budget -= u64::from(self.user.len);
        }
    }

    /// Writes the headers that it leaves with.
    #[inline]
    fn send(
        &self,
        sending: &Sending,
        (teid, hops): (u32, Option<NonZeroU8>),
        surroundings: &Surroundings,
        frame: &mut FrameMut<'_>,
    ) -> Verdict {
        if !(frame.trim_front(self.start.into()) && frame.resize(self.user.len as usize)) {
            return Verdict::Ask;
        }
        if let Some(ecn) = self.ecn {
            // It is an IP packet.
            let _ = set_ecn(frame.data(), ecn);
        }
        if sending.is_routed && surroundings.decrement_ttl {
            // More than one hop was left.
            let _ = decrement_hop_limit(frame.data());
        }
        match &sending.way {
            Way::Network(network) => {
                frame.set_meta(Meta::Ip);
                Verdict::Sent(Exit::Network(*network))
            }
            Way::Tunnel(tunnel) => self.wrap(tunnel, (teid, hops), surroundings, frame),
        }
    }

    #[inline]
    fn wrap(
        &self,
        tunnel: &Tunnel,
        (teid, hops): (u32, Option<NonZeroU8>),
        surroundings: &Surroundings,
        frame: &mut FrameMut<'_>,
    ) -> Verdict {
        let header_len = usize::from(tunnel.header_len);
        let Some(template) = tunnel.header.get(..header_len) else { return Verdict::Ask };
        // The header of a batch's frames always fits into their headroom.
        let Some(header) = frame.prepend(header_len) else { return Verdict::Ask };
        header.copy_from_slice(template);
        let length = (header_len - 8 + self.user.len as usize) as u16;
        if let Some([_, _, hi, lo, a, b, c, d]) = header.first_chunk_mut() {
            [*hi, *lo] = length.to_be_bytes();
            [*a, *b, *c, *d] = teid.to_be_bytes();
        }
        let tos = tunnel.tos | self.user.tos & 0x03;
        if let Some(local) = surroundings.local_addr(tunnel.local) {
            frame.set_meta(Meta::Gtpu { local, peer: tunnel.peer, tos, hops });
        }
        Verdict::Sent(Exit::Tunnel { local: tunnel.local })
    }
}

/// The account may count the packet by itself.
#[inline]
fn may_count(account: &Account, step: &Step, size: u32, now: u64) -> bool {
    account.budget >= u64::from(size) && now.saturating_sub(account.last_pass) < step.pause
}

/// Fills a bucket. Says whether a packet may pass.
#[inline]
fn fill(account: &mut Account, rate: Rate, now: u64) -> bool {
    let gained = rate.kbps.saturating_mul(now.saturating_sub(account.updated));
    let capacity = rate.burst.max(i64::from(account.last_size) * PER_OCTET);
    let tokens = account.tokens.saturating_add(i64::try_from(gained).unwrap_or(i64::MAX));
    account.tokens = tokens.min(capacity);
    account.updated = account.updated.max(now);
    account.tokens > 0
}
