//! Entries for the destinations that UEs must not reach.

use causeway_p4::names::{action, parameter, table};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_dataplane::{DropReason, Topology};
use foldhash::fast::RandomState;

use crate::backend::config::Config;
use crate::backend::layout::Layout;
use crate::driver::{Entry, EntryKey, FieldMatch, Update};
use crate::model::upf;

/// The tables, by IP version.
const TABLES: [&str; 2] = [table::CLOSED, table::CLOSED_IPV6];

/// Priorities: link-local addresses, pings to a gateway, all other closed addresses.
const LINK: i32 = 3;
const PINGS: i32 = 2;
const CLOSED: i32 = 1;

/// The IP protocols of ICMP and ICMPv6.
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// Link-local addresses and groups, with masks: scopes 0 to 2 of groups, whatever their flags are (RFC 4291 clause
/// 2.7).
const LINK_V4: [(Ipv4Addr, Ipv4Addr); 1] = [(Ipv4Addr::new(169, 254, 0, 0), Ipv4Addr::new(255, 255, 0, 0))];
const LINK_V6: [(Ipv6Addr, Ipv6Addr); 4] = [
    (Ipv6Addr::UNSPECIFIED, Ipv6Addr::from_bits(u128::MAX)),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), Ipv6Addr::new(0xffc0, 0, 0, 0, 0, 0, 0, 0)),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 0)),
    (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0), Ipv6Addr::new(0xff0f, 0, 0, 0, 0, 0, 0, 0)),
];

/// A destination with its mask and priority, the protocol if it applies to that alone, and the drop reason if packets
/// must not reach it.
type Row = (IpAddr, u128, i32, Option<u8>, Option<upf::DropReason>);

/// The updates that replace the present entries by these.
pub(super) fn changes(state: &[Entry], wanted: &[Entry]) -> Vec<Update> {
    let state: HashMap<&EntryKey, &Entry, RandomState> =
        state.iter().map(|entry| (&entry.key, entry)).collect();
    let kept: HashSet<&EntryKey, RandomState> = wanted.iter().map(|entry| &entry.key).collect();
    let written = wanted.iter().filter_map(|entry| match state.get(&entry.key) {
        Some(known) if *known == entry => None,
        Some(_) => Some(Update::Modify(entry.clone())),
        None => Some(Update::Insert(entry.clone())),
    });
    let gone = state.keys().filter(|key| !kept.contains(*key));
    written.chain(gone.map(|key| Update::Delete((*key).clone()))).collect()
}

/// The table without space for its entries, and the entries needed. A change needs space for the old ones, too.
pub(in crate::backend) fn lacks_room(layout: &Layout, entries: &[Entry]) -> Option<(usize, usize)> {
    TABLES.into_iter().filter_map(|name| layout.table(name)).find_map(|table| {
        let needed = entries.iter().filter(|entry| entry.key.table == table.id).count();
        (needed > table.size / 2).then_some((table.size / 2, needed))
    })
}

/// The entries of a topology of which the switch serves these data networks. Which of them a packet is of is no key of the
/// tables: pings to any of their gateways pass.
pub(in crate::backend) fn entries(layout: &Layout, config: &Config, topology: &Topology) -> Vec<Entry> {
    let closed = topology.blocked_addresses();
    let v4 = LINK_V4.map(|(ip, mask)| (ip.into(), u32::from(mask).into()));
    let v6 = LINK_V6.map(|(ip, mask)| (ip.into(), u128::from(mask)));
    let link = v4.into_iter().chain(v6);
    let link = link.map(|(ip, mask)| (ip, mask, LINK, None, Some(upf::DropReason::LinkLocal)));
    let served = topology.networks.iter().filter(|network| config.tenant_of(&network.instance).is_some());
    // Several may have the same.
    let gateways: BTreeSet<IpAddr> = served.flat_map(|network| &network.gateways).copied().collect();
    let pings = gateways.into_iter().filter(|ip| closed.contains(*ip)).map(|ip| match ip {
        IpAddr::V4(_) => (ip, u32::MAX.into(), PINGS, Some(ICMP), None),
        IpAddr::V6(_) => (ip, u128::MAX, PINGS, Some(ICMPV6), None),
    });
    let nets = closed.nets().map(|(net, reason)| {
        let reason = match reason {
            DropReason::Unroutable => upf::DropReason::Unroutable,
            _ => upf::DropReason::LocalAddress,
        };
        (net.network(), bits(net.netmask()), CLOSED, None, Some(reason))
    });
    let rows: Vec<Row> = link.chain(pings).chain(nets).collect();
    rows.into_iter().filter_map(|row| entry(layout, row)).collect()
}

/// `None`: the program has no user packets of that IP version.
fn entry(layout: &Layout, (ip, mask, priority, protocol, reason): Row) -> Option<Entry> {
    let table = layout.table(TABLES[usize::from(ip.is_ipv6())])?.id;
    let fields = vec![
        FieldMatch::Ternary { value: bits(ip), mask },
        match protocol {
            Some(protocol) => FieldMatch::Ternary { value: protocol.into(), mask: 0xff },
            None => FieldMatch::ANY,
        },
    ];
    let key = EntryKey { table, fields, priority };
    match reason {
        Some(reason) => layout.entry(key, action::CLOSE, &[(parameter::REASON, reason as u128)]),
        None => layout.entry(key, action::LET_PASS, &[]),
    }
}

fn bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => ip.into(),
    }
}
