//! The tables of a session's rules, and their priorities, which follow the precedence of PFCP exactly.
//!
//! Entries with filters are matched before simple entries, so a rule without a filter gets a simple entry only if all
//! rules behind it do, too; otherwise it is placed among those with filters. Rules behind a rule that takes all of its
//! packets are not written.

use causeway_p4::names::{action, table};
use std::collections::HashSet;

use causeway_model::{Pdr, UeSide};
use causeway_types::{Interface, PdrId, QfiSet};
use foldhash::fast::RandomState;

use super::compile_session::LookupKey;
use super::filter::patterns;
use super::layout::{Layout, Profile};
use super::pattern::{Bits, Inexpressible, Pattern};
use super::pdr_treatment::{Refused, unsupported};
use super::template::RuleAction;
use crate::driver::{EntryKey, FieldMatch};

/// A candidate rule for the packets of a lookup key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) pdr: &'a Pdr,
    pub(super) action: RuleAction,
}

/// QFIs of packets in a tunnel, each a bit; all bits for any packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flows {
    Any,
    Of(u64),
}

/// A candidate with the packets that earlier candidates leave.
struct PlacedCandidate<'a> {
    candidate: Candidate<'a>,
    flows: Flows,
    is_plain: bool,
    /// It has simple entries, like all candidates behind it.
    is_simple: bool,
}

impl From<Inexpressible> for Refused {
    fn from(error: Inexpressible) -> Self {
        unsupported(error.0)
    }
}

/// The entries of the rules of one lookup key, which are given in the order of their precedence.
pub(super) fn rows(
    key: LookupKey,
    group: &[Candidate<'_>],
    layout: &Layout,
) -> Result<Vec<(PdrId, EntryKey)>, Refused> {
    let mut placed = uncovered(key, group);
    let mut rest_is_simple = true;
    for rule in placed.iter_mut().rev() {
        rule.is_simple = rest_is_simple && rule.is_plain && rule.flows != Flows::Any;
        rest_is_simple = rule.is_simple;
    }
    let complex: Vec<RuleAction> =
        placed.iter().filter(|rule| !rule.is_simple).map(|rule| rule.candidate.action).collect();
    let families: &[bool] = match key {
        LookupKey::Tunnel(_) => &[false, true],
        LookupKey::V4(..) => &[false],
        LookupKey::V6(..) => &[true],
    };
    let mut rows = Vec::new();
    for (place, rule) in placed.iter().enumerate() {
        let priority = i32::try_from(placed.len() - place).unwrap_or(i32::MAX);
        let pdr = rule.candidate.pdr;
        if rule.is_simple {
            let keys = simple(key, rule, layout)?;
            rows.extend(keys.into_iter().map(|key| (pdr.id, key)));
            continue;
        }
        for is_ipv6 in families.iter().copied().filter(|is_ipv6| has_packets(pdr, *is_ipv6)) {
            let table = complex_table(key, &complex, layout, is_ipv6)?;
            for base in bases(key, rule) {
                for pattern in patterns(pdr, &of_ue(pdr, key, base, is_ipv6), is_ipv6)? {
                    rows.push((pdr.id, layout.row(table, &pattern, priority)?));
                }
            }
        }
    }
    let mut seen: HashSet<EntryKey, RandomState> = HashSet::default();
    rows.retain(|(_, key)| seen.insert(key.clone()));
    Ok(rows)
}

/// The rules that some packet can reach, with the packets that earlier rules leave.
fn uncovered<'a>(key: LookupKey, group: &[Candidate<'a>]) -> Vec<PlacedCandidate<'a>> {
    let is_tunnel = matches!(key, LookupKey::Tunnel(_));
    let mut taken = 0_u64;
    let mut placed = Vec::new();
    for candidate in group {
        let pdi = &candidate.pdr.pdi;
        let flows = match (is_tunnel, pdi.qfis.is_empty()) {
            (true, true) => Flows::Any,
            (true, false) => Flows::Of(bits(pdi.qfis) & !taken),
            // Packets of a data network have no QFI: one bit represents all of them.
            (false, _) => Flows::Of(1 & !taken),
        };
        // The entries match a UE that is the destination of a packet in a tunnel, so other packets remain.
        let names_receiver = is_tunnel && pdi.ue.is_some_and(|ue| ue.side == UeSide::Destination);
        let is_plain = pdi.filters.is_empty() && !names_receiver;
        if flows == Flows::Of(0) {
            continue;
        }
        placed.push(PlacedCandidate { candidate: *candidate, flows, is_plain, is_simple: false });
        match flows {
            Flows::Any if is_plain => break,
            Flows::Of(flows) if is_plain => taken |= flows,
            _ => {}
        }
    }
    placed
}

fn bits(qfis: QfiSet) -> u64 {
    qfis.iter().fold(0, |bits, qfi| bits | 1 << qfi.value())
}

/// Whether packets of this IP version can match the PDR: it names a UE of that version, or none.
pub(super) fn has_packets(pdr: &Pdr, is_ipv6: bool) -> bool {
    pdr.pdi.ue.is_none_or(|ue| if is_ipv6 { ue.v6.is_some() } else { ue.v4.is_some() })
}

/// The common pattern of all entries of a rule without the UE: the tunnel with each QFI, or an empty one.
fn bases(key: LookupKey, rule: &PlacedCandidate<'_>) -> Vec<Pattern> {
    let teid = match key {
        LookupKey::Tunnel(teid) => teid,
        LookupKey::V4(tenant, _) | LookupKey::V6(tenant, _) => {
            return vec![Pattern { tenant, ..Pattern::default() }];
        }
    };
    let tunnel = Pattern { teid: Some(teid), ..Pattern::default() };
    match rule.flows {
        Flows::Any => vec![tunnel],
        Flows::Of(flows) => {
            qfis(flows).map(|qfi| Pattern { qfi: Bits::exactly(qfi.into(), 6), ..tunnel.clone() }).collect()
        }
    }
}

