//! The fourth stage: enforce and account. It checks what the action of a rule demands, and charges the rule's account.
//!
//! A complete compiled action needs [`account`] alone. [`early_drop`] decides the packets that it refuses, as far as
//! that is cheap; [`dispatch`] and [`matched`] decide all others, in the order of the slow path.

mod account;
pub(crate) mod dispatch;
pub(crate) mod early_drop;
pub(crate) mod icmp_limit;
pub(crate) mod matched;

use std::num::NonZeroU8;

use causeway_dataplane::hops_of_relayed;
use causeway_packet::Meta;

/// The outer TTL of a packet that is relayed into another tunnel. `None`: it expires, which the slow path handles.
#[inline(always)]
pub(crate) fn hops_left(meta: &Meta) -> Option<Option<NonZeroU8>> {
    match meta {
        Meta::Gtpu { hops, .. } => hops_of_relayed(*hops).ok(),
        Meta::Ip | Meta::Ethernet => Some(None),
    }
}
