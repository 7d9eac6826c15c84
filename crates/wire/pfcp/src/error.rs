//! What can be wrong with a message, and which cause answers it (TS 29.244 clause 7.6).

use std::fmt;

use thiserror::Error;

use crate::Cause;
use crate::header::Header;

/// Why an IE cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// A mandatory IE is absent.
    MandatoryMissing,
    /// An IE that its conditional group requires is absent (clause 7.2.3.2).
    ConditionalMissing,
    /// The IE is shorter than its fields, or longer than what holds it.
    InvalidLength,
    /// A field holds a reserved or contradictory value.
    Incorrect,
}

impl Fault {
    /// The cause of the response.
    pub const fn cause(self) -> Cause {
        match self {
            Self::MandatoryMissing => Cause::MandatoryIeMissing,
            Self::ConditionalMissing => Cause::ConditionalIeMissing,
            Self::InvalidLength => Cause::InvalidLength,
            Self::Incorrect => Cause::MandatoryIeIncorrect,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MandatoryMissing => "mandatory IE missing",
            Self::ConditionalMissing => "conditional IE missing",
            Self::InvalidLength => "invalid length",
            Self::Incorrect => "incorrect value",
        })
    }
}

/// Where an IE is: the types of the groups around it, outermost first, then its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct IePath {
    types: [u16; Self::DEPTH],
    len: u8,
}

impl IePath {
    /// No group of Release 17 nests deeper.
    const DEPTH: usize = 6;

    /// The IE types, outermost first.
    pub fn as_slice(&self) -> &[u16] {
        self.types.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Puts the group that holds this path in front. What is deeper than [`Self::DEPTH`] is cut.
    fn nested_in(mut self, group: u16) -> Self {
        self.types.copy_within(..Self::DEPTH - 1, 1);
        self.types[0] = group;
        self.len = (self.len + 1).min(Self::DEPTH as u8);
        self
    }
}

impl fmt::Debug for IePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

impl fmt::Display for IePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, ie_type) in self.as_slice().iter().enumerate() {
            let separator = if depth == 0 { "" } else { " > " };
            match crate::ie_name(*ie_type) {
                Some(name) => write!(f, "{separator}{name} ({ie_type})")?,
                None => write!(f, "{separator}IE {ie_type}")?,
            }
        }
        Ok(())
    }
}

/// An IE that makes its message unusable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("{fault}: {path}")]
pub struct IeError {
    /// What is wrong.
    pub fault: Fault,
    /// Which IE it is; the last entry is the offending one.
    pub path: IePath,
}

impl IeError {
    /// Of the IE being decoded; whoever holds it adds the type with [`Self::at`].
    pub fn new(fault: Fault) -> Self {
        Self { fault, path: IePath::default() }
    }

    /// Too short for its fields.
    pub fn length() -> Self {
        Self::new(Fault::InvalidLength)
    }

    /// Long enough, but with a value that means nothing.
    pub fn incorrect() -> Self {
        Self::new(Fault::Incorrect)
    }

    /// Says that the IE, or the group around the IE, has this type.
    #[must_use]
    pub fn at(self, ie_type: u16) -> Self {
        Self { path: self.path.nested_in(ie_type), ..self }
    }

    /// The cause of the response.
    pub const fn cause(&self) -> Cause {
        self.fault.cause()
    }

    /// The type for the Offending IE of the response; `None` if not even a type could be read.
    pub fn offending(&self) -> Option<u16> {
        self.path.as_slice().last().copied()
    }
}

/// A datagram whose header cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum HeaderError {
    /// Too short for a header: to be discarded without answer (clause 7.6.3).
    #[error("{octets} octets are too short for a PFCP header")]
    Truncated {
        /// Octets that are there.
        octets: usize,
    },
    /// Another protocol version: answered by Version Not Supported Response (clause 7.6.2).
    #[error("PFCP version {version} is not supported")]
    Version {
        /// The version of the sender.
        version: u8,
    },
    /// The length field disagrees with the datagram: a request is answered with cause
    /// "Invalid length", a response is discarded (clause 7.6.3).
    #[error("length field {declared} in a message of {available} octets after the first four")]
    Length {
        /// The header, which could be read.
        header: Header,
        /// What the length field says.
        declared: usize,
        /// What the datagram has.
        available: usize,
    },
}

/// A message whose header could be read and whose body cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DecodeError {
    /// No message of Release 17 has this type: to be discarded (clause 7.6.4).
    #[error("unknown message type {0}")]
    UnknownMessage(u8),
    /// An IE is missing or wrong.
    #[error(transparent)]
    Ie(#[from] IeError),
}

impl DecodeError {
    /// The cause of the response; `None` if there must be no response.
    pub const fn cause(&self) -> Option<Cause> {
        match self {
            Self::UnknownMessage(_) => None,
            Self::Ie(error) => Some(error.cause()),
        }
    }

    /// The type for the Offending IE of the response.
    pub fn offending(&self) -> Option<u16> {
        match self {
            Self::UnknownMessage(_) => None,
            Self::Ie(error) => error.offending(),
        }
    }
}

/// A message of more octets than a length field can say; nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the message needs {octets} octets, and a PFCP message has at most 65535")]
pub struct TooLong {
    /// Octets after the first four.
    pub octets: usize,
}