fn qfis(flows: u64) -> impl Iterator<Item = u8> {
    (0..64).filter(move |qfi| flows >> qfi & 1 != 0)
}

/// The pattern with the UE as destination of packets to it; the guard has checked it as source.
fn of_ue(pdr: &Pdr, key: LookupKey, base: Pattern, is_ipv6: bool) -> Pattern {
    let is_receiver = pdr.pdi.ue.is_some_and(|ue| ue.side == UeSide::Destination);
    let ue = pdr.pdi.ue.filter(|_| is_receiver || !matches!(key, LookupKey::Tunnel(_)));
    let destination = match (ue, is_ipv6) {
        (Some(ue), false) => ue.v4.map(|ip| Bits::exactly(u32::from(ip).into(), 32)),
        (Some(ue), true) => ue.v6.map(|net| Bits::prefix(u128::from(net.addr()), net.prefix_len(), 128)),
        (None, _) => None,
    };
    Pattern { destination: destination.unwrap_or_default(), ..base }
}

/// The entries of a rule that takes every packet of its QFIs, or of its UE.
fn simple(key: LookupKey, rule: &PlacedCandidate<'_>, layout: &Layout) -> Result<Vec<EntryKey>, Refused> {
    let table = simple_table(key, rule, layout);
    if !can_express(layout, table, rule.candidate.action) {
        return Err(unsupported("the table for the rule has no action for its FAR"));
    }
    let pdr = rule.candidate.pdr;
    let is_ipv6 = matches!(key, LookupKey::V6(..));
    let patterns = bases(key, rule).into_iter().map(|base| of_ue(pdr, key, base, is_ipv6));
    patterns.map(|pattern| Ok(layout.row(table, &pattern, 0)?)).collect()
}

fn simple_table(key: LookupKey, rule: &PlacedCandidate<'_>, layout: &Layout) -> &'static str {
    let is_split = layout.profile.is_split();
    let is_from_access = rule.candidate.pdr.pdi.source == Interface::Access;
    match (key, rule.candidate.action) {
        (LookupKey::V4(..), _) => {
            if is_split {
                table::DL_FROM_N6_SIMPLE
            } else {
                table::DL_SIMPLE
            }
        }
        (LookupKey::V6(..), _) => {
            if is_split {
                table::DL_FROM_N6_SIMPLE_IPV6
            } else {
                table::DL_SIMPLE_IPV6
            }
        }
        (LookupKey::Tunnel(_), _) if !is_split => table::UL_SIMPLE,
        (LookupKey::Tunnel(_), RuleAction::Decapsulate { .. }) => table::UL_TO_N6_SIMPLE,
        (LookupKey::Tunnel(_), RuleAction::Drop(_)) if is_from_access => table::UL_TO_N6_SIMPLE,
        (LookupKey::Tunnel(_), _) if is_from_access => table::UL_TO_N9_N3_SIMPLE,
        (LookupKey::Tunnel(_), _) => table::DL_FROM_N9_SIMPLE,
    }
}

/// The table of all rules with filters of a lookup key.
fn complex_table(
    key: LookupKey,
    deeds: &[RuleAction],
    layout: &Layout,
    is_ipv6: bool,
) -> Result<&'static str, Refused> {
    let tables: &[[&'static str; 2]] = match (key, layout.profile.is_split()) {
        (_, false) => &[[table::COMPLEX, table::COMPLEX_IPV6]],
        (LookupKey::Tunnel(_), true) => &[
            [table::UL_TO_N6_COMPLEX, table::UL_TO_N6_COMPLEX_IPV6],
            [table::UL_TO_N9_N3_COMPLEX, table::UL_TO_N9_N3_COMPLEX_IPV6],
        ],
        (_, true) => &[[table::DL_FROM_N6_COMPLEX, table::DL_FROM_N6_COMPLEX_IPV6]],
    };
    let mut tables = tables.iter().map(|[v4, v6]| if is_ipv6 { *v6 } else { *v4 });
    let found = tables.find(|table| deeds.iter().all(|action| can_express(layout, table, *action)));
    found.ok_or(unsupported("no table has actions for all FARs of rules with filters"))
}

/// Whether entries of the table can have that action.
fn can_express(layout: &Layout, table: &str, action: RuleAction) -> bool {
    let Some(found) = layout.table(table) else { return false };
    let (action, needs_tunnel) = match (layout.profile, action) {
        (Profile::Baseline, _) => (action::SET_RULE, false),
        (Profile::Hip4, action) => ("", matches!(action, RuleAction::Encapsulate { .. })),
        (_, action) => (action.action().0, false),
    };
    match action {
        "" => !needs_tunnel || layout.action(found, action::SET_RULE_AND_TUNNEL).is_some(),
        action => layout.action(found, action).is_some(),
    }
}

/// An entry of the source guard for one TEID and, if one is given, one source address or prefix.
pub(super) fn guard_row(layout: &Layout, table: &str, teid: u32, source: Option<u128>) -> Option<EntryKey> {
    let found = layout.table(table)?;
    let width = found.keys.get(1)?.width;
    let source = source.map_or(Bits::ANY, |source| Bits::exactly(source, width));
    let fields = vec![
        FieldMatch::Ternary { value: teid.into(), mask: 0xff_ffff },
        FieldMatch::Ternary { value: source.value, mask: source.mask },
        FieldMatch::ANY,
    ];
    Some(EntryKey { table: found.id, fields, priority: 1 })
}
