//! The initial entries of a switch: templates, segments, routes and pools of the source guard.

use causeway_p4::names::{action, parameter, table};
use causeway_types::IpNet;

use super::config::{Config, Route, SourceGuardPool};
use super::direct;
use super::firewall::FirewallError;
use super::layout::{Layout, Profile, TEMPLATES, UnknownLayout};
use super::segments::{self, SegmentError, Tenant, mac};
use super::template::Template;
use super::writer::template_updates;
use crate::SoftwareLink;
use crate::driver::{Entry, EntryKey, FieldMatch, Update};
use crate::pendulum::{self, Mode};
use crate::ranges::{BootstrapError, Minimum, Ranges};
use crate::software_ports;

/// Why a backend cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StartError {
    /// The backend cannot fill the program.
    #[error(transparent)]
    Layout(#[from] UnknownLayout),
    /// The templates of the configuration do not fit.
    #[error(transparent)]
    Ranges(#[from] BootstrapError),
    /// The UPF has no IPv4 address for GTP-U.
    #[error("the UPF has no IPv4 address for GTP-U: the program's tunnels are over IPv4")]
    NoAddress,
    /// A pool of UEs of the source guard is not IPv4, or larger than 2^24 addresses.
    #[error("a source guard for {0}: IPv4 pools of at most 2^24 addresses are possible")]
    Guard(IpNet),
    /// A pool of UEs whose TEIDs are not numbers of sessions with entries, in profile `direct`.
    #[error(
        "UEs of {0}: those of profile direct have at most 2^17 addresses in all, and TEIDs that end in their numbers; take smaller subnets or a program of hip4"
    )]
    Numbers(IpNet),
    /// The addresses that UEs must not reach exceed the program's entries.
    #[error(
        "the addresses that UEs do not reach are {needed} prefixes of one IP version: the program has room for {room}"
    )]
    Closed {
        /// Entries needed.
        needed: usize,
        /// Entries available.
        room: usize,
    },
    /// The switch cannot have the segments.
    #[error(transparent)]
    Segments(#[from] SegmentError),
    /// The switch cannot have the firewall.
    #[error(transparent)]
    Firewall(#[from] FirewallError),
    /// The program has no table for links to software, or too few entries.
    #[error(
        "software behind the switch: the program lacks table software_ports, packet_limits or armed_rules, or has too few entries for {0} links"
    )]
    Software(usize),
    /// A route for which the program has no table: tunnels are over IPv4.
    #[error("a route to {0}: the program has none of that kind")]
    Route(IpNet),
}

/// The numbers of rules, and the templates that are written first.
pub(super) fn bootstrap(
    layout: &Layout,
    config: &Config,
) -> Result<(Ranges<Template>, Vec<Update>), StartError> {
    if layout.profile != Profile::Hip4 {
        let all = Minimum { template: Template::COMMON, rules: (1 << config.number_bits.min(24)) - 1 };
        let (ranges, _) = Ranges::bootstrap(config.number_bits, &[usize::MAX; 3], &[all])?;
        return Ok((ranges, Vec::new()));
    }
    let limits = TEMPLATES.map(|name| layout.table(name).map_or(0, |table| table.size));
    let (ranges, writes) = Ranges::bootstrap(config.number_bits, &limits, &config.minima)?;
    Ok((ranges, template_updates(layout, &writes)))
}

/// The access to the accounting tables.
pub(super) fn access(layout: &Layout, config: &Config) -> pendulum::Config {
    let capacity = |name: &str| layout.table(name).map_or(0, |table| table.size);
    let (mode, capacity) = match (layout.profile, config.mode) {
        // Without insertions there is always space.
        (Profile::Direct, mode) => (Mode::Indexed { batch: mode.batch() }, [usize::MAX; 2]),
        (_, mode) => (mode, [capacity(table::PRE_QOS_A), capacity(table::POST_QOS_A)]),
    };
    pendulum::Config { mode, capacity, drain: config.drain }
}

/// Segments, routes and pools of the source guard.
///
/// # Errors
/// The program cannot hold one of them.
pub(super) fn fixed_entries(layout: &Layout, config: &Config) -> Result<Vec<Entry>, StartError> {
    let route = |route: &Route| route_entry(layout, route).ok_or_else(|| StartError::Route(route.to()));
    segments::check(layout, &config.segments)?;
    // UEs of data networks that the switch does not serve have no sessions.
    let pools = || config.guards.iter().filter_map(|guard| Some((guard, config.tenant_of_pool(guard)?)));
    let guard = |(guard, tenant): (&SourceGuardPool, Tenant)| {
        pool_entry(layout, guard, tenant).ok_or(StartError::Guard(guard.pool))
    };
    let number = |(guard, tenant): (&SourceGuardPool, Tenant)| {
        numbers_entry(layout, guard, tenant).ok_or(StartError::Numbers(guard.pool))
    };
    // A pool has its numbers once, however many TEIDs each UE of it may have.
    let is_first = |(guard, _): &(&SourceGuardPool, Tenant)| {
        let is_same = |other: &&SourceGuardPool| (other.pool, &other.network) == (guard.pool, &guard.network);
        config.guards.iter().find(is_same).is_some_and(|first| std::ptr::eq(first, *guard))
    };
    let numbered = pools().filter(|_| layout.profile == Profile::Direct).filter(is_first);
    let entries = config.routes.iter().map(route).chain(pools().map(guard));
    let entries = segments::entries(layout, config).into_iter().map(Ok).chain(entries);
    let links = software_entries(layout, config).ok_or(StartError::Software(config.software.len()));
    entries.chain(numbered.map(number)).chain(links?.into_iter().map(Ok)).collect()
}

