//! Why a request is rejected, and what the response says of it.

mod rule;

use std::fmt;

use causeway_pfcp::{Cause, FailedRuleId, OffendingIe};
use causeway_types::{FTeid, IpNet, NetworkInstance};
use thiserror::Error;

pub use rule::RuleId;

use crate::{ApplicationId, OverlappingSessions, RuleName};
use crate::{FlowError, PduSessionType, PolicyName, ie};

/// A request that is not carried out. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejection {
    /// The rule it is about, if it is about one.
    pub rule: Option<RuleId>,
    /// What is wrong.
    pub reason: Reason,
}

/// What is wrong with a request. Each has exactly one cause and at most one offending IE.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Reason {
    /// An IE that the other IEs make necessary is not there.
    #[error("IE {ie} is missing: {why}")]
    ConditionalMissing {
        /// The IE type.
        ie: u16,
        /// Why it is necessary.
        why: &'static str,
    },
    /// The value of an IE is not legal, or contradicts another.
    #[error("IE {ie} is wrong: {why}")]
    Incorrect {
        /// The IE type.
        ie: u16,
        /// What is wrong.
        why: &'static str,
    },
    /// The text of an SDF filter is no flow description.
    #[error("flow description: {0}")]
    MalformedFlow(FlowError),
    /// The SDF filter is legal, but asks for what is not supported.
    #[error("flow description: {0}")]
    UnsupportedFlow(FlowError),
    /// Legal, but this UPF or its data plane does not do it.
    #[error("IE {ie} asks for what is not supported: {what}")]
    Unsupported {
        /// The IE type.
        ie: u16,
        /// What is asked for.
        what: &'static str,
    },
    /// A forwarding policy that the configuration does not have.
    #[error("forwarding policy {0} is not configured")]
    UnknownPolicy(PolicyName),
    /// A predefined FAR, QER or URR is named by its ID; none is configured.
    #[error("IE {0} names a predefined rule; none is configured")]
    PredefinedRule(u16),
    /// A predefined rule is to be activated that is not configured.
    #[error("predefined rule {0} is not configured")]
    UnknownPredefinedRule(RuleName),
    /// A predefined rule is to be deactivated that is not active.
    #[error("predefined rule {0} is not active")]
    NotActive(RuleName),
    /// An application is named that is neither configured nor provisioned.
    #[error("application {0} is not known")]
    UnknownApplication(ApplicationId),
    /// The PFDs of an application are to be changed that another SMF provisioned.
    #[error("the PFDs of application {0} were provisioned by another SMF")]
    OtherSmfApplication(ApplicationId),
    /// An F-TEID is to be chosen of IP versions that are not there.
    #[error("no GTP-U address of the IP version asked for serves this network instance")]
    NoAddressToChoose,
    /// CHOOSE where there is nothing to choose: the CHOOSE ID stands for a tunnel of another IP version or
    /// network instance, or the PDR exists and has another tunnel.
    #[error("CHOOSE contradicts the tunnel {} at {} that exists", .0.teid, .0.addr)]
    ChooseConflict(FTeid),
    /// CHOOSE in an update of a PDR that has no tunnel.
    #[error("CHOOSE in an update of a PDR without tunnel")]
    ChooseInUpdate,
    /// An F-TEID whose address is not the UPF's.
    #[error("{} is no GTP-U address of this UPF for the network instance", .0.addr)]
    NonLocalTunnel(FTeid),
    /// An F-TEID that another session uses.
    #[error("tunnel {} at {} belongs to another session", .0.teid, .0.addr)]
    TunnelInUse(FTeid),
    /// A UE address is to be chosen of a data network that has no pool for it.
    #[error("the data network has no pool of UE addresses of this IP version and prefix length")]
    NoAddressPool,
    /// A UE IP address Pool Identity that the configuration does not have.
    #[error("no pool of UE addresses of this IP version has this identity")]
    UnknownPool,
    /// Every UE address of the pools is in use.
    #[error("all UE addresses of {0} are in use")]
    AddressesOccupied(NetworkInstance),
    /// A UE address or framed route of which other sessions of the data network have a part.
    #[error("{net} belongs to another session, or a part of it does")]
    AddressInUse {
        /// The address or prefix.
        net: IpNet,
        /// The IE type that it is in.
        ie: u16,
        /// All sessions that have a part of what the request asks for.
        owners: Box<OverlappingSessions>,
        /// It is that of a session to be restored.
        restored: bool,
    },
    /// A framed route that the data network may not have.
    #[error("framed route {net}: {why}")]
    RouteNotAllowed {
        /// The route.
        net: IpNet,
        /// What stands against it.
        why: &'static str,
    },
    /// A network instance that the configuration does not have.
    #[error("network instance {0} is not configured")]
    UnknownNetworkInstance(NetworkInstance),
    /// A data network of the other kind: of IP packets for an Ethernet session, or the reverse.
    #[error("network instance {0} is not one of {1}")]
    NetworkOfOtherType(NetworkInstance, PduSessionType),
    /// An F-TEID of a session to be restored is not the UPF's any more, or another session's by now.
    #[error("tunnel {} at {} of the restored session is not available", .0.teid, .0.addr)]
    CannotRestore(FTeid),
    /// A rule to be created exists.
    #[error("it exists already")]
    RuleExists,
    /// A rule to be updated, removed or queried does not exist.
    #[error("it does not exist")]
    RuleUnknown,
    /// A rule appears twice in one message: created, updated or removed more than once.
    #[error("it appears more than once in the message")]
    DuplicateRule,
    /// A rule refers to one that does not exist.
    #[error("it refers to {0}, which does not exist")]
    DanglingReference(RuleId),
    /// A traffic endpoint that does not exist, exists already, or is named more than once.
    #[error("traffic endpoint {id} {what}")]
    Endpoint {
        /// Its ID.
        id: u8,
        /// What is wrong with it.
        what: &'static str,
    },
    /// All TEIDs are in use.
    #[error("all TEIDs are in use")]
    NoTeid,
    /// More of something than a session may have.
    #[error("more than {limit} {what}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
}

