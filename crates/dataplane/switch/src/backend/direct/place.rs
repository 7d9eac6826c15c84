//! Rows of rules: in the entry of their session's number, or in entries of their own.

use std::collections::{BTreeMap, BTreeSet};

use super::{DOWNLINK, FLOW, GENERATION, OWN, SESSION, SESSIONS, Spot};
use crate::SwitchPdr;
use crate::backend::held::Placed;
use crate::backend::layout::Layout;
use crate::backend::picture::{Content, Door};
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
        Spot::Ue(doors) => {
            let sessions = sessions(doors, ues);
            let is_said = !matches!(template.deed, Deed::Decapsulate { .. });
            match sessions.first() {
                Some(session) if sessions.len() == 1 && is_said => Some(SwitchPdr(DOWNLINK | session)),
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
    spot: &Spot,
    content: &Content,
    number: SwitchPdr,
    ues: &BTreeMap<Door, u32>,
) -> Result<Vec<EntryKey>, Refused> {
    let key = |table: &str, fields: Vec<FieldMatch>| {
        let table = layout.table(table).ok_or(unsupported("the program has no table for the rule"))?;
        Ok(EntryKey { table: table.id, fields, priority: 0 })
    };
    let exact = |value: u32| FieldMatch::Exact(value.into());
    if number.0 < OWN {
        let session = number.0 & SESSION;
        let (table, index) = match (number.0 < DOWNLINK, session >> 16) {
            (true, 0 | 1) => ("ul_sessions_low", session),
            (true, _) => ("ul_sessions_high", session & 0xffff),
            (false, 0) => ("dl_sessions_low", session),
            (false, 1) => ("dl_sessions_middle", session & 0xffff),
            (false, _) => ("dl_sessions_high", session & 0xffff),
        };
        return Ok(vec![key(table, vec![exact(index)])?]);
    }
    let table = table_of(spot, content.template);
    let action = format!("{}_by_rule", content.template.deed.action().0);
    if layout.table(table).is_none_or(|table| layout.action(table, &action).is_none()) {
        return Err(unsupported("the table for the rule has no action for what its FAR asks"));
    }
    match spot {
        Spot::Tunnel { teid, flows, .. } => (0..64)
            .filter(|qfi| flows >> qfi & 1 != 0)
            .map(|qfi| key(table, vec![exact(*teid), exact(qfi)]))
            .collect(),
        Spot::Ue(doors) => sessions(doors, ues)
            .into_iter()
            .map(|session| key(table, vec![exact(DOWNLINK | session)]))
            .collect(),
    }
}

fn table_of(spot: &Spot, Template { deed, is_uplink }: Template) -> &'static str {
    match (spot, deed) {
        (Spot::Ue(_), _) => "dl_from_n6_simple",
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
            Spot::Ue(_) => {
                layout.entry(row.clone(), "set_downlink", &[("teid", teid.into()), template, meter])
            }
        };
    }
    // Software is told the flow, which is gone with the tunnel.
    let flow = match (template.deed, row.fields.get(1)) {
        (Deed::Buffer, Some(FieldMatch::Exact(qfi))) => *qfi as u32,
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
