//! Compiled actions and program heads: the parts of a program that common packets need, in a compact layout.

use causeway_dataplane::Exit;
use causeway_packet::Meta;
use causeway_types::Direction;

use crate::batch::state::packet_flag;
use crate::classify::filters::{FilterSets, SetId};
use crate::program::{Action, CompiledSend, Program, Rate, Route, Step, Tunnel};
use crate::topology_index::TopologyIndex;

/// The fields of a program that classification needs.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct ProgramHead {
    /// The filter set of the packets.
    pub(crate) set: SetId,
    /// The filter set in the common case: the program is common, and the UE's address is checked. Otherwise a set that
    /// no packet matches.
    pub(crate) common_set: SetId,
    /// Its first block, from [`FilterSets::block_of`].
    pub(crate) block: u32,
    /// The number of its first step's compiled action.
    pub(crate) first: u32,
    /// Uplink packets arrive in a tunnel, downlink packets from a data network. [`crate::batch::general`] classifies
    /// others.
    pub(crate) is_common: bool,
    /// As in [`Program`].
    pub(crate) names_ue: bool,
    /// As in [`Program`].
    pub(crate) has_more: bool,
    /// As in [`Program`].
    pub(crate) is_final: bool,
    /// Whether an account is in a rule entry.
    pub(crate) has_rule_lines: bool,
    /// As in [`Program`].
    pub(crate) needs_slow_path: bool,
    /// As in [`Program`].
    pub(crate) sends_to_network: bool,
}

impl ProgramHead {
    /// The head of no program.
    pub(crate) const NOTHING: Self = Self {
        set: SetId::NOTHING,
        common_set: SetId::NOTHING,
        block: FilterSets::block_of(SetId::NOTHING),
        first: 0,
        is_common: false,
        names_ue: false,
        has_more: false,
        is_final: false,
        has_rule_lines: false,
        needs_slow_path: true,
        sends_to_network: false,
    };

    /// The head of a program whose compiled actions start at number `first`.
    pub(crate) fn of(program: &Program, first: u32) -> Self {
        let is_common = program.local.is_some() == (program.direction == Direction::Uplink);
        let quick = if is_common && program.names_ue { program.set } else { SetId::NOTHING };
        Self {
            set: program.set,
            common_set: quick,
            block: FilterSets::block_of(quick),
            first,
            is_common,
            names_ue: program.names_ue,
            has_more: program.has_more,
            is_final: program.is_final,
            has_rule_lines: program.steps.iter().any(|step| step.account > 0),
            needs_slow_path: program.needs_slow_path(),
            sends_to_network: program.sends_to_network(),
        }
    }
}

/// A compiled step. It is complete if it forwards packets with the flow entry's account alone; [`crate::enforce::matched`]
/// executes others.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct CompiledAction {
    /// The program, and the step in it.
    pub(crate) program: u32,
    pub(crate) index: u8,
    /// As in [`Step`].
    pub(crate) account: u8,
    /// Packet conditions that exclude it: bits of [`packet_flag`].
    pub(crate) rejected_flags: u8,
    /// Whether packets are routed, so that their hop limit is decremented.
    pub(crate) decrements_ttl: bool,
    /// Whether the rule has its own rate.
    pub(crate) is_metered: bool,
    /// As in [`Step`].
    pub(crate) reports_drops: bool,
    /// Whether packets are sent into a tunnel.
    pub(crate) is_tunnel: bool,
    /// As in [`Tunnel`]; zero without a tunnel.
    pub(crate) header_len: u8,
    /// As in [`CompiledSend`]; zero where the general action applies to all packets.
    pub(crate) max_payload: u32,
    /// As in [`Step`].
    pub(crate) idle_limit: u64,
    pub(crate) rate: Rate,
    /// The header of a tunnel without TEID, with the length for an empty packet.
    pub(crate) header: [u64; 2],
    pub(crate) exit: Exit,
    /// The metadata of the frame, without the ECN.
    pub(crate) meta: Meta,
}

