//! Random rules of sessions.

use causeway_model::{
    ApplyAction, DirectionalLimit, Far, FlowAddress, FlowDescription, FlowEnd, Gate, Pdr, Qer, RuleSet,
    SdfFilter, TrafficClass, Urr,
};
use causeway_types::{FarId, PdrId, Precedence, QerId, Qfi, QfiSet, ReportingTriggers, UrrId};

use super::fixture::{SERVERS, buffering, downlink, gnb, to_gnb, to_network, uplink, volume};

pub(super) struct Choices {
    pub(super) random: fastrand::Rng,
    /// Octets of the data of every packet, in simulations with quotas: no part of a packet then exceeds a quota.
    size: Option<usize>,
}

impl Choices {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let size = (seed % 2 == 1).then(|| random.usize(20..200));
        Self { random, size }
    }

    /// Octets of a packet's data.
    pub(super) fn octets(&mut self) -> usize {
        self.size.unwrap_or_else(|| self.random.usize(20..200))
    }

    pub(super) fn chance(&mut self, percent: u8) -> bool {
        self.random.u8(0..100) < percent
    }

    fn far(&mut self, id: u32, number: u8) -> Far {
        if id == 1 {
            let drops = self.chance(15);
            return if drops { Far { action: ApplyAction::Drop, ..to_network() } } else { to_network() };
        }
        let tunnel = gnb(self.random.usize(0..2), number);
        match self.random.u8(0..10) {
            0..=5 => to_gnb(tunnel),
            6..=8 => buffering(tunnel),
            _ => Far { action: ApplyAction::Drop, ..to_gnb(tunnel) },
        }
    }

    fn qer(&mut self) -> Qer {
        let mut gate = || if self.random.u8(0..100) < 10 { Gate::Closed } else { Gate::Open };
        let (uplink, downlink) = (gate(), gate());
        Qer { uplink, downlink, qfi: Qfi::new(9), ..Qer::new(QerId(1)) }
    }

    fn filter(&mut self) -> SdfFilter {
        let mut end = |address: FlowAddress| {
            let port = [53, 80, 443][self.random.usize(0..3)];
            let ports = match self.random.u8(0..3) {
                0 => vec![port..=port],
                1 => vec![50..=443],
                _ => Vec::new(),
            };
            FlowEnd { address, ports }
        };
        let remote = match end(FlowAddress::Any) {
            end if end.ports.is_empty() => end,
            end => {
                let prefix = [16, 24, 32][self.random.usize(0..3)];
                let net = format!("{}/{prefix}", SERVERS[self.random.usize(0..2)]);
                FlowEnd { address: FlowAddress::Net(net.parse().unwrap()), ..end }
            }
        };
        let protocol = if self.chance(50) { Some(17) } else { None };
        let flow = FlowDescription { protocol, remote, local: FlowEnd::ANY };
        let class = self.chance(15).then_some(TrafficClass { value: 0xb8, mask: 0xfc });
        SdfFilter { traffic_class: class, ..SdfFilter::from(flow) }
    }

    fn pdr(&mut self, id: u16, number: u8) -> Pdr {
        let is_uplink = id % 2 == 1;
        let mut pdr = if is_uplink { uplink(id, number) } else { downlink(id, number) };
        pdr.precedence = Precedence(self.random.u32(1..5));
        if self.chance(50) {
            pdr.pdi.filters = (0..self.random.usize(1..3)).map(|_| self.filter()).collect();
        }
        if is_uplink && self.chance(60) {
            let all = [&[9][..], &[8], &[8, 9]];
            for qfi in all[self.random.usize(0..3)] {
                pdr.pdi.qfis.insert(Qfi::new(*qfi).unwrap());
            }
        }
        pdr.urrs = [UrrId(1), UrrId(2)].into_iter().filter(|_| self.random.bool()).collect();
        pdr
    }

    pub(super) fn rules(&mut self, number: u8) -> RuleSet {
        let mut rules = RuleSet::default();
        for id in 1..=self.random.u16(2..6) {
            let pdr = self.pdr(id, number);
            rules.pdrs.insert(pdr.id, pdr);
        }
        rules.fars.insert(FarId(1), self.far(1, number));
        rules.fars.insert(FarId(2), self.far(2, number));
        rules.qers.insert(QerId(1), self.qer());
        rules.fars.insert(FarId(3), to_elsewhere(number));
        rules.fars.insert(FarId(4), Far { id: FarId(4), action: ApplyAction::Drop, ..to_network() });
        rules.urrs.insert(UrrId(1), self.urr(1));
        rules.urrs.insert(UrrId(2), self.urr(2));
        rules
    }

    /// In simulations with quotas: some, after which traffic stops or is redirected.
    fn urr(&mut self, id: u32) -> Urr {
        let mut urr = volume(id, (id == 1).then_some(300));
        let Some(size) = self.size.filter(|_| self.random.bool()) else { return urr };
        let total = Some(self.random.u64(0..6) * (size as u64 + 28));
        urr.quotas.volume = Some(DirectionalLimit { total, ..DirectionalLimit::default() });
        urr.triggers |= ReportingTriggers::VOLQU;
        urr.quota_far = [None, Some(FarId(3)), Some(FarId(4))][self.random.usize(0..3)];
        urr
    }

    /// Some of the rules change.
    pub(super) fn altered(&mut self, rules: &RuleSet, number: u8) -> RuleSet {
        let mut rules = rules.clone();
        match self.random.u8(0..8) {
            0..=2 => drop(rules.fars.insert(FarId(2), self.far(2, number))),
            3 => drop(rules.qers.insert(QerId(1), self.qer())),
            4 => {
                let pdr = self.random.u16(1..7);
                let pdr = self.pdr(pdr, number);
                rules.pdrs.insert(pdr.id, pdr);
            }
            5 | 6 => {
                let id = self.random.u32(1..3);
                rules.urrs.insert(UrrId(id), self.urr(id));
            }
            _ => {
                let id = PdrId(self.random.u16(1..7));
                rules.pdrs.remove(&id);
            }
        }
        rules
    }
}

/// A rule for some of the packets of storms that the other rules of a session do not distinguish: uplink 3 or downlink
/// 4.
pub(super) fn beside_others(random: &mut fastrand::Rng, id: u16, number: u8) -> Pdr {
    let mut pdr = if id == 3 { uplink(id, number) } else { downlink(id, number) };
    let net = |prefix: u8| FlowAddress::Net(format!("{}/{prefix}", SERVERS[0]).parse().unwrap());
    let address = [FlowAddress::Any, net(16), net(24), net(32)][random.usize(0..4)].clone();
    let ports = if random.bool() { vec![53..=53] } else { Vec::new() };
    let protocol = random.bool().then_some(17);
    let flow = FlowDescription { protocol, remote: FlowEnd { address, ports }, local: FlowEnd::ANY };
    (pdr.precedence, pdr.urrs) = (Precedence(10), vec![UrrId(1)]);
    if id == 3 {
        pdr.pdi.qfis = QfiSet::from_iter(Qfi::new(9));
    }
    pdr.pdi.filters = vec![SdfFilter::from(flow)];
    pdr
}

/// The destination of packets after a quota.
fn to_elsewhere(number: u8) -> Far {
    Far { id: FarId(3), ..to_gnb(gnb(1, 100 + number)) }
}
