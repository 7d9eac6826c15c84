//! The packet path of profile `direct`: rules by the number of their session, and others by entries that have their
//! action.

use causeway_p4::names::{parameter, table};

use crate::tables::variants;
use causeway_types::Time;

use super::codes::DropReason;
use super::packet::{Family, Packet};
use super::{State, Upf};

/// The template of sessions whose rules have entries of their own.
const CLASSIFIED: u32 = 15;

/// Templates from here on forward.
const FORWARDS: u32 = 16;

/// The entry of a session's number; all zero where it was never written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Index {
    teid: u32,
    generation: u32,
    qfi: u32,
    pub(super) template: u32,
    meter: u32,
    offset: u32,
}

impl Index {
    pub(super) fn set(&mut self, name: &str, value: u32) {
        match name {
            parameter::TEID => self.teid = value,
            parameter::GENERATION => self.generation = value,
            parameter::QFI => self.qfi = value,
            parameter::TEMPLATE => self.template = value,
            parameter::METER_INDEX => self.meter = value,
            parameter::OFFSET => self.offset = value,
            _ => {}
        }
    }
}

impl Upf {
    /// Matches, forwards, counts and meters as the other profiles do, in the order of the program.
    pub(super) fn treat_by_index(&self, state: &mut State, now: Time, packet: &mut Packet, is_sound: bool) {
        let is_of_flow = self.find_session(state, packet);
        let Index { template, .. } = packet.index;
        if is_of_flow && template != 0 && template != CLASSIFIED {
            if packet.rule == 0 {
                packet.drop = Some(unknown(packet));
            }
            if is_sound {
                let table = if packet.is_tunnelled { table::UL_TEMPLATE } else { table::DL_TEMPLATE };
                if self.first(state, packet, &[table]).is_err() {
                    packet.drop = packet.drop.or(Some(DropReason::NoForwarding));
                }
                if let Some((meters, _)) = self.names.by_index {
                    self.meter(state, now, packet, meters);
                }
                if template >= FORWARDS {
                    self.account(state, packet.rule, packet.octets, 0);
                }
            }
            return;
        }
        if self.match_rule(state, packet).is_err() {
            (packet.rule, packet.meter) = (0, 0);
            packet.drop = Some(unknown(packet));
        }
        if is_sound {
            self.meter(state, now, packet, self.names.meters);
            if packet.forward.is_some() {
                self.account(state, packet.rule, packet.octets, 0);
            }
        }
    }

    /// Finds the entry of the session's number; returns whether it is of this session and for the packet's QoS flow.
    fn find_session(&self, state: &mut State, packet: &mut Packet) -> bool {
        if packet.is_tunnelled {
            let table = match packet.teid_in >> 16 & 0xc3 {
                0 | 1 => table::UL_SESSIONS_LOW,
                2 => variants::UL_SESSIONS_HIGH,
                _ => return false,
            };
            if self.names.table(table).is_none() {
                return false;
            }
            let _all_zero = self.apply(state, packet, table);
            (packet.rule, packet.meter) = (packet.teid_in, packet.index.meter);
            let Index { generation, qfi, .. } = packet.index;
            return generation == packet.teid_in >> 18 && (qfi == 0 || qfi == u32::from(packet.qfi_in));
        }
        let (pools, last) = match packet.family {
            Some(Family::V4) => (table::UE_POOLS, packet.inner_field(17..20)),
            Some(Family::V6) => (table::UE_POOLS_IPV6, packet.inner_field(29..32)),
            None => return false,
        };
        if self.apply(state, packet, pools).is_err() {
            return false;
        }
        packet.session = packet.index.offset.wrapping_add(last as u32) & 0xff_ffff;
        let table = match packet.session >> 16 & 3 {
            0 => table::DL_SESSIONS_LOW,
            1 => table::DL_SESSIONS_MIDDLE,
            2 => variants::DL_SESSIONS_HIGH,
            _ => return false,
        };
        if self.names.table(table).is_none() {
            return false;
        }
        let _all_zero = self.apply(state, packet, table);
        let Index { teid, meter, .. } = packet.index;
        (packet.rule, packet.meter, packet.teid_out) = (packet.session, meter, teid);
        true
    }

    /// Matches a rule that contains its own action.
    fn match_rule(&self, state: &mut State, packet: &mut Packet) -> Result<(), super::Miss> {
        let (classes, rules): (_, &[&str]) = if packet.is_tunnelled {
            (
                [table::FILTERS_UL, table::FILTERS_UL_IPV6],
                &[
                    table::UL_TO_N6_RULES,
                    table::UL_TO_N9_N3_RULES,
                    table::UL_TO_N6_SIMPLE,
                    table::UL_TO_N9_N3_SIMPLE,
                    table::DL_FROM_N9_SIMPLE,
                ],
            )
        } else {
            (
                [table::FILTERS_DL, table::FILTERS_DL_IPV6],
                &[table::DL_FROM_N6_RULES, table::DL_FROM_N6_SIMPLE],
            )
        };
        let _class_zero = self.first(state, packet, &classes);
        self.first(state, packet, rules)
    }
}

const fn unknown(packet: &Packet) -> DropReason {
    if packet.is_tunnelled { DropReason::UnknownTeid } else { DropReason::UnknownUe }
}
