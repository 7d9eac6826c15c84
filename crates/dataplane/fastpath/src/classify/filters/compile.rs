//! Compiles rules into lanes.

use std::ops::RangeInclusive;

use causeway_model::{FlowAddress, FlowDescription, SdfFilter};
use causeway_types::{Qfi, QfiSet};

use super::lane::{LABEL, LOCAL, Lane, Masked, PortRanges, REMOTE, SPI, word};
use super::{FilterSetError, MAX_LANES, MAX_RULES};

/// The match fields of one PDR except the UE address. A packet matches if it has one of the QFIs and matches one of the
/// filters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rule {
    /// The QFIs; empty for any, and for packets without one.
    pub qfis: QfiSet,
    /// The SDF filters; empty for any packet.
    pub filters: Vec<SdfFilter>,
}

/// The lanes of rules in their order of precedence. Lanes behind one that matches every packet are left out, so that
/// equivalent sets are equal more often.
pub(super) fn compile(rules: &[Rule]) -> Result<Vec<Lane>, FilterSetError> {
    if rules.len() > MAX_RULES {
        return Err(FilterSetError::Rules(rules.len()));
    }
    let mut lanes = Vec::new();
    for (index, rule) in (0_u8..).zip(rules) {
        for lane in lanes_of(index, rule) {
            if lanes.len() == MAX_LANES {
                return Err(FilterSetError::Lanes);
            }
            let is_last = lane.is_any();
            lanes.push(lane);
            if is_last {
                return Ok(lanes);
            }
        }
    }
    Ok(lanes)
}

/// One lane for each alternative of a rule, computed lazily.
fn lanes_of(index: u8, rule: &Rule) -> impl Iterator<Item = Lane> {
    qfi_words(rule.qfis).into_iter().flat_map(move |word| {
        let base = Lane { word, ..Lane::any(index) };
        let all = rule.filters.is_empty().then(|| base.clone());
        all.into_iter().chain(rule.filters.iter().flat_map(move |filter| alternatives(base.clone(), filter)))
    })
}

/// The lanes of one filter.
fn alternatives(base: Lane, filter: &SdfFilter) -> impl Iterator<Item = Lane> {
    let lane = with_addresses(with_scalars(base, filter), &filter.flow);
    lane.into_iter().flat_map(|lane| {
        let locals = || spans(&filter.flow.local.ports);
        let pairs = spans(&filter.flow.remote.ports)
            .flat_map(move |remote| locals().map(move |local| (remote, local)));
        pairs.map(move |(remote, local)| with_ports(lane.clone(), remote, local))
    })
}

fn with_scalars(mut lane: Lane, filter: &SdfFilter) -> Lane {
    if let Some(protocol) = filter.flow.protocol {
        lane.word = lane.word.and(word::of(protocol, 0), word::of(u8::MAX, 0));
    }
    if let Some(class) = filter.traffic_class {
        lane.word = lane.word.and(word::of(0, class.value), word::of(0, class.mask));
    }
    if let Some(spi) = filter.spi {
        lane.word = lane.word.and(word::HAS_SPI, word::HAS_SPI);
        lane.columns[SPI] = Masked::exactly(spi);
    }
    if let Some(label) = filter.flow_label {
        lane.word = lane.word.and(word::HAS_LABEL, word::HAS_LABEL);
        lane.columns[LABEL] = Masked::exactly(label);
    }
    lane
}

fn with_addresses(lane: Lane, flow: &FlowDescription) -> Option<Lane> {
    let ends = [(&flow.remote, REMOTE, word::REMOTE_IS_UE), (&flow.local, LOCAL, word::LOCAL_IS_UE)];
    ends.into_iter().try_fold(lane, |mut lane, (end, columns, is_ue)| match end.address {
        FlowAddress::Any => Some(lane),
        FlowAddress::Assigned => {
            lane.word = lane.word.and(is_ue, is_ue);
            Some(lane)
        }
        FlowAddress::Net(net) => lane.with_net(columns, net),
    })
}

/// A range of ports: the lowest one and the number of further ones; `None` for any port.
type Span = Option<(u16, u16)>;

/// The ranges of one end.
fn spans(ports: &[RangeInclusive<u16>]) -> impl Iterator<Item = Span> {
    let none = ports.is_empty().then_some(None);
    let ranges = ports.iter().filter(|range| !range.is_empty());
    none.into_iter().chain(ranges.map(|range| Some((*range.start(), range.end() - range.start()))))
}

fn with_ports(mut lane: Lane, remote: Span, local: Span) -> Lane {
    if remote.is_some() || local.is_some() {
        lane.word = lane.word.and(word::HAS_PORTS, word::HAS_PORTS);
    }
    let ((remote, remote_width), (local, local_width)) =
        (remote.unwrap_or((0, u16::MAX)), local.unwrap_or((0, u16::MAX)));
    let pair = |remote: u16, local: u16| u32::from(remote) | u32::from(local) << 16;
    lane.ports = PortRanges { low: pair(remote, local), width: pair(remote_width, local_width) };
    lane
}

/// The values of a packet's word for which its QFI is in the set: the smallest number of alternatives, as aligned runs
/// of adjacent QFIs.
fn qfi_words(qfis: QfiSet) -> Vec<Masked> {
    if qfis.is_empty() {
        return vec![Masked::default()];
    }
    let has = |raw: u8| Qfi::new(raw).is_some_and(|qfi| qfis.contains(qfi));
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = Qfi::new(at) {
        let mut span = 1;
        while at % (2 * span) == 0 && (at..at + 2 * span).all(has) {
            span *= 2;
        }
        if has(at) {
            words.push(Masked::default().and(word::qfi(first), word::qfi_mask(span)));
        }
        at += span;
    }
    words
}
