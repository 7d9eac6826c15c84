//! The operator's firewall as rows of the switch.
//!
//! A rule is one row or several, in the order of the rules: the row with the highest priority that matches decides. The last row
//! matches everything and is the default, so a table with a firewall decides on each packet.
//!
//! Replacement: new rows are written from the first to the last, then those that are gone are removed from the last to the first,
//! in one batch, whose order the switch keeps. Whatever part of that is done, the row that decides on a packet is the first one of
//! the former rules or the first one of the new rules that matches it. So a packet that both deny never passes, and one that both permit
//! always does. Each firewall takes at most half of a table, so that both fit.
//!
//! Packets do not show their protocol and ports behind IPv6 extension headers. A rule that denies and asks for one of them also denies
//! packets between its addresses that begin with an extension header; with software behind the switch that decides on them.

use causeway_p4::names::{action, key, table};
use std::collections::{HashMap, HashSet};
use std::net::Ipv6Addr;

use causeway_dataplane::{Firewall, FirewallAction, FirewallRule};
use causeway_model::{FlowAddress, FlowEnd};
use causeway_types::{Direction, IpNet};
use foldhash::fast::RandomState;

use super::layout::Layout;
use super::pattern::{Bits, port_prefixes};
use crate::driver::{Entry, EntryKey, FieldMatch, Key, Program, Table, Update};

/// The tables, for IPv4 and IPv6 of each direction.
const TABLES: [(Direction, [&str; 2]); 2] = [
    (Direction::Uplink, [table::FIREWALL_UPLINK, table::FIREWALL_UPLINK_IPV6]),
    (Direction::Downlink, [table::FIREWALL_DOWNLINK, table::FIREWALL_DOWNLINK_IPV6]),
];

/// IPv6 extension headers that the software passes over: Hop-by-Hop Options, Routing, Fragment and Destination Options.
const EXTENSIONS: [u8; 4] = [0, 43, 44, 60];

/// The same as values of the next header: Fragment and Destination Options differ in one bit.
const EXTENSION_BITS: [Bits; 3] =
    [Bits::exactly(0, 8), Bits::exactly(43, 8), Bits { value: 44, mask: 0xff & !(44 ^ 60) }];

/// Destinations on the link between UE and UPF, with masks: link-local addresses, and groups of link scope.
const LINK: [(Ipv6Addr, Ipv6Addr); 2] = [
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), Ipv6Addr::new(0xffc0, 0, 0, 0, 0, 0, 0, 0)),
    (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0), Ipv6Addr::new(0xff0f, 0, 0, 0, 0, 0, 0, 0)),
];

/// Why the switch cannot have a firewall.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FirewallError {
    /// The program has no tables for it.
    #[error(
        "the switch's program has no firewall: use one that is compiled with it (hip4-vxlan, direct-vxlan, hip4-hybrid-firewall or hip4-hybrid-vxlan), or \
         remove upf.firewall"
    )]
    NoTables,
    /// The rules take more rows than a table has for them.
    #[error(
        "the rule of the firewall `{rule}` needs row {row} of table {table}, which has {size} and must hold the rules in force beside \
         those that replace them, at most {room} each: use fewer rules, or ranges of ports that begin and end at powers of two"
    )]
    TooManyRows {
        /// The first rule that does not fit, as in the configuration.
        rule: String,
        /// The number of the row that it would take.
        row: usize,
        /// The table.
        table: &'static str,
        /// Rows of the table.
        size: usize,
        /// Rows of one firewall.
        room: usize,
    },
}

/// What a row compares, and what it does.
#[derive(Clone, Copy, Debug)]
struct Row {
    source: Bits,
    destination: Bits,
    protocol: Bits,
    /// The ports of source and destination, of packets that show them.
    ports: Option<(Bits, Bits)>,
    action: &'static str,
}

impl Row {
    const fn all(action: &'static str) -> Self {
        Self { source: Bits::ANY, destination: Bits::ANY, protocol: Bits::ANY, ports: None, action }
    }

    /// Whether every packet that matches `other`, without ports, matches this row.
    const fn is_of_all(&self, other: &Self) -> bool {
        self.ports.is_none()
            && self.source.contains(other.source)
            && self.destination.contains(other.destination)
            && self.protocol.contains(other.protocol)
    }

    fn fields(&self, table: &Table) -> Vec<FieldMatch> {
        let (source_port, destination_port) = self.ports.unwrap_or((Bits::ANY, Bits::ANY));
        let bits = |name: &str| match name {
            key::SOURCE_ADDRESS => self.source,
            key::DESTINATION_ADDRESS => self.destination,
            key::PROTOCOL => self.protocol,
            key::SOURCE_PORT => source_port,
            key::DESTINATION_PORT => destination_port,
            key::HAS_PORTS if self.ports.is_some() => Bits::exactly(1, 1),
            _ => Bits::ANY,
        };
        let field = |key: &Key| {
            let Bits { value, mask } = bits(&key.name);
            FieldMatch::Ternary { value, mask }
        };
        table.keys.iter().map(field).collect()
    }
}

