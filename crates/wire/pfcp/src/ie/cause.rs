//! The outcome of a request, and the IE at fault.

use super::text::Octets;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

macro_rules! causes {
    ($( $(#[$meta:meta])* $name:ident = $code:literal; )*) => {
        /// Cause (Table 8.2.1-1).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Cause {
            $( $(#[$meta])* $name, )*
            /// Another cause, at least 1; up to 63 it accepts, above that it rejects.
            Other(u8),
        }

        impl Cause {
            /// `None` for 0, which is reserved.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    0 => None,
                    $( $code => Some(Self::$name), )*
                    other => Some(Self::Other(other)),
                }
            }

            /// The number on the wire.
            pub const fn code(self) -> u8 {
                match self {
                    $( Self::$name => $code, )*
                    Self::Other(code) => code,
                }
            }
        }
    };
}

causes! {
    /// Request accepted.
    RequestAccepted = 1;
    /// More usage reports to send.
    MoreUsageReportToSend = 2;
    /// Request partially accepted.
    RequestPartiallyAccepted = 3;
    /// Request rejected, reason not specified.
    RequestRejected = 64;
    /// Session context not found.
    SessionContextNotFound = 65;
    /// Mandatory IE missing.
    MandatoryIeMissing = 66;
    /// Conditional IE missing.
    ConditionalIeMissing = 67;
    /// Invalid length.
    InvalidLength = 68;
    /// Mandatory IE incorrect.
    MandatoryIeIncorrect = 69;
    /// Invalid Forwarding Policy.
    InvalidForwardingPolicy = 70;
    /// Invalid F-TEID allocation option.
    InvalidFTeidAllocationOption = 71;
    /// No established PFCP Association.
    NoEstablishedAssociation = 72;
    /// Rule creation or modification failure.
    RuleCreationModificationFailure = 73;
    /// PFCP entity in congestion.
    EntityInCongestion = 74;
    /// No resources available.
    NoResourcesAvailable = 75;
    /// Service not supported.
    ServiceNotSupported = 76;
    /// System failure.
    SystemFailure = 77;
    /// Redirection requested.
    RedirectionRequested = 78;
    /// All dynamic addresses are occupied.
    AllDynamicAddressesOccupied = 79;
    /// Unknown pre-defined rule.
    UnknownPredefinedRule = 80;
    /// Unknown application ID.
    UnknownApplicationId = 81;
    /// L2TP tunnel establishment failure.
    L2tpTunnelEstablishmentFailure = 82;
    /// L2TP session establishment failure.
    L2tpSessionEstablishmentFailure = 83;
    /// L2TP tunnel release.
    L2tpTunnelRelease = 84;
    /// L2TP session release.
    L2tpSessionRelease = 85;
    /// Session restoration failed since a requested resource is not available.
    RestorationResourceNotAvailable = 86;
}

impl Cause {
    /// The request was performed, fully or in part.
    pub const fn is_accepted(self) -> bool {
        self.code() < 64
    }
}

impl<'a> Ie<'a> for Cause {
    const TYPE: u16 = 19;
    const NAME: &'static str = "Cause";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        Self::from_code(Reader::new(value).u8()?).ok_or_else(IeError::incorrect)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.code());
    }
}

super::leaf::integer_ies! {
    /// Type of the missing or incorrect IE (clause 8.2.22).
    OffendingIe(u16) = 40, "Offending IE";
}

/// Offending IE Information (clause 8.2.185).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OffendingIeInformation<'a> {
    /// Type of the IE.
    pub ie_type: u16,
    /// Its value as received.
    pub value: Octets<'a>,
}

impl<'a> Ie<'a> for OffendingIeInformation<'a> {
    const TYPE: u16 = 274;
    const NAME: &'static str = "Offending IE Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        Ok(Self { ie_type: fields.u16()?, value: Octets(fields.rest()) })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(self.ie_type);
        out.put(&self.value);
    }
}
