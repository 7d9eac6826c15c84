//! The global firewall: an ordered list of rules for the user packets of all sessions, by direction.
//!
//! The first rule that matches decides; the default of the direction decides on all other packets. The order is that of
//! RFC 6733 section 4.3.1, from where the text form comes. A longest match would need a second rule for filters that
//! overlap in one field only.
//!
//! - A packet from a GTP-U tunnel is of the uplink, a packet from a data network of the downlink.
//! - The firewall is asked when the session of a packet is known and before any rule of the session: a packet that it
//!   denies matches no PDR. So it is no usage, no activity, is charged to no rate, is neither buffered nor reported, and
//!   no ICMP error tells its sender.
//! - What ends at the UPF is not subject to it: GTP-U signalling, packets for unknown tunnels (which TS 29.281 clause
//!   7.3.1 has answered with an Error Indication), and the UE's link ([`Firewall::is_of_link`]).
//! - Ethernet frames are not subject to it.
//!
//! [`Firewall::verdict`] tries one rule after the other. [`Firewall::chain`] has the same rules in compiled form for data
//! planes that handle millions of packets per second; it is compiled once, and shared by all threads.

mod chain;
mod intervals;
mod rule;

use std::net::{IpAddr, Ipv6Addr};

use causeway_packet::Flow;
use causeway_types::Direction;

use crate::DropReason;

pub use chain::{Chain, FirewallKey, RemoteVerdict};
pub use rule::{FirewallAction, FirewallRule, FirewallRuleError};

/// The maximum number of rules of one direction.
pub const MAX_FIREWALL_RULES: usize = 4096;

/// A firewall for both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Firewall {
    rules: Vec<FirewallRule>,
    defaults: [FirewallAction; 2],
    chains: [Chain; 2],
}

/// What the firewall decides on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirewallVerdict {
    /// Whether the packet passes.
    pub action: FirewallAction,
    /// The number of the rule in [`Firewall::rules`]; `None`: no rule matches, and the default decides.
    pub rule: Option<usize>,
}

const fn at(direction: Direction) -> usize {
    match direction {
        Direction::Uplink => 0,
        Direction::Downlink => 1,
    }
}

impl Firewall {
    /// A firewall with these rules, in the order in which they are tried. Compiles them: O(n²/64) time and memory.
    ///
    /// # Errors
    /// The number of rules of a direction, if it is above [`MAX_FIREWALL_RULES`].
    pub fn new(
        rules: Vec<FirewallRule>,
        uplink: FirewallAction,
        downlink: FirewallAction,
    ) -> Result<Self, usize> {
        let compile = |direction, default| {
            let of: Vec<&FirewallRule> = rules.iter().filter(|rule| rule.direction == direction).collect();
            if of.len() > MAX_FIREWALL_RULES {
                Err(of.len())
            } else {
                Ok(Chain::new(&of, direction, default))
            }
        };
        let chains = [compile(Direction::Uplink, uplink)?, compile(Direction::Downlink, downlink)?];
        Ok(Self { rules, defaults: [uplink, downlink], chains })
    }

    /// The rules of both directions, in the order in which they are tried.
    pub fn rules(&self) -> &[FirewallRule] {
        &self.rules
    }

    /// What decides on packets that match no rule.
    pub const fn default_of(&self, direction: Direction) -> FirewallAction {
        self.defaults[at(direction)]
    }

    /// The rules of one direction in compiled form.
    pub const fn chain(&self, direction: Direction) -> &Chain {
        &self.chains[at(direction)]
    }

    /// The verdict on a packet, found by trying one rule after the other.
    pub fn verdict(&self, direction: Direction, flow: &Flow) -> FirewallVerdict {
        if direction == Direction::Uplink && Self::is_of_link(flow.dst) {
            return FirewallVerdict { action: FirewallAction::Permit, rule: None };
        }
        let found = self.rules.iter().position(|rule| rule.direction == direction && rule.matches(flow));
        let rule = found.and_then(|number| self.rules.get(number));
        let action = rule.map_or(self.default_of(direction), |rule| rule.action);
        FirewallVerdict { action, rule: found }
    }

    /// Why a packet is dropped; `None`: it passes.
    pub fn drop_reason(&self, direction: Direction, flow: &Flow) -> Option<DropReason> {
        (self.verdict(direction, flow).action == FirewallAction::Deny).then(|| Self::reason(direction))
    }

    /// The drop reason of packets of this direction.
    pub const fn reason(direction: Direction) -> DropReason {
        match direction {
            Direction::Uplink => DropReason::FirewallUplink,
            Direction::Downlink => DropReason::FirewallDownlink,
        }
    }

    /// Whether a destination is on the link between UE and UPF, such as that of a Router Solicitation: packets to it
    /// leave for no data network, and always pass.
    pub const fn is_of_link(destination: IpAddr) -> bool {
        match destination {
            IpAddr::V4(_) => false,
            IpAddr::V6(ip) => is_link_scoped(ip),
        }
    }
}

/// A link-local unicast address, or a multicast address of link scope (RFC 4291 sections 2.5.6 and 2.7).
pub(crate) const fn is_link_scoped(ip: Ipv6Addr) -> bool {
    ip.is_unicast_link_local() || ip.segments()[0] & 0xff0f == 0xff02
}

#[cfg(test)]
mod tests;