/// The rows of a firewall, those of each table from the first to the last. Without a firewall there are none.
///
/// # Errors
/// The program has no tables for it, or too small ones.
pub(super) fn entries(layout: &Layout, firewall: Option<&Firewall>) -> Result<Vec<Entry>, FirewallError> {
    let Some(firewall) = firewall else { return Ok(Vec::new()) };
    let mut entries = Vec::new();
    for (direction, names) in TABLES {
        for (is_ipv6, name) in [false, true].into_iter().zip(names) {
            match layout.table(name) {
                Some(table) => entries.extend(of_table(layout, (name, table), firewall, direction, is_ipv6)?),
                // A program without it has no user packets of IPv6.
                None if is_ipv6 => {}
                None => return Err(FirewallError::NoTables),
            }
        }
    }
    Ok(entries)
}

/// Checks that a switch with this program can have a firewall.
///
/// # Errors
/// It has no tables for it, or too small ones.
pub fn check_firewall(program: &Program, firewall: &Firewall) -> Result<(), FirewallError> {
    let layout = Layout::new(program).map_err(|_| FirewallError::NoTables)?;
    entries(&layout, Some(firewall)).map(drop)
}

fn of_table(
    layout: &Layout,
    (name, table): (&'static str, &Table),
    firewall: &Firewall,
    direction: Direction,
    is_ipv6: bool,
) -> Result<Vec<Entry>, FirewallError> {
    let room = table.size / 2;
    let undecided = layout.action(table, action::ASK_SOFTWARE).map(|_| action::ASK_SOFTWARE);
    let mut rows = Vec::new();
    if is_ipv6 && direction == Direction::Uplink {
        let link = |(ip, mask): (Ipv6Addr, Ipv6Addr)| Bits { value: ip.to_bits(), mask: mask.to_bits() };
        rows.extend(LINK.map(|net| Row { destination: link(net), ..Row::all(action::PERMIT) }));
    }
    for rule in firewall.rules().iter().filter(|rule| rule.direction == direction) {
        rows.extend(of_rule(rule, is_ipv6));
        if is_ipv6 {
            let hidden = of_hidden(rule, undecided);
            // Rules of the same addresses have these rows once.
            let is_known = |row: &Row| rows.iter().any(|known: &Row| known.is_of_all(row));
            rows.extend(hidden.into_iter().filter(|row| !is_known(row)).collect::<Vec<_>>());
        }
        // The default takes a row, too.
        if rows.len() + 1 > room {
            let (rule, row, size) = (rule.to_string(), rows.len() + 1, table.size);
            return Err(FirewallError::TooManyRows { rule, row, table: name, size, room });
        }
    }
    rows.push(Row::all(word(firewall.default_of(direction))));
    // The last row has priority 1 at the lowest.
    let priorities = (1..=i32::try_from(room).unwrap_or(i32::MAX)).rev();
    let entry = |(row, priority): (&Row, i32)| {
        layout.entry(EntryKey { table: table.id, fields: row.fields(table), priority }, row.action, &[])
    };
    Ok(rows.iter().zip(priorities).filter_map(entry).collect())
}

const fn word(action: FirewallAction) -> &'static str {
    match action {
        FirewallAction::Permit => action::PERMIT,
        FirewallAction::Deny => action::DENY,
    }
}

/// The ends of a rule's packets: source and destination.
const fn ends(rule: &FirewallRule) -> (&FlowEnd, &FlowEnd) {
    match rule.direction {
        Direction::Uplink => (&rule.flow.local, &rule.flow.remote),
        Direction::Downlink => (&rule.flow.remote, &rule.flow.local),
    }
}

/// A row for all packets between the addresses of a rule; `None`: no packet of this IP version matches the rule.
fn between(rule: &FirewallRule, is_ipv6: bool, action: &'static str) -> Option<Row> {
    let (source, destination) = ends(rule);
    let (source, destination) = address(source, is_ipv6).zip(address(destination, is_ipv6))?;
    Some(Row { source, destination, ..Row::all(action) })
}

/// The rows of a rule for IPv6 packets whose protocol and ports are hidden. `undecided` is the action for packets on which software
/// behind the switch decides.
fn of_hidden(rule: &FirewallRule, undecided: Option<&'static str>) -> Vec<Row> {
    let (source, destination) = ends(rule);
    let is_of_all = rule.flow.protocol.is_none() && source.ports.is_empty() && destination.ports.is_empty();
    let denies = (rule.action == FirewallAction::Deny).then_some(action::DENY);
    let row = undecided.or(denies).filter(|_| !is_of_all).and_then(|action| between(rule, true, action));
    let hidden = |row: Row| EXTENSION_BITS.map(|protocol| Row { protocol, ..row });
    row.map(hidden).into_iter().flatten().collect()
}

