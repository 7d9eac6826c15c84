//! Sessions as SMFs make them, most of them plain: two PDRs, a QER with an MBR, a URR with a volume threshold.

use causeway_model::{
    ApplicationId, Capabilities, EthernetFilter, LocalEndpoints, Pdi, Pdr, PduSessionType, RuleSet,
    SdfFilter, TrafficClass, UeSide,
};
use causeway_rules::{Catalogue, Context, validate};
use causeway_types::{
    FarId, Interface, NetworkInstance, PdrId, Precedence, QerId, QfiSet, Span, Time, UrrId,
};

use crate::genes::Genes;
use crate::place::Place;
use crate::quality::{paging, qer, qfi, slice};
use crate::usage::{seconds, urr, wall};
use crate::way::{bar, downlink, internet, uplink};

/// The fields that distinguish flows.
const FLOWS: [&str; 12] = [
    "permit out ip from any to assigned",
    "permit out 17 from any 53 to assigned",
    "permit out 6 from 198.51.100.0/24 80-443 to assigned",
    "permit out 17 from 198.51.100.9 to assigned 40000-40010",
    "permit out 6 from any 80,443,8000-8100 to any",
    "permit out 1 from any to assigned",
    "permit out 50 from any to assigned",
    "permit out 58 from any to assigned",
    "permit out ip from 2001:db8:100::/48 to assigned",
    "permit out 17 from 2001:db8:100::9 53 to any",
    "permit out ip from 198.51.100.10 to any",
    "permit out 17 from any 1-65535 to 10.45.0.0/16",
];

/// A session and the rules that it begins with. `None`: no SMF could set it up.
pub(crate) fn rules(place: &Place, now: Time, genes: &mut Genes<'_>) -> RuleSet {
    let mut set = RuleSet::default();
    let is_ethernet = genes.chance(8);
    flow(&mut set, 0, place, now, genes);
    let flows = match genes.below(16) {
        12 | 13 => 1 + genes.below(3),
        14 => 1 + genes.below(8),
        15 => 1 + genes.below(19),
        _ => 0,
    };
    (1..=flows).for_each(|at| flow(&mut set, at as u32, place, now, genes));
    if genes.chance(64) {
        set.slice = slice(genes);
        set.paging = paging(genes);
        set.inactivity_timer = genes.maybe(96, &[1, 5, 60]).map(Span::from_secs);
    }
    if set.urrs.len() > 1 && genes.chance(48) {
        link(&mut set);
    }
    set.bars = [bar(genes)].map(|bar| (bar.id, bar)).into_iter().collect();
    if is_ethernet {
        turn_to_ethernet(&mut set, genes);
    }
    set
}

/// The rules could be had from an SMF.
pub(crate) fn is_legal(
    rules: &RuleSet,
    capabilities: &Capabilities,
    endpoints: &LocalEndpoints,
    catalogue: &Catalogue,
) -> bool {
    validate(rules, &Context { capabilities, endpoints, catalogue }).is_ok()
}

/// A PDR for each direction; flow 0 is that of all packets.
pub(crate) fn flow(set: &mut RuleSet, at: u32, place: &Place, now: Time, genes: &mut Genes<'_>) {
    let (up, down) = (2 * at + 1, 2 * at + 2);
    let shares = at > 0 && genes.chance(128);
    let (to_network, to_access) = if shares { (1, 2) } else { (up, down) };
    if !shares {
        set.fars.insert(FarId(up), uplink(up, place, genes));
        let tunnel = if genes.chance(8) { place.peer(5) } else { place.peer(at % 4) };
        set.fars.insert(FarId(down), downlink(down, tunnel, genes));
    }
    let rule = if at > 0 && genes.chance(96) { 1 } else { at + 1 };
    set.qers.insert_if_absent(QerId(rule), || qer(rule, genes));
    set.urrs.insert_if_absent(UrrId(rule), || urr(rule, now, genes));
    let mut pdr = Pdr::new(PdrId(up as u16), uplink_pdi(at, place, genes), FarId(to_network));
    pdr.removal = Some(place.removal(genes));
    pdr.precedence = Precedence(if at == 0 { 255 } else { 10 * (1 + genes.below(4) as u32) });
    (pdr.qers, pdr.urrs) = (vec![QerId(rule)], vec![UrrId(rule)]);
    if genes.chance(80) {
        // The AMBR of the session, and what all of it uses.
        set.qers.insert_if_absent(QerId(60), || qer(60, genes));
        set.urrs.insert_if_absent(UrrId(60), || urr(60, now, genes));
        pdr.qers.extend([QerId(60)].into_iter().take(genes.below(4).min(1)));
        pdr.urrs.extend([UrrId(60)].into_iter().take(genes.below(4).min(1)));
    }
    pdr.qers.dedup();
    pdr.urrs.dedup();
    let odd = if genes.chance(16) { 60 + genes.below(4) } else { 0 };
    match odd {
        60 => pdr.qers.clear(),
        61 => pdr.urrs.clear(),
        62 => pdr.active_from = Some(wall(now) + seconds(genes)),
        63 => pdr.active_until = Some(wall(now) + seconds(genes)),
        _ => {}
    }
    if at > 0 || genes.chance(50) {
        detection(&mut pdr.pdi, genes);
    }
    let opposite = Pdi {
        source: Interface::Core,
        tunnel: None,
        network_instance: genes.pick(&[Some(internet()), Some(internet()), Some(internet()), None]),
        ue: place.ue(UeSide::Destination),
        routes: place.routes.clone(),
        qfis: QfiSet::EMPTY,
        ..pdr.pdi.clone()
    };
    let id = PdrId(down as u16);
    set.pdrs.insert(id, Pdr { id, pdi: opposite, removal: None, far: FarId(to_access), ..pdr.clone() });
    set.pdrs.insert(pdr.id, pdr);
    if genes.chance(4) {
        set.pdrs.remove(&id);
    }
}

