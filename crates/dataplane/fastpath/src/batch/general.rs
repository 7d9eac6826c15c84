//! Packets of any kind between the stages of a batch: those that [`crate::batch::state`] does not cover.

use arrayvec::ArrayVec;
use causeway_dataplane::DropReason;
use causeway_packet::rewrite::Ecn;
use causeway_packet::{BATCH, Batch, Meta};
use causeway_types::{Direction, Qfi};

use crate::batch::state::NextStage;
use crate::engine::FastPath;
use crate::parse::ecn;
use crate::parse::g_pdu::GPdu;
use crate::parse::user_header::UserHeader;
use crate::program::Program;
use crate::table::flow_entry::FlowEntry;
use crate::table::key::FlowKey;

/// A packet between the stages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GeneralPacket {
    pub(crate) stage: GeneralStage,
    /// The user packet; zero octets if it is malformed.
    pub(crate) user: UserHeader,
    /// Where it starts in the frame.
    pub(crate) start: u16,
    pub(crate) qfi: Option<Qfi>,
    /// Its GTP-U header contains no value for the next tunnel except the QFI.
    pub(crate) is_common: bool,
    /// The outer header has a congestion mark and the packet is not ECN-capable: its session drops it.
    pub(crate) is_congested: bool,
    /// It has an unsupported extension header that requires comprehension.
    pub(crate) has_unsupported_extension: bool,
    /// The new ECN field, if it changes.
    pub(crate) ecn: Option<Ecn>,
    /// The index of its frame in the batch.
    pub(crate) index: u8,
}

/// The stage of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GeneralStage {
    /// To the slow path.
    SlowPath,
    /// Dropped.
    Drop(DropReason),
    /// The tunnel does not exist.
    UnknownTunnel,
    /// Its session does not support one of its extension headers.
    UnsupportedExtension,
    /// No flow entry has its destination.
    UnknownUe,
    /// Its flow entry, if there is one, is at the direct position or found through the index.
    Lookup { key: FlowKey, near: Option<u32> },
    /// A rule matched: the program, the step, and the flow entry of the first lookup key.
    Matched { program: u32, step: u8, entry: u32 },
}

/// The packets of a batch outside the common case.
pub(crate) type GeneralPackets = ArrayVec<GeneralPacket, BATCH>;

impl GeneralPacket {
    /// A packet for the slow path.
    pub(crate) const fn nothing(index: usize) -> Self {
        let index = index as u8;
        Self {
            index,
            stage: GeneralStage::SlowPath,
            user: UserHeader::NOTHING,
            start: 0,
            qfi: None,
            is_common: true,
            is_congested: false,
            has_unsupported_extension: false,
            ecn: None,
        }
    }
}

/// Stores a packet and returns its next stage.
fn keep(general: &mut GeneralPackets, work: GeneralPacket) -> NextStage {
    let place = general.len() as u8;
    match general.try_push(work) {
        Ok(()) => NextStage::General(place),
        // A batch has no more packets than this.
        Err(_) => NextStage::SlowPath,
    }
}

impl FastPath {
    /// The first stage for a GTP-U packet outside the common case: finds and prefetches the flow entry. `slot`: the
    /// slot of its TEID, if known.
    #[inline(never)]
    pub(crate) fn look_up_general_tunnel(
        &self,
        batch: &Batch,
        (index, slot): (usize, Option<u32>),
        general: &mut GeneralPackets,
    ) -> NextStage {
        let (Some(bytes), Some(meta)) = (batch.data(index), batch.meta(index)) else {
            return NextStage::SlowPath;
        };
        let work = GPdu::parse(bytes).ok().and_then(|of| {
            let slot = slot.unwrap_or_else(|| self.table.at_teids(&[of.teid])[0]);
            self.parse_general_tunnel(bytes, meta, (&of, slot), index)
        });
        work.map_or(NextStage::SlowPath, |work| keep(general, work))
    }

    fn parse_general_tunnel(
        &self,
        bytes: &[u8],
        meta: &Meta,
        (tunnelled, slot): (&GPdu, u32),
        index: usize,
    ) -> Option<GeneralPacket> {
        let Meta::Gtpu { local, tos, .. } = meta else { return None };
        let key = FlowKey::Tunnel(tunnelled.teid, self.topology_index.local(local)?);
        let mut user = bytes.get(tunnelled.start.into()..tunnelled.end.into()).and_then(UserHeader::parse);
        let outer = u32::from(tos & 0x03);
        let (mut is_congested, mut marked) = (false, None);
        match &mut user {
            Some(user) if ecn::drops(outer, u32::from(user.tos & 0x03)) => is_congested = true,
            Some(user) if ecn::changes(outer, u32::from(user.tos & 0x03)) => {
                user.tos = user.tos & !0x03 | tos & 0x03;
                marked = Some(Ecn::of_tos(*tos));
            }
            None if outer & 0x01 != 0 => return None,
            _ => {}
        }
        Some(GeneralPacket {
            stage: self.look_up(key, Some(slot)),
            user: user.unwrap_or(UserHeader::NOTHING),
            start: tunnelled.start,
            qfi: tunnelled.qfi,
            is_common: tunnelled.is_common,
            is_congested,
            has_unsupported_extension: tunnelled.has_unsupported_extension,
            ecn: marked,
            ..GeneralPacket::nothing(index)
        })
    }