impl Reason {
    /// The rejection of a request because of this rule.
    pub fn of(self, rule: impl Into<RuleId>) -> Rejection {
        Rejection { rule: Some(rule.into()), reason: self }
    }

    /// The one cause of this reason (TS 29.244 clause 8.2.1).
    pub const fn cause(&self) -> Cause {
        match self {
            Self::ConditionalMissing { .. } => Cause::ConditionalIeMissing,
            Self::Incorrect { .. } | Self::MalformedFlow(_) => Cause::MandatoryIeIncorrect,
            Self::UnknownPolicy(_) => Cause::InvalidForwardingPolicy,
            Self::NoAddressToChoose | Self::ChooseConflict(_) | Self::ChooseInUpdate => {
                Cause::InvalidFTeidAllocationOption
            }
            Self::NonLocalTunnel(_)
            | Self::TunnelInUse(_)
            | Self::UnknownPool
            | Self::AddressInUse { restored: false, .. }
            | Self::RouteNotAllowed { .. }
            | Self::UnknownNetworkInstance(_)
            | Self::NetworkOfOtherType(..)
            | Self::RuleExists
            | Self::RuleUnknown
            | Self::DuplicateRule
            | Self::Endpoint { .. }
            | Self::DanglingReference(_) => Cause::RuleCreationModificationFailure,
            Self::AddressesOccupied(_) => Cause::AllDynamicAddressesOccupied,
            Self::CannotRestore(_) | Self::AddressInUse { restored: true, .. } => {
                Cause::RestorationResourceNotAvailable
            }
            Self::NoTeid | Self::TooMany { .. } => Cause::NoResourcesAvailable,
            Self::Unsupported { .. } | Self::UnsupportedFlow(_) | Self::NoAddressPool => {
                Cause::ServiceNotSupported
            }
            Self::PredefinedRule(_) | Self::UnknownPredefinedRule(_) | Self::NotActive(_) => {
                Cause::UnknownPredefinedRule
            }
            Self::UnknownApplication(_) => Cause::UnknownApplicationId,
            Self::OtherSmfApplication(_) => Cause::RequestRejected,
        }
    }

    /// The IE to name as the offending one, if there is one.
    pub const fn offending_ie(&self) -> Option<u16> {
        match self {
            Self::PredefinedRule(ie)
            | Self::ConditionalMissing { ie, .. }
            | Self::Incorrect { ie, .. }
            | Self::Unsupported { ie, .. } => Some(*ie),
            Self::MalformedFlow(_) | Self::UnsupportedFlow(_) => Some(ie::SDF_FILTER),
            Self::UnknownPolicy(_) => Some(ie::FORWARDING_POLICY),
            Self::UnknownPredefinedRule(_) => Some(ie::ACTIVATE_PREDEFINED_RULES),
            Self::NotActive(_) => Some(ie::DEACTIVATE_PREDEFINED_RULES),
            Self::UnknownApplication(_) | Self::OtherSmfApplication(_) => Some(ie::APPLICATION_ID),
            Self::NoAddressToChoose
            | Self::ChooseConflict(_)
            | Self::ChooseInUpdate
            | Self::NonLocalTunnel(_)
            | Self::TunnelInUse(_)
            | Self::CannotRestore(_) => Some(ie::F_TEID),
            Self::NoAddressPool | Self::AddressesOccupied(_) => Some(ie::UE_IP_ADDRESS),
            Self::AddressInUse { ie, .. } => Some(*ie),
            Self::RouteNotAllowed { net: IpNet::V4(_), .. } => Some(ie::FRAMED_ROUTE),
            Self::RouteNotAllowed { net: IpNet::V6(_), .. } => Some(ie::FRAMED_IPV6_ROUTE),
            Self::UnknownPool => Some(ie::POOL_IDENTITY),
            Self::UnknownNetworkInstance(_) | Self::NetworkOfOtherType(..) => Some(ie::NETWORK_INSTANCE),
            Self::Endpoint { .. } => Some(ie::TRAFFIC_ENDPOINT_ID),
            Self::RuleExists
            | Self::RuleUnknown
            | Self::DuplicateRule
            | Self::DanglingReference(_)
            | Self::NoTeid
            | Self::TooMany { .. } => None,
        }
    }
}

/// Refuses what is legal and not supported.
pub(crate) fn refuse_if(refused: bool, ie: u16, what: &'static str) -> Result<(), Reason> {
    if refused { Err(Reason::Unsupported { ie, what }) } else { Ok(()) }
}

impl Rejection {
    /// The cause of the response.
    pub const fn cause(&self) -> Cause {
        self.reason.cause()
    }

    /// The Offending IE of the response.
    pub fn offending_ie(&self) -> Option<OffendingIe> {
        self.reason.offending_ie().map(OffendingIe)
    }

    /// The Failed Rule ID of the response: with cause 73 only.
    pub fn failed_rule(&self) -> Option<FailedRuleId> {
        let applies = self.cause() == Cause::RuleCreationModificationFailure;
        self.rule.filter(|_| applies).map(FailedRuleId::from)
    }
}

impl From<Reason> for Rejection {
    fn from(reason: Reason) -> Self {
        Self { rule: None, reason }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Some(rule) => write!(f, "{rule}: {}", self.reason),
            None => write!(f, "{}", self.reason),
        }
    }
}

impl std::error::Error for Rejection {}
