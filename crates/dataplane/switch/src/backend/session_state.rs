//! State of sessions, and of rules by their numbers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use causeway_model::Far;
use causeway_types::{Direction, FarId, PdrId, QerId, Seid, UrrId};

use super::application_classes::Measured;
use super::compile_session::{CompiledRule, LookupKey, NumberContent};
use super::direct::Filters;
use super::operation::Operation;
use super::placement::Places;
use super::template::RuleAction;
use crate::armed::Arming;
use crate::driver::{Entry, Rates};
use crate::{Count, SwitchPdr};

/// A session on the switch.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionState {
    pub(super) placed: BTreeMap<PdrId, PlacedRule>,
    /// Entries of the source guard, of the numbers of its UE in profile `direct`, and those by which its packets count for its application class.
    pub(super) guards: Vec<Entry>,
    /// The application class for which its entries were made.
    pub(super) measured: Option<Measured>,
    /// One of its PDRs names an application.
    pub(super) names_application: bool,
    pub(super) keys: BTreeSet<LookupKey>,
    /// Numbers of its UE by address, in profile `direct`.
    pub(super) ues: BTreeMap<LookupKey, u32>,
    /// Filters of its rules that have classes, in profile `direct`.
    pub(super) filters: Filters,
    /// Meters with their indices.
    pub(super) meters: BTreeMap<MeterKey, (u32, Rates)>,
    /// All numbers that have not retired.
    pub(super) numbers: BTreeSet<SwitchPdr>,
    /// FARs as the software has them.
    pub(super) fars: BTreeMap<FarId, Arc<Far>>,
    /// The exhausted quotas for which its entries were made.
    pub(super) exhausted: BTreeSet<UrrId>,
    /// The directions that the switch forwards; the software handles the others.
    pub(super) places: Places,
    /// Armed rules that the switch forwards by now.
    pub(super) flipped: BTreeSet<SwitchPdr>,
    /// The operation in progress, and those that wait for it.
    pub(super) busy: Option<Operation>,
    pub(super) queue: VecDeque<Operation>,
}

/// A rule on the switch.
#[derive(Clone, Debug)]
pub(super) struct PlacedRule {
    pub(super) number: SwitchPdr,
    pub(super) wanted: CompiledRule,
    /// The number of its template, where the rule is in the entry of its session's number.
    pub(super) template: Option<u16>,
    /// Its packets still go to the software.
    pub(super) armed: Option<Arming>,
}

/// The use of a meter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct MeterKey {
    pub(super) qer: QerId,
    pub(super) is_uplink: bool,
    /// For rules in the entry of their session's number.
    pub(super) is_simple: bool,
}

impl PlacedRule {
    /// The meter of its packets.
    pub(super) fn meter(&self) -> Option<MeterKey> {
        let NumberContent { meter, template, .. } = self.wanted.content;
        Some(MeterKey { qer: meter?, is_uplink: template.is_uplink, is_simple: self.template.is_some() })
    }
}

/// The meaning of a number.
#[derive(Clone, Debug)]
pub(super) struct NumberRecord {
    pub(super) session: Seid,
    pub(super) pdr: PdrId,
    pub(super) content: NumberContent,
    /// Octets of headers around each counted user packet: before and after QoS enforcement.
    pub(super) headers: [u64; 2],
    /// The operation that created it and that the software has not applied yet.
    pub(super) fresh: Option<Operation>,
    /// The operation that changes its action, from the write until the software has applied it.
    pub(super) altering: Option<Operation>,
    /// Whether its counted packets were transmitted in a tunnel, if there are any.
    leaves_in_tunnel: Option<bool>,
    /// No packet has it any more.
    pub(super) is_expired: bool,
    /// For each side: the last reading, and whether it was final.
    pub(super) last: [Count; 2],
    pub(super) is_final: [bool; 2],
}

/// Octets of an Ethernet header.
const ETHERNET: u64 = 14;

/// Octets of IPv4, UDP, GTP-U and a PDU Session Container of four octets.
const TUNNEL: u64 = 44;

const fn is_in_tunnel(action: RuleAction) -> bool {
    matches!(action, RuleAction::Encapsulate { .. })
}

const fn header_octets(is_tunnelled: bool) -> u64 {
    ETHERNET + if is_tunnelled { TUNNEL } else { 0 }
}

impl NumberRecord {
    pub(super) fn new(session: Seid, pdr: PdrId, content: NumberContent, fresh: Operation) -> Self {
        let mut numbered = Self {
            session,
            pdr,
            headers: [
                header_octets(content.is_tunnelled) + content.underlay[0],
                header_octets(false) + content.underlay[1],
            ],
            content: content.clone(),
            fresh: Some(fresh),
            altering: None,
            leaves_in_tunnel: None,
            is_expired: false,
            last: [Count::ZERO; 2],
            is_final: [false; 2],
        };
        numbered.update(content);
        numbered
    }

    /// The direction of its packets.
    pub(super) const fn direction(&self) -> Direction {
        if self.content.template.is_uplink { Direction::Uplink } else { Direction::Downlink }
    }

    /// Its meaning changes, while it counts the same packets.
    pub(super) fn update(&mut self, content: NumberContent) {
        if content.template.action.forwards() {
            let leaves_in_tunnel = is_in_tunnel(content.template.action);
            self.leaves_in_tunnel = Some(leaves_in_tunnel);
            self.headers[1] = header_octets(leaves_in_tunnel) + content.underlay[1];
        }
        self.content = content;
    }

    /// Whether packets with this action have the same headers as those counted before.
    pub(super) fn has_same_headers(&self, action: RuleAction) -> bool {
        !action.forwards() || self.leaves_in_tunnel.is_none_or(|before| before == is_in_tunnel(action))
    }

    /// Converts a count of frames to user packets.
    pub(super) fn to_user_count(&self, side: usize, count: Count) -> Count {
        let headers = self.headers.get(side).copied().unwrap_or_default();
        Count { octets: count.octets.saturating_sub(count.packets.saturating_mul(headers)), ..count }
    }
}
