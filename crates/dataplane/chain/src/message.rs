//! Messages between members, and what a member asks its owner to do.

use crate::{Epoch, Machine, Member, Version};

/// The state of a session, from a member to the next one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Update<K, S, A> {
    /// The epoch of the sender.
    pub epoch: Epoch,
    /// The session.
    pub key: K,
    /// The version of the state.
    pub version: Version,
    /// The state; `None`: the session was deleted.
    pub state: Option<S>,
    /// The last requests by their sequence numbers, the oldest first, with their responses.
    pub answered: Vec<(u32, A)>,
    /// The tail responds to the request with this sequence number.
    pub respond_to: Option<u32>,
}

/// A message from one member to another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Message<K, S, A> {
    /// To the next member, or from the tail to a joining member.
    Update(Update<K, S, A>),
    /// From a joining member to the tail: it follows this epoch, and has nothing left of earlier ones.
    Joining {
        /// The epoch of the sender.
        epoch: Epoch,
    },
    /// To the previous member: the tail has this version, or, from a joining member, it has it.
    Acknowledge {
        /// The epoch of the sender.
        epoch: Epoch,
        /// The session.
        key: K,
        /// The version.
        version: Version,
    },
}

impl<K, S, A> Message<K, S, A> {
    /// The epoch of the sender. Members of other epochs ignore the message.
    pub const fn epoch(&self) -> Epoch {
        match self {
            Self::Update(update) => update.epoch,
            Self::Joining { epoch } | Self::Acknowledge { epoch, .. } => *epoch,
        }
    }
}

/// What the owner of a member does next, in order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Output<K, S, A> {
    /// Send a message to a member.
    Send {
        /// The destination.
        to: Member,
        /// The message.
        message: Message<K, S, A>,
    },
    /// Send the response to the SMF.
    Answer {
        /// The session.
        key: K,
        /// The sequence number of the request.
        sequence: u32,
        /// The response.
        answer: A,
    },
    /// Tell the coordinator that the joining member has all sessions ([`crate::Coordinator::ready`]).
    Ready {
        /// The epoch.
        epoch: Epoch,
    },
}

/// The message of a machine's members.
pub(crate) type MessageOf<M> = Message<<M as Machine>::Key, <M as Machine>::State, <M as Machine>::Answer>;

/// The output of a machine's members.
pub(crate) type OutputOf<M> = Output<<M as Machine>::Key, <M as Machine>::State, <M as Machine>::Answer>;
