//! A kernel routing table for framed routes.
//!
//! Two rules lead packets to it: the main table first, except for its default route, then this one. So a route here
//! never diverts packets from a connected network or an operator's route, only from the default route. Routes and
//! rules have a protocol number of their own, by which those of an earlier run are found.

use causeway_types::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage as Message};
use rustix::io::Errno;

use super::Netlink;
use super::configure::family;
use crate::PortError;

/// The protocol number of the routes and rules: `ip route show proto 205`.
pub const ROUTE_PROTOCOL: u8 = 205;

/// The priority of the rules: after those of most administrators, before the one of the main table (32766).
const MAIN_RULE_PRIORITY: u32 = 32_700;
const TABLE_RULE_PRIORITY: u32 = 32_701;

/// Routes per message to the kernel. Their responses fit the socket's buffer.
const ROUTES_PER_MESSAGE: usize = 64;

/// The IP versions.
const FAMILIES: [AddressFamily; 2] = [AddressFamily::Inet, AddressFamily::Inet6];

/// A routing table, and a connection to the kernel.
pub struct RouteTable {
    netlink: Netlink,
    table: u32,
}

impl RouteTable {
    /// Connects. Nothing is changed yet.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn open(table: u32) -> Result<Self, PortError> {
        Ok(Self { netlink: Netlink::open()?, table })
    }

    /// The connection for the kernel's other tables.
    pub const fn netlink(&mut self) -> &mut Netlink {
        &mut self.netlink
    }

    /// Removes this program's routes in the table, and its rules: those of an earlier run, or of this one at its end.
    /// Returns the number of routes.
    ///
    /// # Errors
    /// [`PortError::Permission`] or [`PortError::System`].
    pub fn clear(&mut self) -> Result<usize, PortError> {
        let (routes, rules) = (self.routes()?, self.rules()?);
        let rules = rules.into_iter().map(|rule| (Message::DelRule(rule), 0));
        self.netlink.change_all("removing rules", rules)?;
        let count = routes.len();
        for some in routes.chunks(ROUTES_PER_MESSAGE) {
            let messages = some.iter().cloned().map(|route| (Message::DelRoute(route), 0));
            self.netlink.change_all("removing framed routes", messages)?;
        }
        Ok(count)
    }

    /// The existing routes of this program.
    fn routes(&mut self) -> Result<Vec<RouteMessage>, PortError> {
        let (table, mut found) = (self.table, Vec::new());
        for family in FAMILIES {
            let mut request = RouteMessage::default();
            request.header.address_family = family;
            self.netlink.dump("listing routes", Message::GetRoute(request), |message| {
                if let Message::NewRoute(route) = message {
                    let is_ours = route.header.protocol == RouteProtocol::from(ROUTE_PROTOCOL);
                    if is_ours && route.attributes.contains(&RouteAttribute::Table(table)) {
                        found.push(route);
                    }
                }
            })?;
        }
        Ok(found)
    }

    /// The rules to remove: each of this program's that leads to the table, and one for each that looks up the main
    /// table first.
    fn rules(&mut self) -> Result<Vec<RuleMessage>, PortError> {
        let (table, mut found) = (self.table, Vec::new());
        for family in FAMILIES {
            let mut request = RuleMessage::default();
            request.header.family = family;
            let mut there = 0;
            self.netlink.dump("listing rules", Message::GetRule(request), |message| {
                if let Message::NewRule(rule) = message {
                    there += usize::from(is_ours(&rule) && points_to(&rule, table));
                }
            })?;
            found.extend((0..there).flat_map(|_| own_rules(family, table)));
        }
        Ok(found)
    }

    /// Adds the rules that lead packets to the table. Call it once, after [`RouteTable::clear`].
    ///
    /// # Errors
    /// [`PortError::Permission`] or [`PortError::System`].
    pub fn add_rules(&mut self) -> Result<(), PortError> {
        let table = self.table;
        for family in FAMILIES {
            for rule in own_rules(family, table) {
                let operation = format!("adding a rule that leads to table {table}");
                // Without "exclusive": UPFs in one namespace each have a rule that looks up the main table first.
                match self.netlink.change(&operation, Message::NewRule(rule), NLM_F_CREATE) {
                    // A kernel without IPv6.
                    Err(PortError::System { source, .. })
                        if family == AddressFamily::Inet6
                            && source.raw_os_error() == Some(libc::EAFNOSUPPORT) => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }

    /// Routes each prefix to the link with that index, many in one message. An existing route of the table is
    /// replaced.
    ///
    /// # Errors
    /// The kernel cannot be reached; errors of single routes are in the result.
    pub fn add(&mut self, routes: &[(IpNet, u32)]) -> Result<Vec<Result<(), PortError>>, PortError> {
        self.each(routes, "routing", |route| (Message::NewRoute(route), NLM_F_CREATE | NLM_F_REPLACE))
    }

    /// Removes the routes. A missing one is no error.
    ///
    /// # Errors
    /// As for [`RouteTable::add`].
    pub fn remove(&mut self, routes: &[(IpNet, u32)]) -> Result<Vec<Result<(), PortError>>, PortError> {
        let mut all = self.each(routes, "no longer routing", |route| (Message::DelRoute(route), 0))?;
        for result in &mut all {
            if matches!(result, Err(PortError::System { source, .. }) if source.raw_os_error() == Some(libc::ESRCH))
            {
                *result = Ok(());
            }
        }
        Ok(all)
    }

    fn each(
        &mut self,
        routes: &[(IpNet, u32)],
        operation: &str,
        message: impl Fn(RouteMessage) -> (Message, u16),
    ) -> Result<Vec<Result<(), PortError>>, PortError> {
        let mut all = Vec::with_capacity(routes.len());
        for some in routes.chunks(ROUTES_PER_MESSAGE) {
            let messages: Vec<_> = some.iter().map(|(net, link)| message(self.route(*net, *link))).collect();
            let answers = self.netlink.change_all(operation, messages)?;
            let failure = |(net, errno): (IpNet, Errno)| {
                PortError::system(format!("{operation} {net}"), errno, "CAP_NET_ADMIN")
            };
            let of = some.iter().map(|(net, _)| *net);
            all.extend(of.zip(answers).map(|(net, answer)| answer.map_err(|errno| failure((net, errno)))));
        }
        Ok(all)
    }

    fn route(&self, net: IpNet, link: u32) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = family(net.addr());
        message.header.destination_prefix_length = net.prefix_len();
        message.header.table = RouteHeader::RT_TABLE_UNSPEC;
        message.header.protocol = RouteProtocol::from(ROUTE_PROTOCOL);
        message.header.kind = RouteType::Unicast;
        let is_v4 = net.addr().is_ipv4();
        message.header.scope = if is_v4 { RouteScope::Link } else { RouteScope::Universe };
        message.attributes.push(RouteAttribute::Table(self.table));
        message.attributes.push(RouteAttribute::Destination(net.network().into()));
        message.attributes.push(RouteAttribute::Oif(link));
        message
    }
}

/// The two rules that lead to the table.
fn own_rules(family: AddressFamily, table: u32) -> [RuleMessage; 2] {
    let mut main = rule(family, MAIN_RULE_PRIORITY, RouteHeader::RT_TABLE_MAIN.into());
    main.attributes.push(RuleAttribute::SuppressPrefixLen(0));
    [main, rule(family, TABLE_RULE_PRIORITY, table)]
}

fn rule(family: AddressFamily, priority: u32, table: u32) -> RuleMessage {
    let mut rule = RuleMessage::default();
    rule.header.family = family;
    rule.header.action = RuleAction::ToTable;
    rule.attributes.push(RuleAttribute::Priority(priority));
    rule.attributes.push(RuleAttribute::Table(table));
    rule.attributes.push(RuleAttribute::Protocol(RouteProtocol::from(ROUTE_PROTOCOL)));
    rule
}

fn is_ours(rule: &RuleMessage) -> bool {
    rule.attributes.contains(&RuleAttribute::Protocol(RouteProtocol::from(ROUTE_PROTOCOL)))
}

fn points_to(rule: &RuleMessage, table: u32) -> bool {
    rule.attributes.contains(&RuleAttribute::Table(table))
}
