//! Rows of rules: in the entry of their session's number, or in entries of their own.

use std::collections::{BTreeMap, BTreeSet};

use super::{DOWNLINK, FLOW, GENERATION, OWN, SESSION, SESSIONS, Spot};
use crate::SwitchPdr;
use crate::backend::held::Placed;
use crate::backend::layout::Layout;
use crate::backend::picture::{Content, Door, Wanted};
use crate::backend::template::{Deed, Template};
use crate::backend::treat::{Refused, unsupported};
use crate::driver::{Entry, EntryKey, FieldMatch};

/// The number of a rule that the entry of its session's number can hold.
pub(super) fn simple_number(spot: &Spot, template: Template, ues: &BTreeMap<Door, u32>) -> Option<SwitchPdr> {
    match spot {
        Spot::Tunnel { teid, flows, is_alone, needs_flow } => {
            let session = teid & SESSION;
            let is_unknown = *needs_flow && template.deed == Deed::Buffer && *flows == u64::MAX;
            let is_one = flow_of(*flows).is_some() && !is_unknown;
            let fits = *is_alone && is_one && *teid < DOWNLINK && session != 0 && session < SESSIONS;
            let is_said = template.is_uplink && !matches!(template.deed, Deed::Encapsulate { .. });
            (fits && is_said).then_some(SwitchPdr(session))
        }
        Spot::Ue { doors, is_alone } => {
            let sessions = sessions(doors, ues);
            let is_said = !matches!(template.deed, Deed::Decapsulate { .. });
            match sessions.first() {
                Some(session) if sessions.len() == 1 && is_said && *is_alone => {
                    Some(SwitchPdr(DOWNLINK | session))
                }
                _ => None,
            }
        }
    }
}

/// The QFI that the entry of a session's number names: zero for every one. `None`: it cannot name these.
pub(in crate::backend) fn flow_of(flows: u64) -> Option<u8> {
    match flows {
        u64::MAX => Some(0),
        // QFI 0 would be every one.
        flows if flows.is_power_of_two() && flows != 1 => Some(flows.trailing_zeros() as u8),
        _ => None,
    }
}

fn sessions(doors: &BTreeSet<Door>, ues: &BTreeMap<Door, u32>) -> BTreeSet<u32> {
    doors.iter().filter_map(|door| ues.get(door)).copied().collect()
}

/// The keys of a rule's rows.
pub(super) fn rows(
    layout: &Layout,
    wanted: &Wanted,
    number: SwitchPdr,
    ues: &BTreeMap<Door, u32>,
) -> Result<Vec<EntryKey>, Refused> {
    if number.0 < OWN {
        let session = number.0 & SESSION;
        let (table, index) = match (number.0 < DOWNLINK, session >> 16) {
            (true, 0 | 1) => ("ul_sessions_low", session),
            (true, _) => ("ul_sessions_high", session & 0xffff),
            (false, 0) => ("dl_sessions_low", session),
            (false, 1) => ("dl_sessions_middle", session & 0xffff),
            (false, _) => ("dl_sessions_high", session & 0xffff),
        };
        let table = layout.table(table).ok_or(NO_TABLE)?;
        return Ok(vec![EntryKey { table: table.id, fields: vec![exact(index)], priority: 0 }]);
    }
    let template = wanted.content.template;
    let mut rows = Vec::new();
    if let Some(spot) = &wanted.spot {
        let table = table_for(layout, simple_table(spot, template), template.deed)?;
        let fields = match spot {
            Spot::Tunnel { teid, flows, .. } => of_flows(*teid, *flows),
            Spot::Ue { doors, .. } => {
                sessions(doors, ues).into_iter().map(|session| vec![exact(DOWNLINK | session)]).collect()
            }
        };
        rows.extend(fields.into_iter().map(|fields| EntryKey { table, fields, priority: 0 }));
    }
    for share in &wanted.shares {
        let table = table_for(layout, rules_table(share.door, template.deed), template.deed)?;
        let places = match (share.door, ues.get(&share.door)) {
            (Door::Tunnel(teid), _) => of_flows(teid, share.flows),
            (_, session) => session.map(|session| vec![exact(DOWNLINK | *session)]).into_iter().collect(),
        };
        for place in places {
            let of_class = |class: &u16| [place.clone(), vec![exact((*class).into())]].concat();
            let fields = share.classes.iter().map(of_class);
            rows.extend(fields.map(|fields| EntryKey { table, fields, priority: 0 }));
        }
    }
    Ok(rows)
}

const NO_TABLE: Refused = unsupported("the program has no table for the rule");

fn exact(value: u32) -> FieldMatch {
    FieldMatch::Exact(value.into())
}

