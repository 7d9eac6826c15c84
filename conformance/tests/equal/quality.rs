//! QERs, and what else of a session is about quality of service.

use std::collections::BTreeMap;

use causeway_model::{
    Allowance, Correlation, FlowMarking, Gate, PacketRate, PacketRates, PagingPolicy, Qer, RateLimit,
    TosMarking,
};
use causeway_types::{Bitrate, Ppi, QerId, Qfi, QfiSet, SNssai, Span};

use crate::genes::Genes;

/// The QoS flows of all sessions.
pub(crate) fn qfi(genes: &mut Genes<'_>) -> Qfi {
    Qfi::new(genes.pick(&[9, 9, 1, 5, 63])).expect("6 bits")
}

pub(crate) fn qer(id: u32, genes: &mut Genes<'_>) -> Qer {
    let mut qer = Qer { qfi: Some(qfi(genes)), ..Qer::new(QerId(id)) };
    qer.mbr = rates(genes);
    if genes.chance(96) {
        return qer;
    }
    if genes.chance(16) {
        qer.qfi = None;
    }
    if genes.chance(24) {
        qer.gbr = qer.mbr;
    }
    if genes.chance(24) {
        qer.averaging_window = Some(Span::from_millis(genes.pick(&[2000, 1, 20, 100])));
    }
    (qer.uplink, qer.downlink) = (gate(genes), gate(genes));
    qer.reflective = genes.chance(50);
    qer.ppi = genes.maybe(50, &[3, 0, 7]).and_then(Ppi::new);
    if genes.chance(24) {
        qer.correlation = Some(Correlation { chosen_by: None, id: genes.below(2) as u32 });
    }
    if genes.chance(16) {
        qer.packet_rate = Some(packet_rates(genes));
        qer.reports_packet_rate = genes.chance(128);
    }
    if genes.chance(24) {
        let tos = genes.chance(128).then(|| tos_marking(genes));
        qer.flow_marking = FlowMarking { tos, service_class: genes.maybe(64, &[7]) };
    }
    qer
}

/// Many that hardly limit, few that do all the time.
fn rates(genes: &mut Genes<'_>) -> Option<RateLimit> {
    let choices = [1_000_000, 1_000_000, 10_000_000, 1_000_000, 10_000_000, 100_000, 100_000, 5_000, 200, 0];
    if genes.chance(24) {
        return None;
    }
    let mut rate = || Bitrate::from_kbps(genes.pick(&choices)).expect("40 bits");
    Some(RateLimit { uplink: rate(), downlink: rate() })
}

fn gate(genes: &mut Genes<'_>) -> Gate {
    if genes.chance(50) { Gate::Closed } else { Gate::Open }
}

fn packet_rates(genes: &mut Genes<'_>) -> PacketRates {
    let allowance = |genes: &mut Genes<'_>| Allowance {
        packets: genes.pick(&[100, 3, 0, 20]),
        period: Span::from_secs(genes.pick(&[60, 360, 3600])),
    };
    let rate = |genes: &mut Genes<'_>| PacketRate {
        base: allowance(genes),
        additional: genes.chance(64).then(|| allowance(genes)),
    };
    PacketRates { uplink: Some(rate(genes)), downlink: genes.chance(128).then(|| rate(genes)) }
}

/// A DSCP, seldom a part of one.
pub(crate) fn tos_marking(genes: &mut Genes<'_>) -> TosMarking {
    TosMarking::new(genes.pick(&[46 << 2, 46 << 2, 10 << 2, 0]), genes.pick(&[0xfc, 0xfc, 0xfc, 0xe0]))
}

pub(crate) fn slice(genes: &mut Genes<'_>) -> Option<SNssai> {
    genes.maybe(24, &[1, 2, 3]).map(|sst| SNssai { sst, sd: SNssai::NO_SD })
}

pub(crate) fn paging(genes: &mut Genes<'_>) -> Vec<PagingPolicy> {
    if !genes.chance(12) {
        return Vec::new();
    }
    let qfis = if genes.chance(128) { QfiSet::from_iter([qfi(genes)]) } else { QfiSet::EMPTY };
    let ppi = |raw| Ppi::new(raw).expect("3 bits");
    vec![PagingPolicy { qfis, ppis: BTreeMap::from([(0, ppi(1)), (46, ppi(6))]) }]
}
