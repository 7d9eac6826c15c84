//! Changes of sessions on their way.

use causeway_dataplane::{Applied, ApplyError, Plan};
use causeway_types::Seid;

use super::apply_readings::AppliedCount;
use super::recovery::ReadBack;
use super::session_change::Change;
use crate::driver::Update;
use crate::pendulum::Partition;

/// A change of a session, by its number; those of one session are carried out in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Operation(pub(super) u64);

/// What became of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The switch has it: packets see the new rules. Usage that it reports may still have to be read.
    Written(Operation),
    /// It is over.
    Done(Operation, Result<Applied, ApplyError>),
}

/// An operation as it goes on.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) session: Seid,
    /// `None`: the rules stay, but not what the switch has to do for them.
    pub(super) plan: Option<Plan>,
    pub(super) change: Change,
    /// Updates that the switch has not confirmed.
    pub(super) unwritten: Vec<Update>,
    pub(super) attempts: u32,
    /// Where the entries of its new numbers are in the accounting tables of both sides.
    pub(super) partitions: [Partition; 2],
    /// A part of the updates may have been made.
    pub(super) is_uncertain: bool,
    pub(super) read_back: Option<ReadBack>,
    /// The software has carried it out before the switch, and what it yielded.
    pub(super) led: Option<Applied>,
    /// Frames for its new rules that came before the software knew them, and usage of those.
    pub(super) frames: Vec<Vec<u8>>,
    pub(super) usage: Vec<AppliedCount>,
    /// Nobody waits for it any more: it must not come to be.
    pub(super) is_abandoned: bool,
}

impl Pending {
    pub(super) fn new(session: Seid, plan: Option<Plan>) -> Self {
        Self {
            session,
            plan,
            change: Change::default(),
            unwritten: Vec::new(),
            attempts: 0,
            partitions: [Partition(0); 2],
            is_uncertain: false,
            read_back: None,
            led: None,
            frames: Vec::new(),
            usage: Vec::new(),
            is_abandoned: false,
        }
    }
}
