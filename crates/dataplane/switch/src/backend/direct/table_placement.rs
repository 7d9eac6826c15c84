//! Entries of rules: in the entry of their session's number, or in entries of their own.

use causeway_p4::names::{action, parameter, table};

use crate::tables::variants;
use std::collections::{BTreeMap, BTreeSet};

use super::{DOWNLINK, FLOW, GENERATION, LookupPoint, OWN_ENTRY_BASE, SESSION, SESSIONS};
use crate::SwitchPdr;
use crate::backend::compile_session::{CompiledRule, LookupKey, NumberContent};
use crate::backend::layout::Layout;
use crate::backend::pdr_treatment::{Refused, unsupported};
use crate::backend::session_state::PlacedRule;
use crate::backend::template::{RuleAction, Template};
use crate::driver::{Entry, EntryKey, FieldMatch};

/// The number of a rule that fits into the entry of its session's number.
pub(in crate::backend) fn simple_number(
    point: &LookupPoint,
    template: Template,
    ues: &BTreeMap<LookupKey, u32>,
) -> Option<SwitchPdr> {
    match point {
        LookupPoint::Tunnel { teid, flows, is_exclusive, needs_flow } => {
            let session = teid & SESSION;
            let is_unknown = *needs_flow && template.action == RuleAction::Buffer && *flows == u64::MAX;
            let is_one = flow_of(*flows).is_some() && !is_unknown;
            let fits = *is_exclusive && is_one && *teid < DOWNLINK && session != 0 && session < SESSIONS;
            let is_expressed =
                template.is_uplink && !matches!(template.action, RuleAction::Encapsulate { .. });
            (fits && is_expressed).then_some(SwitchPdr(session))
        }
        LookupPoint::Ue { keys, is_exclusive } => {
            let sessions = sessions(keys, ues);
            let is_expressed = !matches!(template.action, RuleAction::Decapsulate { .. });
            match sessions.first() {
                Some(session) if sessions.len() == 1 && is_expressed && *is_exclusive => {
                    Some(SwitchPdr(DOWNLINK | session))
                }
                _ => None,
            }
        }
    }
}

/// The QFI in the entry of a session's number: zero for any. `None`: the entry cannot express these.
pub(in crate::backend) fn flow_of(flows: u64) -> Option<u8> {
    match flows {
        u64::MAX => Some(0),
        // QFI 0 would mean any QFI.
        flows if flows.is_power_of_two() && flows != 1 => Some(flows.trailing_zeros() as u8),
        _ => None,
    }
}

fn sessions(keys: &BTreeSet<LookupKey>, ues: &BTreeMap<LookupKey, u32>) -> BTreeSet<u32> {
    keys.iter().filter_map(|key| ues.get(key)).copied().collect()
}