    /// The same for a packet of a data network.
    #[inline(never)]
    pub(crate) fn look_up_general_address(
        &self,
        network: u16,
        batch: &Batch,
        index: usize,
        general: &mut GeneralPackets,
    ) -> NextStage {
        let Some(bytes) = batch.data(index) else { return NextStage::SlowPath };
        let Some(user) = UserHeader::parse(bytes) else { return NextStage::Drop(DropReason::MalformedIp) };
        let stage = if user.is_v6 {
            self.look_up(FlowKey::Ipv6(network, UserHeader::prefix(user.dst)), None)
        } else {
            self.look_up(FlowKey::Ipv4(network, user.dst as u32), self.table.at_address(user.dst as u32))
        };
        keep(general, GeneralPacket { stage, user, ..GeneralPacket::nothing(index) })
    }

    fn look_up(&self, key: FlowKey, direct: Option<u32>) -> GeneralStage {
        direct.iter().for_each(|direct| self.table.prefetch(*direct));
        self.table.prefetch_index(key);
        GeneralStage::Lookup { key, near: direct }
    }

    /// The second stage: finds the flow entry and the rule, and prefetches the rule entry.
    #[inline(never)]
    pub(crate) fn classify_general_packets(&self, batch: &Batch, general: &mut [GeneralPacket]) {
        let mut indirect = ArrayVec::<Option<u32>, BATCH>::new();
        indirect.extend(general.iter().map(|work| match work.stage {
            GeneralStage::Lookup { key, .. } => self.table.prefetch_indirect(key),
            _ => None,
        }));
        for (work, indirect) in general.iter_mut().zip(indirect) {
            if let (GeneralStage::Lookup { key, near: direct }, Some(bytes)) =
                (work.stage, batch.data(work.index.into()))
            {
                work.stage = self.select_entry(key, self.table.find(key, direct, indirect), work, bytes);
            }
        }
    }

    #[inline]
    fn select_entry(
        &self,
        key: FlowKey,
        found: Option<u32>,
        work: &GeneralPacket,
        bytes: &[u8],
    ) -> GeneralStage {
        match found.and_then(|number| self.table.entry(number).zip(Some(number))) {
            Some((entry, number)) => self.classify(entry, number, work, bytes),
            None if matches!(key, FlowKey::Tunnel(..)) => GeneralStage::UnknownTunnel,
            None => GeneralStage::UnknownUe,
        }
    }

    #[inline]
    fn classify(&self, entry: &FlowEntry, number: u32, work: &GeneralPacket, bytes: &[u8]) -> GeneralStage {
        let Some(program) = self.programs.at(entry.program()) else { return GeneralStage::SlowPath };
        if work.has_unsupported_extension {
            // Where packets are relayed into other tunnels, fewer extension headers require comprehension.
            return if program.sends_to_network() {
                GeneralStage::UnsupportedExtension
            } else {
                GeneralStage::SlowPath
            };
        }
        if work.user.len == 0 {
            // A packet that is no IP packet may be an Ethernet frame.
            return if program.needs_slow_path() {
                GeneralStage::SlowPath
            } else {
                GeneralStage::Drop(DropReason::MalformedIp)
            };
        }
        if work.is_congested {
            // An Ethernet frame has no ECN field.
            return if program.needs_slow_path() {
                GeneralStage::SlowPath
            } else {
                GeneralStage::Drop(DropReason::Congested)
            };
        }
        let (local, remote) = match program.direction {
            Direction::Uplink => (work.user.src, work.user.dst),
            Direction::Downlink => (work.user.dst, work.user.src),
        };
        let is_ue = |address| !program.names_ue || is_of_ue(entry, program, work.user.is_v6, address);
        let is_local = is_ue(local);
        if !is_local && (program.has_more || work.user.is_v6 && work.user.is_link_scoped_both()) {
            return GeneralStage::SlowPath;
        }
        let step = if program.is_trivial() {
            Some(0)
        } else {
            let packet = bytes.get(work.start.into()..usize::from(work.start) + work.user.len as usize);
            let is_ue = (is_ue(remote), is_local);
            let key = packet.and_then(|packet| work.user.key(packet, program.direction, work.qfi, is_ue));
            let Some(key) = key else { return GeneralStage::SlowPath };
            self.sets.first_match(program.set, &key)
        };
        match (step, is_local) {
            (Some(step), true) => self.matched(entry, number, program, step),
            _ if !program.is_final => GeneralStage::SlowPath,
            (Some(_), false) if program.direction == Direction::Uplink => {
                GeneralStage::Drop(DropReason::SpoofedSource)
            }
            (Some(_), false) => GeneralStage::SlowPath,
            (None, _) => GeneralStage::Drop(DropReason::NoMatchingPdr),
        }
    }

    #[inline]
    fn matched(&self, entry: &FlowEntry, number: u32, program: &Program, step: u8) -> GeneralStage {
        let first = entry.alias_of().unwrap_or(number);
        if first != number {
            self.table.prefetch(first);
        } else if let Some(account) = program.steps.get(usize::from(step)).map(|step| step.account)
            && account > 0
        {
            self.table.prefetch_rule(entry.rule_entry(account));
        }
        GeneralStage::Matched { program: entry.program(), step, entry: first }
    }
}

/// Whether the address is one of the flow entry.
#[inline]
fn is_of_ue(entry: &FlowEntry, program: &Program, is_v6: bool, address: u128) -> bool {
    if is_v6 {
        return entry.prefix != 0 && UserHeader::prefix(address) == entry.prefix;
    }
    let ue = if program.local.is_some() { entry.ue_or_teid } else { entry.key };
    ue != 0 && address as u32 == ue
}