/// Octets of IPv4, UDP, GTP-U and a PDU Session Container.
const TUNNEL: u32 = 44;

/// The links to software behind the switch, and the longest packets that the switch forwards; `None`: the program cannot hold them.
fn software_entries(layout: &Layout, config: &Config) -> Option<Vec<Entry>> {
    if !config.places {
        return Some(Vec::new());
    }
    layout.table(table::ARMED_RULES)?;
    if layout.table(table::SOFTWARE_PORTS)?.size < 2 * config.software.len() {
        return None;
    }
    let topology = &config.topology;
    let tunnels = topology.gtpu.iter().map(|end| end.mtu.saturating_sub(TUNNEL)).min();
    let networks = topology.networks.iter().map(|network| network.mtu).min();
    let limit = |forward: u128, most: Option<u32>| {
        // One more than the longest, and packets have at most 65,535 octets.
        let octets = most.map_or(u128::from(u16::MAX), |most| u128::from(most.saturating_add(1).min(0xffff)));
        let fields = vec![FieldMatch::Exact(forward)];
        layout.plain(table::PACKET_LIMITS, fields, action::LIMIT_TO, &[(parameter::OCTETS, octets)])
    };
    let link = |from: u16, action, to: u16| {
        let fields = vec![FieldMatch::Exact(from.into())];
        let session = u128::from(software_ports::FIRST_SESSION) + u128::from(to);
        layout.plain(table::SOFTWARE_PORTS, fields, action, &[(parameter::SESSION, session)])
    };
    let links = config.software.iter().flat_map(|SoftwareLink { network, software }| {
        [link(*network, action::LEAVE, *software), link(*software, action::PASS_THROUGH, *network)]
    });
    let limits =
        [limit(software_ports::WITHOUT_TUNNEL, networks), limit(software_ports::IN_NEW_TUNNEL, tunnels)];
    limits.into_iter().chain(links).collect()
}

fn route_entry(layout: &Layout, route: &Route) -> Option<Entry> {
    let (to, hop, local) = match route {
        Route::Tunnel { to, hop, local } => (to, hop, Some(*local)),
        Route::Network { to, hop } => (to, hop, None),
    };
    let mut parameters = vec![
        (parameter::PORT, hop.port.into()),
        (parameter::SOURCE, mac(hop.source)),
        (parameter::NEIGHBOUR, mac(hop.neighbour)),
    ];
    let (value, table, action) = match (to, local) {
        (IpNet::V4(net), Some(local)) => {
            parameters.push((parameter::ADDRESS, u32::from(local).into()));
            (u32::from(net.network()).into(), table::TUNNEL_LPM, action::TUNNEL_HOP)
        }
        (IpNet::V4(net), None) => (u32::from(net.network()).into(), table::NETWORK_LPM, action::HOP),
        (IpNet::V6(net), None) => (u128::from(net.network()), table::NETWORK_LPM_IPV6, action::HOP),
        (IpNet::V6(_), Some(_)) => return None,
    };
    let field = FieldMatch::Lpm { value, prefix: to.prefix_len() };
    let fields = layout.of_tenant(table, Tenant::default(), vec![field]);
    layout.plain(table, fields, action, &parameters)
}

fn pool_entry(layout: &Layout, guard: &SourceGuardPool, tenant: Tenant) -> Option<Entry> {
    let (first, free) = guard.pool()?;
    let fixed = |bits: u32| u128::from(bits & !free);
    let fields = vec![
        FieldMatch::Ternary {
            value: fixed(guard.first_teid) & 0xff_ffff,
            mask: u128::from(!free & 0xff_ffff),
        },
        FieldMatch::Ternary { value: fixed(first), mask: u128::from(!free) },
        FieldMatch::Ternary { value: 0, mask: free.into() },
    ];
    let table = layout.table(table::SOURCE_GUARD)?.id;
    let tenant = [(parameter::TENANT, tenant.0.into())];
    layout.entry(EntryKey { table, fields, priority: 1 }, action::PASS, &tenant)
}

/// The numbers of a pool's sessions, in profile `direct`.
fn numbers_entry(layout: &Layout, guard: &SourceGuardPool, tenant: Tenant) -> Option<Entry> {
    let (first, free) = guard.pool()?;
    let (session, _) = direct::pool(guard)?;
    let fields = vec![FieldMatch::Ternary { value: u128::from(first), mask: u128::from(!free) }];
    let fields = layout.of_tenant(table::UE_POOLS, tenant, fields);
    let key = EntryKey { table: layout.table(table::UE_POOLS)?.id, fields, priority: 1 };
    layout.entry(key, action::SET_SESSION_IPV4, &[(parameter::OFFSET, direct::offset(first, session).into())])
}