fn uplink_pdi(at: u32, place: &Place, genes: &mut Genes<'_>) -> Pdi {
    let tunnel = if genes.chance(32) { place.tunnel(at % 8) } else { place.tunnel(0) };
    let ue = if genes.chance(24) { None } else { place.ue(UeSide::Source) };
    let qfis = genes.chance(48).then(|| QfiSet::from_iter([qfi(genes), qfi(genes)]));
    Pdi {
        tunnel: Some(tunnel),
        routes: if ue.is_some() { place.routes.clone() } else { Vec::new() },
        ue,
        qfis: qfis.unwrap_or(QfiSet::EMPTY),
        network_instance: genes.maybe(16, &[internet(), NetworkInstance::new("edge")]),
        ..Pdi::new(Interface::Access)
    }
}

/// What of the session's traffic the PDR is about.
fn detection(pdi: &mut Pdi, genes: &mut Genes<'_>) {
    if genes.chance(12) {
        pdi.application = Some(genes.pick(&["game", "video", "call"].map(ApplicationId::from)));
        return;
    }
    for _ in 0..1 + genes.below(4) / 2 {
        let mut filter: SdfFilter = genes.pick(&FLOWS).parse().expect("a flow");
        if genes.chance(56) {
            filter.traffic_class =
                Some(TrafficClass { value: 46 << 2, mask: genes.pick(&[0xfc, 0xff, 0xe0, 0]) });
        }
        filter.spi = genes.maybe(12, &[77, 0]);
        filter.flow_label = genes.maybe(12, &[5, 0]);
        pdi.filters.push(filter);
    }
}

/// What one URR reports, the first one reports too.
fn link(set: &mut RuleSet) {
    use causeway_types::ReportingTriggers as Trigger;
    let first = UrrId(1);
    for urr in set.urrs.values_mut().filter(|urr| urr.id != first) {
        urr.linked.insert(first);
        urr.triggers |= Trigger::LIUSA;
    }
}

/// The same, for frames of the network `lan`.
fn turn_to_ethernet(set: &mut RuleSet, genes: &mut Genes<'_>) {
    set.pdu_type = PduSessionType::Ethernet;
    let network = NetworkInstance::new(genes.pick(&["lan", "wire"]));
    for pdr in set.pdrs.values_mut() {
        let pdi = &mut pdr.pdi;
        (pdi.ue, pdi.application) = (None, None);
        pdi.routes.clear();
        pdi.filters.clear();
        if pdi.tunnel.is_none() {
            pdi.network_instance = Some(network.clone());
            pdi.whole_ethernet_session = true;
        } else {
            pdi.network_instance = None;
        }
        if genes.chance(32) {
            pdi.ethernet.push(EthernetFilter { ether_type: Some(0x0800), ..EthernetFilter::default() });
        }
    }
    for far in set.fars.values_mut() {
        if let Some(way) = far.forwarding.as_mut().filter(|way| way.destination == Interface::Core) {
            way.network_instance = Some(network.clone());
            (way.steering, way.outer) = (Default::default(), None);
            way.enrichment.clear();
        }
    }
}