/// A tunnel with each QFI.
fn of_flows(teid: u32, flows: u64) -> Vec<Vec<FieldMatch>> {
    let qfis = (0..64).filter(|qfi| flows >> qfi & 1 != 0);
    qfis.map(|qfi| vec![exact(teid), exact(qfi)]).collect()
}

/// The table, if its entries can do that.
fn table_for(layout: &Layout, name: &str, deed: Deed) -> Result<u32, Refused> {
    let table = layout.table(name).ok_or(NO_TABLE)?;
    let action = layout.action(table, &format!("{}_by_rule", deed.action().0));
    action.ok_or(unsupported("the table for the rule has no action for what its FAR asks"))?;
    Ok(table.id)
}

/// The order in which rows of tables are written, and the reverse one in which they are removed: packets of classes never meet a rule
/// that is for what no filter fits.
pub(in crate::backend) fn rank(layout: &Layout, table: u32) -> u8 {
    match layout.name(table) {
        "ul_to_n6_rules" | "ul_to_n9_n3_rules" | "dl_from_n6_rules" => 0,
        name if name.ends_with("_simple") => 1,
        name if name.contains("_sessions_") => 2,
        _ => 3,
    }
}

fn rules_table(door: Door, deed: Deed) -> &'static str {
    match (door, deed) {
        (Door::Tunnel(_), Deed::Encapsulate { .. }) => "ul_to_n9_n3_rules",
        (Door::Tunnel(_), _) => "ul_to_n6_rules",
        (Door::V4(_) | Door::V6(_), _) => "dl_from_n6_rules",
    }
}

fn simple_table(spot: &Spot, Template { deed, is_uplink }: Template) -> &'static str {
    match (spot, deed) {
        (Spot::Ue { .. }, _) => "dl_from_n6_simple",
        (Spot::Tunnel { .. }, Deed::Decapsulate { .. }) => "ul_to_n6_simple",
        (Spot::Tunnel { .. }, Deed::Drop(_)) if is_uplink => "ul_to_n6_simple",
        (Spot::Tunnel { .. }, _) if is_uplink => "ul_to_n9_n3_simple",
        (Spot::Tunnel { .. }, _) => "dl_from_n9_simple",
    }
}

/// The entry of a row.
pub(in crate::backend) fn entry(
    layout: &Layout,
    placed: &Placed,
    row: &EntryKey,
    meter: u32,
) -> Option<Entry> {
    let Content { template, teid, .. } = placed.wanted.content;
    let meter = ("meter_index", u128::from(meter));
    if let Some(number) = placed.template {
        let template = ("template", u128::from(number));
        return match placed.wanted.spot.as_ref()? {
            Spot::Tunnel { teid, flows, .. } => {
                let generation = u128::from(teid >> GENERATION & 0xf);
                let own = [("generation", generation), ("qfi", flow_of(*flows)?.into()), template, meter];
                layout.entry(row.clone(), "set_uplink", &own)
            }
            Spot::Ue { .. } => {
                layout.entry(row.clone(), "set_downlink", &[("teid", teid.into()), template, meter])
            }
        };
    }
    // Software is told the flow, which is gone with the tunnel.
    let flow = match (template.deed, row.fields.get(1)) {
        (Deed::Buffer, Some(FieldMatch::Exact(qfi))) if placed.wanted.content.is_tunnelled => *qfi as u32,
        _ => 0,
    };
    let (action, mut parameters) = template.deed.action();
    parameters.extend([("rule", u128::from(placed.number.0 | flow << FLOW)), ("teid", teid.into()), meter]);
    layout.entry(row.clone(), &format!("{action}_by_rule"), &parameters)
}

/// The row that says the number of a UE's session.
pub(super) fn ue_entry(layout: &Layout, door: Door, session: u32) -> Option<Entry> {
    let (table, action, address, width) = match door {
        Door::Tunnel(_) => return None,
        Door::V4(ip) => ("ue_pools", "set_session_ipv4", u128::from(u32::from(ip)), 32),
        Door::V6(prefix) => ("ue_pools_ipv6", "set_session_ipv6", u128::from(prefix), 64),
    };
    let field = FieldMatch::Ternary { value: address, mask: crate::driver::ones(width) };
    let key = EntryKey { table: layout.table(table)?.id, fields: vec![field], priority: 2 };
    layout.entry(key, action, &[("offset", offset(address as u32, session).into())])
}

/// What is added to the last bits of an address for the number of the downlink.
pub(in crate::backend) const fn offset(address: u32, session: u32) -> u32 {
    (DOWNLINK | session).wrapping_sub(address) & 0xff_ffff
}
