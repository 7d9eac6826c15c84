//! Why a message goes to N4, and how often.

use std::fmt;

use crate::Misfit;

/// Why a message goes to N4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// It is not of the class.
    Misfit(Misfit),
    /// Its sender is not in the table of SMFs, although hosts are associated that are not; or the Node ID or the address
    /// of the CP F-SEID is another one than in the table.
    Smf,
    /// The SMF may not establish sessions now.
    Closed,
    /// The data plane does not know the network instance.
    Network,
    /// The UE address is one from which N4 chooses, one of the UPF's, or no usual one.
    Address,
    /// The F-TEID is at another address, or may get an IPv6 address.
    Tunnel,
    /// The tunnel of the FAR leads to no usual address, or to the core.
    Peer,
    /// The rules of the session and of the modification do not fit together as the class has them.
    Rules,
    /// A session at N4 has the CP F-SEID, the UE address or the TEID.
    AtN4,
    /// Another session here has it.
    InUse,
    /// There are as many sessions as there may be.
    Full,
    /// A key finds no place in its table.
    Collision,
    /// A key may be that of a session at N4 which found no place.
    KeysMissing,
    /// The session is not here, or not the sender's.
    Session,
    /// N4 has yet to read an earlier message about the node of the SMF.
    Held,
}

impl Reason {
    /// All reasons, with the last part of the name of their counter. Misfits are one by their kind.
    pub const NAMES: [&'static str; 22] = [
        "header",
        "message",
        "length",
        "order",
        "excluded_ie",
        "value",
        "missing_ie",
        "references",
        "smf",
        "closed",
        "network",
        "address",
        "tunnel",
        "peer",
        "rules",
        "at_n4",
        "in_use",
        "full",
        "collision",
        "keys_missing",
        "session",
        "held",
    ];

    /// The index in [`Reason::NAMES`].
    pub const fn index(&self) -> usize {
        match self {
            Self::Misfit(Misfit::Header) => 0,
            Self::Misfit(Misfit::Message) => 1,
            Self::Misfit(Misfit::Length) => 2,
            Self::Misfit(Misfit::Order(_)) => 3,
            Self::Misfit(Misfit::Excluded(_)) => 4,
            Self::Misfit(Misfit::Value(_)) => 5,
            Self::Misfit(Misfit::Missing(_)) => 6,
            Self::Misfit(Misfit::References) => 7,
            Self::Smf => 8,
            Self::Closed => 9,
            Self::Network => 10,
            Self::Address => 11,
            Self::Tunnel => 12,
            Self::Peer => 13,
            Self::Rules => 14,
            Self::AtN4 => 15,
            Self::InUse => 16,
            Self::Full => 17,
            Self::Collision => 18,
            Self::KeysMissing => 19,
            Self::Session => 20,
            Self::Held => 21,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misfit(misfit) => misfit.fmt(f),
            other => f.write_str(Self::NAMES[other.index()]),
        }
    }
}

impl From<Misfit> for Reason {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
    }
}

/// What happened to messages.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Sessions established.
    pub established: u64,
    /// Modifications accepted.
    pub modified: u64,
    /// Deletions accepted.
    pub deleted: u64,
    /// Answers repeated for repeated requests.
    pub repeated: u64,
    /// Of these, those for modifications.
    pub repeated_modifications: u64,
    /// The same for deletions.
    pub repeated_deletions: u64,
    /// Establishments of SMFs without association, refused with cause 72.
    pub not_associated: u64,
    /// Messages for N4, by [`Reason::index`].
    pub to_n4: [u64; Reason::NAMES.len()],
    /// Sessions that N4 took over.
    pub adopted: u64,
    /// Of these, sessions that have ended.
    pub given_back: u64,
    /// Sessions removed since their SMF restarted or is no longer associated.
    pub expired: u64,
}

impl Counters {
    /// Messages answered here.
    pub const fn answered(&self) -> u64 {
        self.established + self.modified + self.deleted + self.repeated + self.not_associated
    }

    /// Messages for N4.
    pub fn all_to_n4(&self) -> u64 {
        self.to_n4.iter().sum()
    }
}
