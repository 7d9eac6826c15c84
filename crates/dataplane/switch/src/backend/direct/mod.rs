//! Profile `direct`: rules by the number of their session, or by an entry that says what they do.
//!
//! A number is where a rule is counted. That of a simple rule follows from its tunnel or from the number of its UE; the others are given out, from
//! [`OWN_ENTRY_BASE`] on. A rule keeps its number as long as what it counts stays the same, and nobody else gets it before it was read for the last time.

mod change;
mod class_owners;
mod class_updates;
mod classes;
mod filter;
mod groups;
mod numbers;
mod table_placement;
mod templates;

pub(super) use class_owners::{ClassOwners, ClassShare, LookupPoint};
pub(super) use classes::{Classes, Filters};
pub(super) use groups::{Group, groups};
pub(super) use numbers::Numbers;
pub(super) use numbers::pool;
pub(super) use table_placement::{entry, flow_of, offset, rank};

/// Numbers of rules with an entry of their own are from here on.
pub(super) const OWN_ENTRY_BASE: u32 = 0x80_0000;

/// Numbers of downlink rules are this and the session's; those of uplink rules are the session's part of the TEID.
const DOWNLINK: u32 = 0x40_0000;

/// The part of a TEID or a number that is the session's.
const SESSION: u32 = 0x3_ffff;

/// Four bits of a TEID from here on are its generation: the entry of the session's number has them, too.
const GENERATION: u32 = 18;

/// Sessions from here on have no entry by number.
const SESSIONS: u32 = 0x2_0000;

/// Where a rule with an entry of its own says by which QoS flow its packets came, if the software handles them.
const FLOW: u32 = 16;

/// The number of a rule, from what the switch says with a frame; and the QFI with which the frame came, if that is said, too.
pub(super) const fn decode_rule_number(rule: u32) -> (u32, Option<u8>) {
    if rule >= OWN_ENTRY_BASE {
        (OWN_ENTRY_BASE | rule & 0xffff, Some((rule >> FLOW & 0x3f) as u8))
    } else if rule >= DOWNLINK {
        (rule, None)
    } else {
        (rule & SESSION, None)
    }
}
