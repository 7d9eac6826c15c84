//! What most packets ask of a program, laid out to be read at a glance.

use causeway_ports::Meta;
use causeway_types::Direction;

use crate::filters::{FilterSets, SetId};
use crate::plain::flaw;
use crate::program::{Deed, Program, Rate, Sending, Step, Tunnel, Way};
use crate::surroundings::{Exit, Surroundings};

/// What the choice of a rule asks of a program.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Head {
    /// Which rule a packet is for.
    pub(crate) set: SetId,
    /// The same where packets of most kinds are chosen for at a glance: it is plain, and the UE's address is asked for. Else a
    /// set that nothing fits.
    pub(crate) quick: SetId,
    /// The first block of that, as [`FilterSets::block_of`] says.
    pub(crate) block: u32,
    /// The number of its first step's course.
    pub(crate) first: u32,
    /// Uplink packets come in by tunnel, downlink ones from a data network. Others are chosen for by [`crate::work`].
    pub(crate) is_plain: bool,
    /// As in [`Program`].
    pub(crate) names_ue: bool,
    /// As in [`Program`].
    pub(crate) has_more: bool,
    /// As in [`Program`].
    pub(crate) is_final: bool,
    /// Some account is not in the line.
    pub(crate) has_rule_lines: bool,
    /// As in [`Program`].
    pub(crate) is_for_slow_room: bool,
    /// As in [`Program`].
    pub(crate) leads_out: bool,
}

impl Head {
    /// Of no program.
    pub(crate) const NOTHING: Self = Self {
        set: SetId::NOTHING,
        quick: SetId::NOTHING,
        block: FilterSets::block_of(SetId::NOTHING),
        first: 0,
        is_plain: false,
        names_ue: false,
        has_more: false,
        is_final: false,
        has_rule_lines: false,
        is_for_slow_room: true,
        leads_out: false,
    };

    /// Of a program, whose courses begin at a number.
    pub(crate) fn of(program: &Program, first: u32) -> Self {
        let is_plain = program.local.is_some() == (program.direction == Direction::Uplink);
        let quick = if is_plain && program.names_ue { program.set } else { SetId::NOTHING };
        Self {
            set: program.set,
            quick,
            block: FilterSets::block_of(quick),
            first,
            is_plain,
            names_ue: program.names_ue,
            has_more: program.has_more,
            is_final: program.is_final,
            has_rule_lines: program.steps.iter().any(|step| step.account > 0),
            is_for_slow_room: program.is_for_slow_room(),
            leads_out: program.leads_out(),
        }
    }
}

/// A step. It is ordinary if it sends packets by the account of the line alone; anything else is done by [`crate::deed`].
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Course {
    /// The program and the step in it.
    pub(crate) program: u32,
    pub(crate) index: u8,
    /// As in [`Step`].
    pub(crate) account: u8,
    /// What must not be the matter with a packet: bits of [`flaw`].
    pub(crate) minds: u8,
    /// It is routed, and loses a hop.
    pub(crate) loses_hop: bool,
    /// The rule has a rate of its own.
    pub(crate) is_metered: bool,
    /// As in [`Step`].
    pub(crate) reports_drops: bool,
    /// It is sent into a tunnel.
    pub(crate) is_tunnel: bool,
    /// As in [`Tunnel`]; zero where there is no tunnel.
    pub(crate) header_len: u8,
    /// As in [`Sending`]; zero where nothing is ordinary.
    pub(crate) room: u32,
    /// As in [`Step`].
    pub(crate) pause: u64,
    pub(crate) rate: Rate,
    /// The header of a tunnel without TEID, and with the length that it has in front of a packet of no octets.
    pub(crate) header: [u64; 2],
    pub(crate) exit: Exit,
    /// What the frame is then, but for the ECN.
    pub(crate) meta: Meta,
}

/// Octets of a GTP-U header, alone and with a PDU Session Container. Other headers are not ordinary.
pub(crate) const HEADER: u8 = 8;
pub(crate) const HEADER_AND_CONTAINER: u8 = 16;

impl Course {
    /// Nothing is ordinary.
    pub(crate) const ASK: Self = Self {
        program: u32::MAX,
        index: 0,
        account: 0,
        minds: 0,
        loses_hop: false,
        is_metered: false,
        reports_drops: false,
        is_tunnel: false,
        header_len: 0,
        room: 0,
        pause: 0,
        rate: Rate { kbps: 0, burst: 0 },
        header: [0; 2],
        exit: Exit::Network(0),
        meta: Meta::Ip,
    };

    /// Of a step.
    pub(crate) fn of(step: &Step, surroundings: &Surroundings) -> Self {
        match &step.deed {
            Deed::Send(sending) if step.account == 0 && !step.is_shared && !sending.is_gated => {
                Self::sending(step, sending, surroundings).unwrap_or(Self::ASK)
            }
            _ => Self { account: step.account, ..Self::ASK },
        }
    }

    /// The course of a step of a program.
    pub(crate) fn numbered(self, program: u32, index: u8) -> Self {
        Self { program, index, ..self }
    }

    fn sending(step: &Step, sending: &Sending, surroundings: &Surroundings) -> Option<Self> {
        let loses_hop = sending.is_routed && surroundings.decrement_ttl;
        let minds = [
            (sending.is_routed, flaw::DAMAGED),
            (loses_hop, flaw::LAST_HOP),
            (sending.leaves_link, flaw::LINK),
            (loses_hop && surroundings.has_gateways() || sending.leaves_network(), flaw::OURS),
            (matches!(sending.way, Way::Tunnel(_)), flaw::CARRIES),
            (true, flaw::CONGESTED),
        ];
        let course = Self {
            minds: minds.into_iter().map(|(minds, flaw)| flaw * u8::from(minds)).sum(),
            loses_hop,
            is_metered: step.own.is_some(),
            reports_drops: step.reports_drops,
            room: sending.room,
            pause: step.pause,
            rate: step.own.unwrap_or(Self::ASK.rate),
            ..Self::ASK
        };
        match &sending.way {
            Way::Network(network) => Some(Self { exit: Exit::Network(*network), ..course }),
            Way::Tunnel(tunnel) => course.into_tunnel(tunnel, surroundings),
        }
    }

    fn into_tunnel(self, tunnel: &Tunnel, surroundings: &Surroundings) -> Option<Self> {
        if !matches!(tunnel.header_len, HEADER | HEADER_AND_CONTAINER) {
            return None;
        }
        let (words, _) = tunnel.header.as_chunks::<8>();
        let &[first, second, ..] = words else { return None };
        // The TEID is that of the line, and the length that of the packet with what is in front of it.
        let behind = u64::from(tunnel.header_len - HEADER);
        let first = u64::from_be_bytes(first) & 0xffff << 48 | behind << 32;
        let local = surroundings.local_addr(tunnel.local)?;
        Some(Self {
            is_tunnel: true,
            header_len: tunnel.header_len,
            room: self.room.min(u32::from(u16::MAX) - u32::from(tunnel.header_len - HEADER)),
            header: [first, u64::from_be_bytes(second)],
            exit: Exit::Tunnel { local: tunnel.local },
            meta: Meta::Gtpu { local, peer: tunnel.peer, tos: tunnel.tos, hops: None },
            ..self
        })
    }
}
