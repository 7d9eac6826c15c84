//! The messages (TS 29.244 clauses 7.4 and 7.5).

use causeway_types::Seid;

use crate::ie::RecoveryTimeStamp;
use crate::slot::missing;
use crate::{DecodeError, Field, Header, Ie, IeError, TooLong};

mod association;
mod deletion;
mod establishment;
mod heartbeat;
mod modification;
mod node_report;
mod pfd;
mod session_report;
mod session_set;

pub use association::*;
pub use deletion::*;
pub use establishment::*;
pub use heartbeat::*;
pub use modification::*;
pub use node_report::*;
pub use pfd::*;
pub use session_report::*;
pub use session_set::*;

/// A message: `structure!` with a message type.
macro_rules! message {
    ($(#[$meta:meta])* $name:ident<$lt:lifetime> = $variant:ident { $($fields:tt)* }) => {
        $crate::structure::structure! {
            $(#[$meta])*
            $name<$lt> { $($fields)* }
        }

        impl<$lt> From<$name<$lt>> for $crate::Message<$lt> {
            fn from(message: $name<$lt>) -> Self {
                Self::$variant(message)
            }
        }
    };
}
use message;

message! {
    /// PFCP Version Not Supported Response (clause 7.4.4.7). The response to messages of another version.
    VersionNotSupportedResponse<'a> = VersionNotSupportedResponse {}
}

macro_rules! messages {
    ($( $name:ident = $code:literal, $label:literal; )*) => {
        /// Message types (Table 7.3-1).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum MessageType {
            $( #[doc = concat!($label, ".")] $name = $code, )*
        }

        impl MessageType {
            /// All types.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// `None` for a type that Release 17 does not define.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $( $code => Some(Self::$name), )*
                    _ => None,
                }
            }

            /// The name in the specification.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$name => $label, )*
                }
            }

            /// The fields of the message.
            pub const fn fields(self) -> &'static [Field] {
                match self {
                    $( Self::$name => $name::FIELDS, )*
                }
            }
        }

        /// A message, decoded or to be sent.
        #[derive(Clone, PartialEq, Eq, Debug)]
        #[allow(clippy::large_enum_variant)] // boxes would make decoding allocate
        pub enum Message<'a> {
            $( #[doc = concat!($label, ".")] $name($name<'a>), )*
        }

        impl<'a> Message<'a> {
            /// The type.
            pub const fn message_type(&self) -> MessageType {
                match self {
                    $( Self::$name(_) => MessageType::$name, )*
                }
            }

            fn from_ies(message_type: MessageType, body: &'a [u8]) -> Result<Self, IeError> {
                Ok(match message_type {
                    $( MessageType::$name => Self::$name($name::from_ies(body)?), )*
                })
            }

            fn write_ies(&self, out: &mut Vec<u8>) {
                match self {
                    $( Self::$name(message) => message.write_ies(out), )*
                }
            }
        }
    };
}

messages! {
    HeartbeatRequest = 1, "Heartbeat Request";
    HeartbeatResponse = 2, "Heartbeat Response";
    PfdManagementRequest = 3, "PFCP PFD Management Request";
    PfdManagementResponse = 4, "PFCP PFD Management Response";
    AssociationSetupRequest = 5, "PFCP Association Setup Request";
    AssociationSetupResponse = 6, "PFCP Association Setup Response";
    AssociationUpdateRequest = 7, "PFCP Association Update Request";
    AssociationUpdateResponse = 8, "PFCP Association Update Response";
    AssociationReleaseRequest = 9, "PFCP Association Release Request";
    AssociationReleaseResponse = 10, "PFCP Association Release Response";
    VersionNotSupportedResponse = 11, "PFCP Version Not Supported Response";
    NodeReportRequest = 12, "PFCP Node Report Request";
    NodeReportResponse = 13, "PFCP Node Report Response";
    SessionSetDeletionRequest = 14, "PFCP Session Set Deletion Request";
    SessionSetDeletionResponse = 15, "PFCP Session Set Deletion Response";
    SessionSetModificationRequest = 16, "PFCP Session Set Modification Request";
    SessionSetModificationResponse = 17, "PFCP Session Set Modification Response";
    SessionEstablishmentRequest = 50, "PFCP Session Establishment Request";
    SessionEstablishmentResponse = 51, "PFCP Session Establishment Response";
    SessionModificationRequest = 52, "PFCP Session Modification Request";
    SessionModificationResponse = 53, "PFCP Session Modification Response";
    SessionDeletionRequest = 54, "PFCP Session Deletion Request";
    SessionDeletionResponse = 55, "PFCP Session Deletion Response";
    SessionReportRequest = 56, "PFCP Session Report Request";
    SessionReportResponse = 57, "PFCP Session Report Response";
}

impl MessageType {
    /// The number on the wire.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The response to this request; `None` if this is a response.
    pub const fn response(self) -> Option<Self> {
        match self {
            Self::VersionNotSupportedResponse => None,
            Self::HeartbeatRequest
            | Self::PfdManagementRequest
            | Self::AssociationSetupRequest
            | Self::AssociationUpdateRequest
            | Self::AssociationReleaseRequest => Self::from_code(self.code() + 1),
            _ if self.code() > 11 && self.code().is_multiple_of(2) => Self::from_code(self.code() + 1),
            _ => None,
        }
    }

    /// A request, which has a response.
    pub const fn is_request(self) -> bool {
        self.response().is_some()
    }

    /// The message is about one session: its header has a SEID.
    pub const fn is_session_related(self) -> bool {
        self.code() >= 50
    }
}

impl<'a> Message<'a> {
    /// Decodes the body from [`Header::decode`]. Never allocates.
    ///
    /// # Errors
    /// The message type is unknown, or an IE makes the message unusable (clause 7.6).
    pub fn decode(header: &Header, body: &'a [u8]) -> Result<Self, DecodeError> {
        let unknown = DecodeError::UnknownMessage(header.message_type);
        let message_type = MessageType::from_code(header.message_type).ok_or(unknown)?;
        let message = Self::from_ies(message_type, body)?;
        message.check()?;
        Ok(message)
    }

    /// A rejection requires only its cause (clause 7.2.3.2); an acceptance requires all mandatory IEs beside the
    /// cause and the Node ID.
    fn check(&self) -> Result<(), IeError> {
        match self {
            Self::AssociationSetupResponse(response)
                if response.cause.is_accepted() && response.recovery_time_stamp.is_none() =>
            {
                Err(missing(RecoveryTimeStamp::TYPE))
            }
            _ => Ok(()),
        }
    }

    /// Appends the message with its header.
    ///
    /// `seid` is that of the receiver, for session related messages; `sequence` has 24 bits.
    ///
    /// # Errors
    /// The message is too long for a length field; `out` is unchanged.
    pub fn encode(&self, seid: Option<Seid>, sequence: u32, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let message_type = self.message_type().code();
        self.encode_with(&Header { message_type, seid, sequence, ..Header::default() }, out)
    }

    /// [`Self::encode`] with all header fields; the message type is that of the message.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn encode_with(&self, header: &Header, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let header = Header { message_type: self.message_type().code(), ..*header };
        let start = out.len();
        header.write(out);
        let body_at = out.len();
        self.write_ies(out);
        let octets = header.length_field(out.len() - body_at);
        let Ok(length) = u16::try_from(octets) else {
            out.truncate(start);
            return Err(TooLong { octets });
        };
        out[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}
