//! One rule of the firewall, and its text.

use std::fmt;
use std::str::FromStr;

use causeway_model::{FlowDescription, FlowError};
use causeway_packet::Flow;
use causeway_types::Direction;
use thiserror::Error;

/// Whether packets pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FirewallAction {
    /// They pass.
    #[default]
    Permit,
    /// They are dropped.
    Deny,
}

impl fmt::Display for FirewallAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Permit => "permit",
            Self::Deny => "deny",
        })
    }
}

/// A rule of the firewall.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FirewallRule {
    /// Whether the packets that match pass.
    pub action: FirewallAction,
    /// The direction of the packets.
    pub direction: Direction,
    /// The packets; the UE's side is `local`. Its ends are never `assigned`.
    pub flow: FlowDescription,
}

impl FirewallRule {
    /// Whether a packet of the rule's direction matches.
    pub fn matches(&self, flow: &Flow) -> bool {
        let (source, destination) =
            ((flow.src, flow.ports.map(|ports| ports.src)), (flow.dst, flow.ports.map(|ports| ports.dst)));
        let (remote, local) = match self.direction {
            Direction::Uplink => (destination, source),
            Direction::Downlink => (source, destination),
        };
        let nobody = |_| false;
        self.flow.protocol.is_none_or(|protocol| protocol == flow.protocol.0)
            && self.flow.remote.covers_address(remote.0, nobody)
            && self.flow.local.covers_address(local.0, nobody)
            && self.flow.remote.covers_port(remote.1)
            && self.flow.local.covers_port(local.1)
    }
}

/// Why the text of a rule is rejected.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FirewallRuleError {
    /// The action is neither `permit` nor `deny`.
    #[error("the action is {0:?}; use permit or deny")]
    Action(String),
    /// The direction is neither `in` nor `out`.
    #[error("the direction is {0:?}; use in for packets of UEs, out for packets to UEs")]
    Direction(String),
    /// It names `assigned`, an address of one session.
    #[error("`assigned` is an address of one session, and the firewall is for all; use any or a prefix")]
    Assigned,
    /// The remaining text is no flow description.
    #[error(transparent)]
    Flow(#[from] FlowError),
}

/// Parses `permit|deny in|out <protocol> from <address> [<ports>] to <address> [<ports>]`, an IPFilterRule of RFC 6733
/// section 4.3.1: `in` is from a UE, `out` is to a UE.
impl FromStr for FirewallRule {
    type Err = FirewallRuleError;

    fn from_str(text: &str) -> Result<Self, FirewallRuleError> {
        let mut words = text.split_ascii_whitespace();
        let action = match words.next() {
            Some("permit") => FirewallAction::Permit,
            Some("deny") => FirewallAction::Deny,
            Some(other) => return Err(FirewallRuleError::Action(other.into())),
            None => return Err(FlowError::Incomplete("an action").into()),
        };
        let direction = match words.next() {
            Some("in") => Direction::Uplink,
            Some("out") => Direction::Downlink,
            Some(other) => return Err(FirewallRuleError::Direction(other.into())),
            None => return Err(FlowError::Incomplete("a direction").into()),
        };
        let rest: Vec<&str> = words.collect();
        let written: FlowDescription = format!("permit out {}", rest.join(" ")).parse()?;
        if written.names_assigned() {
            return Err(FirewallRuleError::Assigned);
        }
        let flow = match direction {
            Direction::Downlink => written,
            Direction::Uplink => exchanged(written),
        };
        Ok(Self { action, direction, flow })
    }
}

/// The shortest text that parses to the same rule.
impl fmt::Display for FirewallRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (side, flow) = match self.direction {
            Direction::Downlink => ("out", self.flow.clone()),
            Direction::Uplink => ("in", exchanged(self.flow.clone())),
        };
        let text = flow.to_string();
        let rest = text.strip_prefix("permit out ").unwrap_or(&text);
        write!(f, "{} {side} {rest}", self.action)
    }
}

fn exchanged(FlowDescription { protocol, remote, local }: FlowDescription) -> FlowDescription {
    FlowDescription { protocol, remote: local, local: remote }
}
