//! Changes of sessions in progress.

use causeway_dataplane::{Applied, ApplyError, Plan};
use causeway_types::Seid;

use super::apply_readings::AppliedCount;
use super::recovery::ReadBack;
use super::session_change::Change;
use crate::driver::Update;
use crate::pendulum::Partition;

/// The number of a session's change; the changes of one session are carried out in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Operation(pub(super) u64);

/// The progress of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The switch has carried it out: packets see the new rules. Usage that it reports may still have to be read.
    Written(Operation),
    /// It has ended.
    Done(Operation, Result<Applied, ApplyError>),
}

/// The state of an operation.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) session: Seid,
    /// `None`: the rules stay, but their entries are written again.
    pub(super) plan: Option<Plan>,
    pub(super) change: Change,
    /// Updates that the switch has not confirmed.
    pub(super) unwritten: Vec<Update>,
    pub(super) attempts: u32,
    /// The partitions of its new numbers' entries in the accounting tables of both sides.
    pub(super) partitions: [Partition; 2],
    /// A part of the updates may have been made.
    pub(super) is_uncertain: bool,
    pub(super) read_back: Option<ReadBack>,
    /// The software has applied it before the switch; its result.
    pub(super) led: Option<Applied>,
    /// Frames of its new rules that arrived before the software had these rules, and their usage.
    pub(super) frames: Vec<Vec<u8>>,
    pub(super) usage: Vec<AppliedCount>,
    /// The operation was abandoned: it must not be carried out.
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
