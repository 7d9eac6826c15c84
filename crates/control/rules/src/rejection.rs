//! Why a request is rejected, and the IEs of the response.

use std::fmt;

use causeway_pfcp::{Cause, FailedRuleId, OffendingIe, RuleKind};
use causeway_types::{FTeid, IpNet, NetworkInstance};
use thiserror::Error;

use crate::OverlappingSessions;
use crate::ie;
use causeway_model::{ApplicationId, FlowError, PduSessionType, PolicyName, RuleId, RuleName};

/// A rejected request. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejection {
    /// The rule that is rejected, if it is one rule.
    pub rule: Option<RuleId>,
    /// The reason.
    pub reason: Reason,
}

/// The reason of a rejection. Each has exactly one cause and at most one offending IE.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Reason {
    /// An IE that other IEs require is missing.
    #[error("IE {ie} is missing: {why}")]
    ConditionalMissing {
        /// The IE type.
        ie: u16,
        /// Why it is required.
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
    /// The SDF filter is legal, but requires an unsupported function.
    #[error("flow description: {0}")]
    UnsupportedFlow(FlowError),
    /// Legal, but not supported by this UPF or its data plane.
    #[error("IE {ie} requests an unsupported function: {what}")]
    Unsupported {
        /// The IE type.
        ie: u16,
        /// What is not supported.
        what: &'static str,
    },
    /// A forwarding policy that the configuration does not have.
    #[error("forwarding policy {0} is not configured")]
    UnknownPolicy(PolicyName),
    /// A reference to a predefined FAR, QER or URR by ID; none is configured.
    #[error("IE {0} refers to a predefined rule; none is configured")]
    PredefinedRule(u16),
    /// A predefined rule is to be activated that is not configured.
    #[error("predefined rule {0} is not configured")]
    UnknownPredefinedRule(RuleName),
    /// A predefined rule is to be deactivated that is not active.
    #[error("predefined rule {0} is not active")]
    NotActive(RuleName),
    /// A reference to an application that is neither configured nor provisioned.
    #[error("application {0} is not known")]
    UnknownApplication(ApplicationId),
    /// A change of the PFDs of an application that another SMF provisioned.
    #[error("the PFDs of application {0} were provisioned by another SMF")]
    OtherSmfApplication(ApplicationId),
    /// CHOOSE for IP versions that no endpoint has.
    #[error("no GTP-U address of the requested IP version serves this network instance")]
    NoAddressToChoose,
    /// CHOOSE with a conflict: the CHOOSE ID stands for a tunnel of another IP version or network instance, or the
    /// PDR exists and has another tunnel.
    #[error("CHOOSE contradicts the existing tunnel {} at {}", .0.teid, .0.addr)]
    ChooseConflict(FTeid),
    /// CHOOSE in an update of a PDR that has no tunnel.
    #[error("CHOOSE in an update of a PDR without tunnel")]
    ChooseInUpdate,
    /// An F-TEID whose address is not local.
    #[error("{} is not a GTP-U address of this UPF for the network instance", .0.addr)]
    NonLocalTunnel(FTeid),
    /// An F-TEID that another session uses.
    #[error("tunnel {} at {} belongs to another session", .0.teid, .0.addr)]
    TunnelInUse(FTeid),
    /// CHOOSE of a UE address in a data network without a pool for it.
    #[error("the data network has no pool of UE addresses of this IP version and prefix length")]
    NoAddressPool,
    /// A UE IP address Pool Identity that the configuration does not have.
    #[error("no pool of UE addresses of this IP version has this identity")]
    UnknownPool,
    /// Every UE address of the pools is in use.
    #[error("all UE addresses of {0} are in use")]
    AddressesOccupied(NetworkInstance),
    /// A UE address or framed route that overlaps those of other sessions of the data network.
    #[error("{net} belongs to another session, or overlaps an address of one")]
    AddressInUse {
        /// The address or prefix.
        net: IpNet,
        /// The IE type that contains it.
        ie: u16,
        /// All sessions that overlap the request.
        owners: Box<OverlappingSessions>,
        /// The session is to be restored.
        restored: bool,
    },
    /// A framed route that the data network may not have.
    #[error("framed route {net}: {why}")]
    RouteNotAllowed {
        /// The route.
        net: IpNet,
        /// Why not.
        why: &'static str,
    },
    /// A network instance that the configuration does not have. The text names the remedy.
    #[error(
        "network instance {instance} is not configured: add an item with `dnn: {instance}` to {key}; known: {known}"
    )]
    UnknownNetworkInstance {
        /// The network instance.
        instance: NetworkInstance,
        /// The configuration key of data networks for this type of session.
        key: &'static str,
        /// The names of the data networks for this type of session.
        known: Box<str>,
    },
    /// A data network of the other kind: of IP packets for an Ethernet session, or the reverse.
    #[error("network instance {0} is not one of {1}")]
    NetworkOfOtherType(NetworkInstance, PduSessionType),
    /// An F-TEID of a session to be restored is no longer local, or belongs to another session.
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
    /// A traffic endpoint that does not exist, exists already, or occurs more than once.
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
    /// A session exceeds a limit.
    #[error("more than {limit} {what}")]
    TooMany {
        /// What exceeds the limit.
        what: &'static str,
        /// The limit.
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
            | Self::UnknownNetworkInstance { .. }
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

    /// The offending IE, if there is one.
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
            Self::UnknownNetworkInstance { .. } | Self::NetworkOfOtherType(..) => Some(ie::NETWORK_INSTANCE),
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

/// Rejects a value that is legal and not supported.
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
        self.rule.filter(|_| applies).map(failed_rule_id)
    }
}

/// The Failed Rule ID of a rule (TS 29.244 clause 8.2.80).
pub(crate) fn failed_rule_id(rule: RuleId) -> FailedRuleId {
    let (kind, id) = match rule {
        RuleId::Pdr(id) => (RuleKind::Pdr, id.0.into()),
        RuleId::Far(id) => (RuleKind::Far, id.0),
        RuleId::Qer(id) => (RuleKind::Qer, id.0),
        RuleId::Urr(id) => (RuleKind::Urr, id.0),
        RuleId::Bar(id) => (RuleKind::Bar, id.0.into()),
    };
    FailedRuleId { kind, id }
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