/// The keys of a rule's entries.
pub(in crate::backend) fn rows(
    layout: &Layout,
    wanted: &CompiledRule,
    number: SwitchPdr,
    ues: &BTreeMap<LookupKey, u32>,
) -> Result<Vec<EntryKey>, Refused> {
    if number.0 < OWN_ENTRY_BASE {
        let session = number.0 & SESSION;
        let (table, index) = match (number.0 < DOWNLINK, session >> 16) {
            (true, 0 | 1) => (table::UL_SESSIONS_LOW, session),
            (true, _) => (variants::UL_SESSIONS_HIGH, session & 0xffff),
            (false, 0) => (table::DL_SESSIONS_LOW, session),
            (false, 1) => (table::DL_SESSIONS_MIDDLE, session & 0xffff),
            (false, _) => (variants::DL_SESSIONS_HIGH, session & 0xffff),
        };
        let table = layout.table(table).ok_or(NO_TABLE)?;
        return Ok(vec![EntryKey { table: table.id, fields: vec![exact(index)], priority: 0 }]);
    }
    let template = wanted.content.template;
    let mut rows = Vec::new();
    if let Some(point) = &wanted.spot {
        let table = table_for(layout, simple_table(point, template), template.action)?;
        let fields = match point {
            LookupPoint::Tunnel { teid, flows, .. } => of_flows(*teid, *flows),
            LookupPoint::Ue { keys, .. } => {
                sessions(keys, ues).into_iter().map(|session| vec![exact(DOWNLINK | session)]).collect()
            }
        };
        rows.extend(fields.into_iter().map(|fields| EntryKey { table, fields, priority: 0 }));
    }
    for share in &wanted.shares {
        let table = table_for(layout, rules_table(share.key, template.action), template.action)?;
        let places = match (share.key, ues.get(&share.key)) {
            (LookupKey::Tunnel(teid), _) => of_flows(teid, share.flows),
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

/// The table, if its entries can have that action.
fn table_for(layout: &Layout, name: &str, action: RuleAction) -> Result<u32, Refused> {
    let table = layout.table(name).ok_or(NO_TABLE)?;
    let action = layout.action(table, action.action_by_rule());
    action.ok_or(unsupported("the table for the rule has no action for its FAR"))?;
    Ok(table.id)
}

/// The order in which entries of tables are written, and the reverse of the order in which they are removed: packets of
/// classes never match a rule for packets without a class.
pub(in crate::backend) fn rank(layout: &Layout, table: u32) -> u8 {
    match layout.name(table) {
        table::UL_TO_N6_RULES | table::UL_TO_N9_N3_RULES | table::DL_FROM_N6_RULES => 0,
        table::UL_TO_N6_SIMPLE
        | table::UL_TO_N9_N3_SIMPLE
        | table::DL_FROM_N6_SIMPLE
        | table::DL_FROM_N9_SIMPLE => 1,
        table::UL_SESSIONS_LOW
        | variants::UL_SESSIONS_HIGH
        | table::DL_SESSIONS_LOW
        | table::DL_SESSIONS_MIDDLE
        | variants::DL_SESSIONS_HIGH => 2,
        _ => 3,
    }
}

fn rules_table(key: LookupKey, action: RuleAction) -> &'static str {
    match (key, action) {
        (LookupKey::Tunnel(_), RuleAction::Encapsulate { .. }) => table::UL_TO_N9_N3_RULES,
        (LookupKey::Tunnel(_), _) => table::UL_TO_N6_RULES,
        (LookupKey::V4(..) | LookupKey::V6(..), _) => table::DL_FROM_N6_RULES,
    }
}

fn simple_table(point: &LookupPoint, Template { action, is_uplink }: Template) -> &'static str {
    match (point, action) {
        (LookupPoint::Ue { .. }, _) => table::DL_FROM_N6_SIMPLE,
        (LookupPoint::Tunnel { .. }, RuleAction::Decapsulate { .. }) => table::UL_TO_N6_SIMPLE,
        (LookupPoint::Tunnel { .. }, RuleAction::Drop(_)) if is_uplink => table::UL_TO_N6_SIMPLE,
        (LookupPoint::Tunnel { .. }, _) if is_uplink => table::UL_TO_N9_N3_SIMPLE,
        (LookupPoint::Tunnel { .. }, _) => table::DL_FROM_N9_SIMPLE,
    }
}

/// The entry of a row.
pub(in crate::backend) fn entry(
    layout: &Layout,
    placed: &PlacedRule,
    row: &EntryKey,
    meter: u32,
) -> Option<Entry> {
    let NumberContent { template, teid, .. } = placed.wanted.content;
    let meter = (parameter::METER_INDEX, u128::from(meter));
    if let Some(number) = placed.template {
        let template = (parameter::TEMPLATE, u128::from(number));
        return match placed.wanted.spot.as_ref()? {
            LookupPoint::Tunnel { teid, flows, .. } => {
                let generation = u128::from(teid >> GENERATION & 0xf);
                let own = [
                    (parameter::GENERATION, generation),
                    (parameter::QFI, flow_of(*flows)?.into()),
                    template,
                    meter,
                ];
                layout.entry(row.clone(), action::SET_UPLINK, &own)
            }
            LookupPoint::Ue { .. } => layout.entry(
                row.clone(),
                action::SET_DOWNLINK,
                &[(parameter::TEID, teid.into()), template, meter],
            ),
        };
    }
    // The software gets the flow, which is lost with the tunnel.
    let flow = match (template.action, row.fields.get(1)) {
        (RuleAction::Buffer, Some(FieldMatch::Exact(qfi))) if placed.wanted.content.is_tunnelled => {
            *qfi as u32
        }
        _ => 0,
    };
    let (_, mut parameters) = template.action.action();
    parameters.extend([
        (parameter::RULE, u128::from(placed.number.0 | flow << FLOW)),
        (parameter::TEID, teid.into()),
        meter,
    ]);
    layout.entry(row.clone(), template.action.action_by_rule(), &parameters)
}

/// The number that packets of a forwarding rule have behind the switch's match: of a simple uplink rule all of the TEID.
pub(in crate::backend) fn rule_of_packets(placed: &PlacedRule) -> u32 {
    match (placed.template, &placed.wanted.spot) {
        (Some(_), Some(LookupPoint::Tunnel { teid, .. })) => *teid,
        _ => placed.number.0,
    }
}

/// The entry with the number of a UE's session.
pub(in crate::backend) fn ue_entry(layout: &Layout, key: LookupKey, session: u32) -> Option<Entry> {
    let (table, action, tenant, address, width) = match key {
        LookupKey::Tunnel(_) => return None,
        LookupKey::V4(tenant, ip) => {
            (table::UE_POOLS, action::SET_SESSION_IPV4, tenant, u32::from(ip).into(), 32)
        }
        LookupKey::V6(tenant, prefix) => {
            (table::UE_POOLS_IPV6, action::SET_SESSION_IPV6, tenant, u128::from(prefix), 64)
        }
    };
    let field = FieldMatch::Ternary { value: address, mask: crate::driver::ones(width) };
    let fields = layout.of_tenant(table, tenant, vec![field]);
    let key = EntryKey { table: layout.table(table)?.id, fields, priority: 2 };
    layout.entry(key, action, &[(parameter::OFFSET, offset(address as u32, session).into())])
}

/// The value that is added to the last bits of an address for the number of the downlink.
pub(in crate::backend) const fn offset(address: u32, session: u32) -> u32 {
    (DOWNLINK | session).wrapping_sub(address) & 0xff_ffff
}
