//! What most packets ask of a program, laid out to be read at a glance.

use causeway_ports::Meta;
use causeway_types::Direction;

use crate::batch_state::packet_flag;
use crate::filters::{FilterSets, SetId};
use crate::program::{Action, CompiledSend, Program, Rate, Route, Step, Tunnel};
use crate::topology_index::{Exit, TopologyIndex};

/// What the choice of a rule asks of a program.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct ProgramHead {
    /// Which rule a packet is for.
    pub(crate) set: SetId,
    /// The same where packets of most kinds are chosen for at a glance: it is plain, and the UE's address is asked for. Else a
    /// set that nothing fits.
    pub(crate) common_set: SetId,
    /// The first block of that, as [`FilterSets::block_of`] says.
    pub(crate) block: u32,
    /// The number of its first step's course.
    pub(crate) first: u32,
    /// Uplink packets come in by tunnel, downlink ones from a data network. Others are chosen for by [`crate::general_path`].
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
    pub(crate) needs_slow_path: bool,
    /// As in [`Program`].
    pub(crate) leaves_tunnels: bool,
}

impl ProgramHead {
    /// Of no program.
    pub(crate) const NOTHING: Self = Self {
        set: SetId::NOTHING,
        common_set: SetId::NOTHING,
        block: FilterSets::block_of(SetId::NOTHING),
        first: 0,
        is_plain: false,
        names_ue: false,
        has_more: false,
        is_final: false,
        has_rule_lines: false,
        needs_slow_path: true,
        leaves_tunnels: false,
    };

    /// Of a program, whose courses begin at a number.
    pub(crate) fn of(program: &Program, first: u32) -> Self {
        let is_plain = program.local.is_some() == (program.direction == Direction::Uplink);
        let quick = if is_plain && program.names_ue { program.set } else { SetId::NOTHING };
        Self {
            set: program.set,
            common_set: quick,
            block: FilterSets::block_of(quick),
            first,
            is_plain,
            names_ue: program.names_ue,
            has_more: program.has_more,
            is_final: program.is_final,
            has_rule_lines: program.steps.iter().any(|step| step.account > 0),
            needs_slow_path: program.needs_slow_path(),
            leaves_tunnels: program.leaves_tunnels(),
        }
    }
}

/// A step. It is ordinary if it sends packets by the account of the line alone; anything else is done by [`crate::action`].
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct CompiledAction {
    /// The program and the step in it.
    pub(crate) program: u32,
    pub(crate) index: u8,
    /// As in [`Step`].
    pub(crate) account: u8,
    /// What must not be the matter with a packet: bits of [`packet_flag`].
    pub(crate) rejected_flags: u8,
    /// It is routed, and loses a hop.
    pub(crate) decrements_ttl: bool,
    /// The rule has a rate of its own.
    pub(crate) is_metered: bool,
    /// As in [`Step`].
    pub(crate) reports_drops: bool,
    /// It is sent into a tunnel.
    pub(crate) is_tunnel: bool,
    /// As in [`Tunnel`]; zero where there is no tunnel.
    pub(crate) header_len: u8,
    /// As in [`CompiledSend`]; zero where nothing is ordinary.
    pub(crate) max_payload: u32,
    /// As in [`Step`].
    pub(crate) idle_limit: u64,
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

impl CompiledAction {
    /// Nothing is ordinary.
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

    /// Of a step.
    pub(crate) fn of(step: &Step, topology_index: &TopologyIndex) -> Self {
        match &step.action {
            Action::Send(send) if step.account == 0 && !step.is_shared && !send.is_gated => {
                Self::sending(step, send, topology_index).unwrap_or(Self::SLOW_PATH)
            }
            _ => Self { account: step.account, ..Self::SLOW_PATH },
        }
    }

    /// The course of a step of a program.
    pub(crate) fn numbered(self, program: u32, index: u8) -> Self {
        Self { program, index, ..self }
    }

    fn sending(step: &Step, send: &CompiledSend, topology_index: &TopologyIndex) -> Option<Self> {
        let decrements_ttl = send.is_routed && topology_index.decrement_ttl;
        let minds = [
            (send.is_routed, packet_flag::BAD_CHECKSUM),
            (decrements_ttl, packet_flag::TTL_EXPIRES),
            (send.leaves_link, packet_flag::LINK_SCOPED),
            (
                decrements_ttl && topology_index.has_gateways() || send.leaves_network(),
                packet_flag::LOCAL_ADDRESS,
            ),
            (matches!(send.way, Route::Tunnel(_)), packet_flag::HAS_OTHER_EXTENSIONS),
            (true, packet_flag::ECN_UPDATE),
        ];
        let action = Self {
            rejected_flags: minds.into_iter().map(|(minds, flaw)| flaw * u8::from(minds)).sum(),
            decrements_ttl,
            is_metered: step.rule_rate.is_some(),
            reports_drops: step.reports_drops,
            max_payload: send.max_payload,
            idle_limit: step.idle_limit,
            rate: step.rule_rate.unwrap_or(Self::SLOW_PATH.rate),
            ..Self::SLOW_PATH
        };
        match &send.way {
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
        // The TEID is that of the line, and the length that of the packet with what is in front of it.
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
