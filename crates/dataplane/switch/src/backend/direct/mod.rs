//! Profile `direct`: rules by the number of their session, or by an entry that has their action.
//!
//! A number is the index of a rule's counter. That of a simple rule follows from its tunnel or from the number of its
//! UE; others are allocated from [`OWN_ENTRY_BASE`] on. A rule keeps its number as long as it counts the same packets,
//! and no other rule gets it before its last reading.

mod class_owners;
mod classes;
mod filter;
mod groups;
mod numbers;
mod table_placement;
mod templates;

pub(super) use class_owners::{ClassOwners, ClassShare, LookupPoint};
pub(super) use classes::{Classes, Filters, Task};
pub(super) use filter::Filter;
pub(super) use groups::{Group, groups};
pub(super) use numbers::{Numbers, of_pool, pool};
pub(super) use table_placement::{
    entry, flow_of, offset, rank, rows, rule_of_packets, simple_number, ue_entry,
};

/// Numbers of rules with an entry of their own are from here on.
pub(super) const OWN_ENTRY_BASE: u32 = 0x80_0000;

/// Added to the session's number for the number of a downlink rule; that of an uplink rule is the session's part of the
/// TEID.
const DOWNLINK: u32 = 0x40_0000;

/// The part of a TEID or a number that identifies the session.
const SESSION: u32 = 0x3_ffff;

/// The first of four bits of a TEID that are its generation: the entry of the session's number has them, too.
const GENERATION: u32 = 18;

/// Sessions from here on have no entry by number.
const SESSIONS: u32 = 0x2_0000;

/// The position of the QoS flow in the number that a rule with an entry of its own sends to the software.
const FLOW: u32 = 16;

/// The number of a rule, from the value in a frame of the switch; and the QFI of the received packet, if that is
/// encoded, too.
pub(super) const fn decode_rule_number(rule: u32) -> (u32, Option<u8>) {
    if rule >= OWN_ENTRY_BASE {
        (OWN_ENTRY_BASE | rule & 0xffff, Some((rule >> FLOW & 0x3f) as u8))
    } else if rule >= DOWNLINK {
        (rule, None)
    } else {
        (rule & SESSION, None)
    }
}
