//! Who is in the chain, and the order of states.

/// The number of a configuration: it grows with each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Epoch(pub u32);

/// A switch or UPF that may be in the chain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Member {
    /// Its number, for ever.
    pub node: u16,
    /// Another number after each start: what a member knew before a failure is gone.
    pub incarnation: u32,
}

impl Member {
    /// This incarnation of a node.
    pub const fn new(node: u16, incarnation: u32) -> Self {
        Self { node, incarnation }
    }
}

/// The version of the state of a session. A later state has a greater version, also if another head made it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Version {
    /// The epoch of the head that made it.
    pub epoch: Epoch,
    /// The number of states that this head has made in the epoch.
    pub number: u64,
}

/// The members of the chain in an epoch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Configuration {
    /// Its number.
    pub epoch: Epoch,
    /// The members, the head first, the tail last.
    pub members: Vec<Member>,
    /// A member that receives all sessions from the tail, to become the tail later.
    pub joining: Option<Member>,
}

impl Configuration {
    /// The place of a member in the chain.
    pub fn position(&self, member: Member) -> Option<usize> {
        self.members.iter().position(|other| *other == member)
    }

    /// The last member, the primary.
    pub fn tail(&self) -> Option<Member> {
        self.members.last().copied()
    }
}
