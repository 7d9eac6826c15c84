//! A session that the control plane takes over from a data plane which has established it itself.

use causeway_types::{FSeid, NodeId, Seid, Time};

use crate::RuleSet;

/// An answered request, to know it again.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Answered {
    /// Its sequence number.
    pub sequence: u32,
    /// The UDP port that it came from.
    pub port: u16,
    /// Its digest: of the SEID in its header and of its body, as the PFCP codec has it.
    pub digest: u64,
}

impl Answered {
    /// The same request, whatever port it came from.
    pub const fn is_same_request(&self, other: &Self) -> bool {
        self.sequence == other.sequence && self.digest == other.digest
    }
}

/// A session as the control plane takes it over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Adopted {
    /// The UPF's SEID.
    pub seid: Seid,
    /// The CP F-SEID.
    pub cp: FSeid,
    /// The Node ID of the SMF.
    pub node: NodeId,
    /// When it was established; zero: the data plane does not know.
    pub since: Time,
    /// Its rules.
    pub rules: RuleSet,
    /// The CHOOSE ID of its uplink tunnel; `None`: the SMF chose the TEID, or sent none.
    pub choose_id: Option<u8>,
    /// The request that established it, and the last modifications, the oldest first: a repeated one gets the same
    /// answer from the control plane.
    pub answered: Vec<Answered>,
    /// The answer to each of these requests: a PFCP message.
    pub answers: Vec<Vec<u8>>,
}
