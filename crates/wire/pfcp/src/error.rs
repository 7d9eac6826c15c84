//! Errors of messages, and the cause of the response to each (TS 29.244 clause 7.6).

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
    /// The IE is shorter than its fields, or longer than its group or message.
    InvalidLength,
    /// A field has a reserved or contradictory value.
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

/// The position of an IE: the types of the enclosing groups, outermost first, then its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct IePath {
    types: [u16; Self::DEPTH],
    len: u8,
}

impl IePath {
    /// Maximum nesting of groups in Release 17.
    const DEPTH: usize = 6;

    /// The IE types, outermost first.
    pub fn as_slice(&self) -> &[u16] {
        self.types.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Prepends the enclosing group. A path deeper than [`Self::DEPTH`] is truncated.
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
    /// The fault.
    pub fault: Fault,
    /// The path of the IE; its last entry is the offending IE.
    pub path: IePath,
}

impl IeError {
    /// An error of the IE being decoded; the caller adds the type with [`Self::at`].
    pub fn new(fault: Fault) -> Self {
        Self { fault, path: IePath::default() }
    }

    /// Too short for its fields.
    pub fn length() -> Self {
        Self::new(Fault::InvalidLength)
    }

    /// Long enough, but with a meaningless value.
    pub fn incorrect() -> Self {
        Self::new(Fault::Incorrect)
    }

    /// Prepends the type of the IE, or of the group around it.
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
    /// Too short for a header: discarded without response (clause 7.6.3).
    #[error("{octets} octets are too short for a PFCP header")]
    Truncated {
        /// Octets received.
        octets: usize,
    },
    /// Another protocol version: rejected by Version Not Supported Response (clause 7.6.2).
    #[error("PFCP version {version} is not supported")]
    Version {
        /// The version of the sender.
        version: u8,
    },
    /// The length field disagrees with the datagram: a request is rejected with cause "Invalid length", a response
    /// is discarded (clause 7.6.3).
    #[error("length field {declared} in a message of {available} octets after the first four")]
    Length {
        /// The header, which is readable.
        header: Header,
        /// The value of the length field.
        declared: usize,
        /// The length of the datagram.
        available: usize,
    },
}

/// A message with a valid header and an unusable body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DecodeError {
    /// No message of Release 17 has this type: discarded (clause 7.6.4).
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

/// A message longer than the length field allows; nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the message needs {octets} octets, and a PFCP message has at most 65535")]
pub struct TooLong {
    /// Octets after the first four.
    pub octets: usize,
}