/// The rows of a rule for one IP version.
fn of_rule(rule: &FirewallRule, is_ipv6: bool) -> Vec<Row> {
    let flow = &rule.flow;
    let (source, destination) = ends(rule);
    let Some(row) = between(rule, is_ipv6, word(rule.action)) else { return Vec::new() };
    let has_ports = !(source.ports.is_empty() && destination.ports.is_empty());
    let mut rows = Vec::new();
    // No packet has such a protocol behind its extension headers, but where a later fragment begins with one.
    let is_extension = is_ipv6 && flow.protocol.is_some_and(|protocol| EXTENSIONS.contains(&protocol));
    if !is_extension {
        let protocol = flow.protocol.map_or(Bits::ANY, |protocol| Bits::exactly(protocol.into(), 8));
        for source_port in ports(source) {
            for destination_port in ports(destination) {
                let ports = has_ports.then_some((source_port, destination_port));
                rows.push(Row { protocol, ports, ..row });
            }
        }
    }
    rows
}

/// `None`: no packet of this IP version matches.
fn address(end: &FlowEnd, is_ipv6: bool) -> Option<Bits> {
    match &end.address {
        FlowAddress::Net(IpNet::V4(net)) => {
            (!is_ipv6).then(|| Bits::prefix(net.addr().to_bits().into(), net.prefix_len(), 32))
        }
        FlowAddress::Net(IpNet::V6(net)) => {
            is_ipv6.then(|| Bits::prefix(net.addr().to_bits(), net.prefix_len(), 128))
        }
        FlowAddress::Any => Some(Bits::ANY),
        // The firewall is for all sessions: it names no address of one.
        FlowAddress::Assigned => None,
    }
}

/// Any port, or the prefixes of the ranges.
fn ports(end: &FlowEnd) -> Vec<Bits> {
    if end.ports.is_empty() {
        return vec![Bits::ANY];
    }
    end.ports.iter().flat_map(|range| port_prefixes(*range.start(), *range.end())).collect()
}

/// Whether the table is one of the firewall's.
pub(super) fn is_its(table: &str) -> bool {
    TABLES.iter().any(|(_, names)| names.contains(&table))
}

/// The updates that replace the rows of the firewall's tables by these, in an order in which no packet passes that both deny.
pub(super) fn replacement<'a>(
    layout: &Layout,
    found: impl IntoIterator<Item = &'a Entry>,
    wanted: &[Entry],
) -> Vec<Update> {
    let mut found: HashMap<EntryKey, Entry, RandomState> =
        found.into_iter().map(|entry| (entry.key.clone(), entry.clone())).collect();
    let mut gone: Vec<EntryKey> = found.keys().cloned().collect();
    let keys: HashSet<&EntryKey, RandomState> = wanted.iter().map(|entry| &entry.key).collect();
    gone.retain(|key| !keys.contains(key));
    gone.sort_by_key(|key| (key.table, key.priority));
    let mut updates = Vec::new();
    for (_, names) in TABLES {
        for table in names.into_iter().filter_map(|name| layout.table(name)) {
            let of = |key: &EntryKey| key.table == table.id;
            let new = wanted.iter().filter(|entry| of(&entry.key) && !found.contains_key(&entry.key)).count();
            let present = found.keys().filter(|key| of(key)).count();
            if present + new > table.size {
                make_space(layout, table, &mut found, &mut gone, &mut updates);
            }
        }
    }
    updates.extend(wanted.iter().filter_map(|entry| match found.get(&entry.key) {
        Some(state) if state == entry => None,
        Some(_) => Some(Update::Modify(entry.clone())),
        None => Some(Update::Insert(entry.clone())),
    }));
    updates.extend(gone.into_iter().map(Update::Delete));
    updates
}

/// Removes the rows of a table that are gone before others are written: it has rows of more than two firewalls, as after writes that
/// were interrupted. Meanwhile its row for everything denies.
fn make_space(
    layout: &Layout,
    table: &Table,
    found: &mut HashMap<EntryKey, Entry, RandomState>,
    gone: &mut Vec<EntryKey>,
    updates: &mut Vec<Update>,
) {
    let is_for_all = |key: &&EntryKey| {
        let is_any = |field: &FieldMatch| *field == FieldMatch::ANY;
        key.table == table.id && key.fields.iter().all(is_any)
    };
    let for_all = found.keys().filter(is_for_all).max_by_key(|key| key.priority).cloned();
    if let Some(deny) = for_all.clone().and_then(|key| layout.entry(key, action::DENY, &[])) {
        updates.push(Update::Modify(deny.clone()));
        found.insert(deny.key.clone(), deny);
    }
    let (now, later) = std::mem::take(gone)
        .into_iter()
        .partition(|key| key.table == table.id && Some(key) != for_all.as_ref());
    *gone = later;
    let now: Vec<EntryKey> = now;
    for key in now {
        found.remove(&key);
        updates.push(Update::Delete(key));
    }
}