/// Octets of a GTP-U header, alone and with a PDU Session Container. Other headers take the general action.
pub(crate) const HEADER: u8 = 8;
pub(crate) const HEADER_AND_CONTAINER: u8 = 16;

impl CompiledAction {
    /// The general action applies to all packets.
    pub(crate) const SLOW_PATH: Self = Self {
        program: u32::MAX,
        index: 0,
        account: 0,
        rejected_flags: 0,
        decrements_ttl: false,
        is_metered: false,
        reports_drops: false,
        is_tunnel: false,
        header_len: 0,
        max_payload: 0,
        idle_limit: 0,
        rate: Rate { kbps: 0, burst: 0 },
        header: [0; 2],
        exit: Exit::Network(0),
        meta: Meta::Ip,
    };

    /// The compiled action of a step.
    pub(crate) fn of(step: &Step, topology_index: &TopologyIndex) -> Self {
        match &step.action {
            Action::Send(send) if step.account == 0 && !step.is_shared && !send.is_gated => {
                Self::sending(step, send, topology_index).unwrap_or(Self::SLOW_PATH)
            }
            _ => Self { account: step.account, ..Self::SLOW_PATH },
        }
    }

    /// Sets its program and the index of its step.
    pub(crate) fn numbered(self, program: u32, index: u8) -> Self {
        Self { program, index, ..self }
    }

    fn sending(step: &Step, send: &CompiledSend, topology_index: &TopologyIndex) -> Option<Self> {
        let decrements_ttl = send.is_routed && topology_index.decrement_ttl;
        let rejected = [
            (send.is_routed, packet_flag::BAD_CHECKSUM),
            (decrements_ttl, packet_flag::TTL_EXPIRES),
            (send.leaves_link, packet_flag::LINK_SCOPED),
            (
                decrements_ttl && topology_index.has_gateways() || send.is_to_network(),
                packet_flag::LOCAL_ADDRESS,
            ),
            (matches!(send.route, Route::Tunnel(_)), packet_flag::HAS_OTHER_EXTENSIONS),
            (true, packet_flag::ECN_UPDATE),
        ];
        let action = Self {
            rejected_flags: rejected.into_iter().map(|(rejected, flaw)| flaw * u8::from(rejected)).sum(),
            decrements_ttl,
            is_metered: step.rule_rate.is_some(),
            reports_drops: step.reports_drops,
            max_payload: send.max_payload,
            idle_limit: step.idle_limit,
            rate: step.rule_rate.unwrap_or(Self::SLOW_PATH.rate),
            ..Self::SLOW_PATH
        };
        match &send.route {
            Route::Network(network) => Some(Self { exit: Exit::Network(*network), ..action }),
            Route::Tunnel(tunnel) => action.into_tunnel(tunnel, topology_index),
        }
    }

    fn into_tunnel(self, tunnel: &Tunnel, topology_index: &TopologyIndex) -> Option<Self> {
        if !matches!(tunnel.header_len, HEADER | HEADER_AND_CONTAINER) {
            return None;
        }
        let (words, _) = tunnel.header.as_chunks::<8>();
        let &[first, second, ..] = words else { return None };
        // The TEID is that of the entry, and the length that of the packet with its extension headers.
        let behind = u64::from(tunnel.header_len - HEADER);
        let first = u64::from_be_bytes(first) & 0xffff << 48 | behind << 32;
        let local = topology_index.local_addr(tunnel.local)?;
        Some(Self {
            is_tunnel: true,
            header_len: tunnel.header_len,
            max_payload: self.max_payload.min(u32::from(u16::MAX) - u32::from(tunnel.header_len - HEADER)),
            header: [first, u64::from_be_bytes(second)],
            exit: Exit::Tunnel { local: tunnel.local },
            meta: Meta::Gtpu { local, peer: tunnel.peer, tos: tunnel.tos, hops: None },
            ..self
        })
    }
}
