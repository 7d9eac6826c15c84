//! What is kept of sessions and of rules by their numbers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use causeway_rules::{Far, Urr};
use causeway_types::{FarId, PdrId, QerId, Seid, UrrId};

use super::operation::Operation;
use super::picture::{Content, Door, Wanted};
use crate::driver::{EntryKey, Rates};
use crate::{Count, SwitchPdr};

/// A session on the switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    pub(super) placed: BTreeMap<PdrId, Placed>,
    pub(super) guards: Vec<EntryKey>,
    pub(super) doors: BTreeSet<Door>,
    /// Meters by QER and direction (true: uplink), with their indices.
    pub(super) meters: BTreeMap<(QerId, bool), (u32, Rates)>,
    /// All numbers that have not retired.
    pub(super) numbers: BTreeSet<SwitchPdr>,
    /// URRs as the pulling of usage knows them.
    pub(super) urrs: BTreeMap<UrrId, Arc<Urr>>,
    /// Its inactivity is watched.
    pub(super) watches_activity: bool,
    /// FARs as the software has them.
    pub(super) fars: BTreeMap<FarId, Arc<Far>>,
    /// The exhausted quotas that its rows were made for.
    pub(super) exhausted: BTreeSet<UrrId>,
    /// The operation under way, and those that wait for it.
    pub(super) busy: Option<Operation>,
    pub(super) queue: VecDeque<Operation>,
}

impl Held {
    /// What of it a change is compared with.
    pub(super) fn for_change(&self) -> Self {
        Self {
            placed: self.placed.clone(),
            guards: self.guards.clone(),
            doors: self.doors.clone(),
            meters: self.meters.clone(),
            ..Self::default()
        }
    }
}

/// A rule on the switch.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) number: SwitchPdr,
    pub(super) wanted: Wanted,
}

/// What a number stands for.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    pub(super) session: Seid,
    pub(super) pdr: PdrId,
    pub(super) content: Content,
    /// Octets of headers around each user packet where it is counted: before and after QoS enforcement.
    pub(super) headers: [u64; 2],
    /// The operation that brought it and that the software has not carried out yet.
    pub(super) fresh: Option<Operation>,
    /// No packet has it any more.
    pub(super) is_expired: bool,
    /// For each side: what was read last, and whether that was all.
    pub(super) last: [Count; 2],
    pub(super) is_final: [bool; 2],
}

/// Octets of an Ethernet header.
const ETHERNET: u64 = 14;

/// Octets of IPv4, UDP, GTP-U and a PDU Session Container of four octets.
const TUNNEL: u64 = 44;

impl Numbered {
    pub(super) fn new(session: Seid, pdr: PdrId, content: Content, fresh: Operation) -> Self {
        let leaves_in_tunnel = matches!(content.template.deed, super::Deed::Encapsulate { .. });
        let around = |is_tunnelled: bool| ETHERNET + if is_tunnelled { TUNNEL } else { 0 };
        Self {
            session,
            pdr,
            headers: [around(content.is_tunnelled), around(leaves_in_tunnel)],
            content,
            fresh: Some(fresh),
            is_expired: false,
            last: [Count::ZERO; 2],
            is_final: [false; 2],
        }
    }

    /// A frame's count in user packets.
    pub(super) fn of_users(&self, side: usize, count: Count) -> Count {
        let headers = self.headers.get(side).copied().unwrap_or_default();
        Count { octets: count.octets.saturating_sub(count.packets.saturating_mul(headers)), ..count }
    }
}
