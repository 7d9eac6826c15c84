//! A hybrid UPF with sessions whose packets are numbered.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use causeway_cold::ColdStore;
use causeway_dataplane::{
    Applied, Dataplane, Egress, Event, GtpuEndpoint, Ingress, Network, PacketEngine, Plan, PlanId,
    PollApplied, ReceiveSource, Topology, TransmitQueue,
};
use causeway_fastpath::FastPath;
use causeway_hybrid::{ByRate, Config, Hybrid, Moves, Placement, Rule, Thresholds, Wish};
use causeway_model::{
    ApplyAction, DirectionalLimit, Far, Forwarding, HeaderRemoval, MeasurementMethod, Op, Pdi, Pdr, Qer,
    RuleSet, UeAddress, UeSide, Urr, Usage, UsageLimits,
};
use causeway_packet::gtpu::prefix;
use causeway_packet::{Batch, Frame, IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_slowpath::Limits;
use causeway_switch::backend::{LocalSwitch, WithPorts};
use causeway_switch::driver::{FaultInjector, FaultRates, SwitchPart, WholeSwitch};
use causeway_switch::model::upf::Upf;
use causeway_switch::model::{Model, Timing};
use causeway_types::{
    Direction, FTeid, FarId, Interface, NetworkInstance, PdrId, QerId, Qfi, ReportingTriggers, Seid, Span,
    Teid, Time, UrrId,
};

pub(crate) const START: Time = Time::from_secs(1_700_000_000);
pub(crate) const STAY: Span = Span::from_micros(100);
pub(crate) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const GNBS: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 11), Ipv4Addr::new(192, 0, 2, 12)];
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);

/// Octets of IPv4, UDP and the number of a packet.
pub(crate) const LEAST: usize = 36;

/// The model of a switch with a driver that injects faults.
pub(crate) type Faulty = FaultInjector<Model<Upf>>;

/// A placement that does what the test says.
#[derive(Debug, Default, Clone)]
pub(crate) struct Script(Arc<Mutex<Vec<Wish>>>);

impl Placement for Script {
    fn observe(&mut self, _: Time, _: Rule, _: u64) {}
    fn session(&mut self, _: Seid, _: bool) {}
    fn decide(&mut self, _: Time, _: &Moves) -> Vec<Wish> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
    fn next_decision(&self) -> Option<Time> {
        (!self.0.lock().unwrap().is_empty()).then(Time::default)
    }
}

pub(crate) fn strict() -> Config {
    Config {
        changes_per_second: u32::MAX,
        longest_stay: STAY,
        strict: true,
        read_interval: Some(Span::from_millis(20)),
        retry_refused: Span::ZERO,
        quota_margin: 4096,
        ..Config::default()
    }
}

/// Packets of one rule so far.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Passed {
    pub(crate) sent: u64,
    pub(crate) octets: u64,
    pub(crate) received: u64,
}

/// A part of such a switch.
pub(crate) type FaultyPart = SwitchPart<Faulty>;

pub(crate) struct World<D = Faulty> {
    pub(crate) upf: Hybrid<D>,
    pub(crate) now: Time,
    wishes: Script,
    /// By session number and direction.
    pub(crate) passed: BTreeMap<(u8, Direction), Passed>,
    /// The last packets that left: session, direction, number, and the gNB of a downlink packet.
    pub(crate) log: Vec<(u8, Direction, u64, Option<IpAddr>)>,
    /// Reported octets by session, uplink and downlink.
    pub(crate) reported: BTreeMap<u8, [u64; 2]>,
    pub(crate) events: Vec<Event>,
    plans: u64,
}

impl World {
    pub(crate) fn new(config: Config, timing: Timing, chances: FaultRates, seed: u64) -> Self {
        Self::with_placement(config, timing, chances, seed, None)
    }

    pub(crate) fn with_placement(
        config: Config,
        timing: Timing,
        chances: FaultRates,
        seed: u64,
        placement: Option<Box<dyn Placement>>,
    ) -> Self {
        Self::build(config, timing, chances, seed, placement, false)
    }

    /// A world whose packets come in batches, which have left the software before the next one comes.
    pub(crate) fn with_batches(config: Config, timing: Timing) -> Self {
        Self::build(config, timing, FaultRates::default(), 1, None, true)
    }

    /// With packets that wait, or with batches.
    pub(crate) fn build(
        config: Config,
        timing: Timing,
        chances: FaultRates,
        seed: u64,
        placement: Option<Box<dyn Placement>>,
        has_batches: bool,
    ) -> Self {
        let local = LocalSwitch::in_front_of_software(&topology(), Limits::default(), timing).unwrap();
        let wishes = Script::default();
        let driver = |model| FaultInjector::new(model, chances, LATENESS, seed);
        let placement = placement.unwrap_or_else(|| Box::new(wishes.clone()));
        let upf = Hybrid::with_driver(local, driver, Box::new(software()), placement, config).unwrap();
        Self::of(if has_batches { upf } else { upf.with_waiting_packets(seed, STAY) }, wishes)
    }
}

impl World {
    /// A world whose rules move by their rates, and whose driver tries again after a millisecond.
    pub(crate) fn by_rate(config: Config, thresholds: Thresholds) -> Self {
        let mut local =
            LocalSwitch::in_front_of_software(&topology(), Limits::default(), Timing::PAPER_ALL_DRIVER)
                .unwrap();
        local.config.retry = Span::from_millis(1);
        let driver = |model| FaultInjector::new(model, FaultRates::default(), LATENESS, 1);
        let placement = Box::new(ByRate::new(thresholds));
        let upf = Hybrid::with_driver(local, driver, Box::new(software()), placement, config).unwrap();
        Self::of(upf.with_waiting_packets(1, STAY), Script::default())
    }

    /// A world whose software moves sessions without packets for `idle` to a store.
    pub(crate) fn with_cold_storage(
        config: Config,
        timing: Timing,
        seed: u64,
        store: Box<dyn ColdStore>,
        idle: Span,
    ) -> Self {
        let local = LocalSwitch::in_front_of_software(&topology(), Limits::default(), timing).unwrap();
        let wishes = Script::default();
        let driver = |model| FaultInjector::new(model, FaultRates::default(), LATENESS, seed);
        let software = software().with_cold_storage(store, idle, |_| {});
        let placement = Box::new(wishes.clone());
        let upf = Hybrid::with_driver(local, driver, Box::new(software), placement, config).unwrap();
        Self::of(upf.with_waiting_packets(seed, STAY), wishes)
    }
}

impl World<FaultyPart> {
    /// So many worlds, each with a part of one switch.
    pub(crate) fn parts(of: usize, config: Config, timing: Timing, seed: u64) -> Vec<Self> {
        let local = || LocalSwitch::in_front_of_software(&topology(), Limits::default(), timing).unwrap();
        let LocalSwitch { model, program, .. } = local();
        let driver = FaultInjector::new(model, FaultRates::default(), LATENESS, seed);
        let whole = WholeSwitch::polled(driver, &program, of);
        let part = |number| {
            let part = whole.part(number);
            let mut own = LocalSwitch { program: part.program(), ..local() };
            own.config.number_bits = part.number_bits();
            let wishes = Script::default();
            let upf =
                Hybrid::with_driver(own, |_| part, Box::new(software()), Box::new(wishes.clone()), config);
            Self::of(upf.unwrap().with_waiting_packets(seed, STAY), wishes)
        };
        (0..of).map(part).collect()
    }

    /// The faults of the switch, for all parts.
    pub(crate) fn set_chances(&mut self, chances: FaultRates) {
        self.upf.switch().driver().with_driver(|driver| driver.set_chances(chances));
    }

    /// The switch restarts empty.
    pub(crate) fn restart_switch(&mut self) {
        let now = self.now;
        self.upf.switch().driver().with_driver(|driver| driver.inner().restart(now));
    }
}

/// The longest delay of an answer that is late.
const LATENESS: Span = Span::from_millis(3);

pub(crate) fn topology() -> Topology {
    Topology {
        gtpu: vec![GtpuEndpoint::new(UPF.into())],
        networks: vec![Network::new(internet(), vec!["10.45.0.0/16".parse().unwrap()])],
        ..Topology::default()
    }
}

fn software() -> FastPath {
    FastPath::new(topology(), Limits::default()).unwrap()
}

impl<D: WithPorts> World<D> {
    fn of(upf: Hybrid<D>, wishes: Script) -> Self {
        Self {
            upf,
            now: START,
            wishes,
            passed: BTreeMap::new(),
            log: Vec::new(),
            reported: BTreeMap::new(),
            events: Vec::new(),
            plans: 0,
        }
    }

    /// Time passes, with all timers in between.
    pub(crate) fn pass(&mut self, time: Span) {
        let until = self.now + time;
        for _ in 0..100_000 {
            let next = self.upf.next_deadline().filter(|next| *next <= until);
            // Deadlines of the past are due now: a driver that repeats a request needs time to pass.
            let Some(next) = next else { break };
            self.now = next.max(self.now + Span::from_micros(1)).min(until);
            self.turn();
            if self.now == until {
                break;
            }
        }
        self.now = until;
        self.turn();
    }

    fn turn(&mut self) {
        self.upf.advance(self.now);
        let mut out: Vec<(Egress, Vec<u8>)> = Vec::new();
        self.upf.flush(&mut out);
        self.take(out);
        while let Some(event) = self.upf.poll_event() {
            if let Event::Usage { session, usage } = &event {
                self.report(session.0 as u8, usage);
            }
            self.events.push(event);
        }
    }

    pub(crate) fn wish(&mut self, wish: Wish) {
        self.wishes.0.lock().unwrap().push(wish);
        self.turn();
    }

    pub(crate) fn establish(&mut self, number: u8, rules: RuleSet) {
        self.apply(&Plan::install(seid(number), rules));
    }

    /// Applies a plan, however long the switch takes.
    pub(crate) fn apply(&mut self, plan: &Plan) -> Applied {
        let applied = self.submit(plan);
        self.wait(plan, applied).unwrap()
    }

    pub(crate) fn submit(&mut self, plan: &Plan) -> (PlanId, PollApplied) {
        self.turn();
        self.plans += 1;
        let id = PlanId(self.plans);
        let poll = self.upf.submit(self.now, id, plan);
        (id, poll)
    }

    pub(crate) fn wait(
        &mut self,
        plan: &Plan,
        (id, poll): (PlanId, PollApplied),
    ) -> Result<Applied, causeway_dataplane::ApplyError> {
        let result = match poll {
            std::task::Poll::Ready(result) => result,
            std::task::Poll::Pending => loop {
                if let Some((done, result)) = self.upf.poll_applied(self.now) {
                    assert_eq!(done, id);
                    break result;
                }
                self.pass(Span::from_millis(1));
                assert!(self.now.since(START) < Span::from_secs(1_000_000), "the plan never ends");
            },
        };
        if let Ok(applied) = &result {
            self.report(plan.session.0 as u8, &applied.usage);
        }
        self.turn();
        result
    }

    fn report(&mut self, session: u8, usage: &[Usage]) {
        let reported = self.reported.entry(session).or_default();
        for usage in usage {
            if let Some(volume) = usage.volume.filter(|_| usage.urr == UrrId(1)) {
                reported[0] += volume.uplink;
                reported[1] += volume.downlink;
            }
        }
    }

    /// The next packet of a rule.
    pub(crate) fn packet(&mut self, number: u8, direction: Direction, octets: usize) {
        let (ingress, packet) = self.next_packet(number, direction, octets);
        let mut out: Vec<(Egress, Vec<u8>)> = Vec::new();
        self.upf.process(self.now, &ingress, &packet, &mut out);
        self.take(out);
        self.turn();
    }

    /// The next packets of rules of this direction, as one batch: sessions and lengths.
    pub(crate) fn batch(&mut self, direction: Direction, packets: &[(u8, usize)]) {
        let mut batch = Batch::new();
        for (number, octets) in packets {
            let (ingress, packet) = self.next_packet(*number, direction, *octets);
            assert!(batch.push(Frame { meta: ingress.meta(), data: &packet }));
        }
        let source = match direction {
            Direction::Uplink => ReceiveSource::Gtpu,
            Direction::Downlink => ReceiveSource::Network(0),
        };
        let mut queue = TransmitQueue::default();
        self.upf.process_batch(self.now, source, &mut batch, &mut queue);
        let mut out: Vec<(Egress, Vec<u8>)> = Vec::new();
        queue.transmit_all(&batch, self.upf.topology(), &mut out);
        self.take(out);
        self.turn();
    }

    fn next_packet(&mut self, number: u8, direction: Direction, octets: usize) -> (Ingress, Vec<u8>) {
        let passed = self.passed.entry((number, direction)).or_default();
        let mut data = (passed.sent + 1).to_be_bytes().to_vec();
        passed.sent += 1;
        data.resize(octets.max(LEAST) - 28, 0);
        passed.octets += octets.max(LEAST) as u64;
        let (from, to) = match direction {
            Direction::Uplink => ((ue(number), 40_000), (SERVER, 53)),
            Direction::Downlink => ((SERVER, 53), (ue(number), 40_000)),
        };
        let ip = IpRepr::V4(Ipv4Repr::new(from.0, to.0, IpProtocol::UDP));
        let mut user = Vec::new();
        ip.write_udp(UdpRepr { src_port: from.1, dst_port: to.1 }, true, &[&data], &mut user).unwrap();
        match direction {
            Direction::Uplink => {
                let qfi = Qfi::new(9).unwrap();
                let mut packet = prefix::uplink(n3(number).teid, qfi, user.len()).unwrap().to_vec();
                packet.extend(user);
                let peer = SocketAddr::new(IpAddr::V4(GNBS[0]), 2152);
                (Ingress::Gtpu { local: IpAddr::V4(UPF), peer, tos: 0, hops: None }, packet)
            }
            Direction::Downlink => (Ingress::Ip { network: internet() }, user),
        }
    }

    /// Packets leave: each is the next of its rule.
    fn take(&mut self, out: Vec<(Egress, Vec<u8>)>) {
        for (egress, packet) in out {
            let (direction, user, to) = match egress {
                Egress::Ip { .. } => (Direction::Uplink, &packet[..], None),
                // GTP-U with a PDU Session Container.
                Egress::Gtpu { peer, .. } if packet[1] == 255 => {
                    (Direction::Downlink, &packet[16..], Some(peer.ip()))
                }
                // An End Marker.
                _ => continue,
            };
            let ue = if direction == Direction::Uplink { user[15] } else { user[19] } - 2;
            let number = u64::from_be_bytes(user[28..36].try_into().unwrap());
            let passed = self.passed.get_mut(&(ue, direction)).expect("a packet that was sent");
            passed.received += 1;
            assert_eq!(number, passed.received, "UE {ue} {direction:?}: lost, doubled or overtaken");
            self.log.push((ue, direction, number, to));
        }
    }

    /// All packets have arrived.
    pub(crate) fn assert_all_arrived(&mut self) {
        self.pass(Span::from_secs(1));
        for (of, passed) in &self.passed {
            assert_eq!(passed.sent, passed.received, "{of:?}");
        }
    }

    /// Removes the sessions: what was reported is what was sent, to the octet.
    pub(crate) fn assert_all_reported(&mut self, sessions: u8) {
        self.assert_reported(0..sessions);
    }

    /// The same of these sessions.
    pub(crate) fn assert_reported(&mut self, sessions: Range<u8>) {
        for number in sessions {
            self.apply(&Plan::removal(seid(number)));
            let octets = |direction| self.passed.get(&(number, direction)).map_or(0, |passed| passed.octets);
            let sent = [Direction::Uplink, Direction::Downlink].map(octets);
            assert_eq!(self.reported.get(&number).copied().unwrap_or_default(), sent, "session {number}");
        }
    }
}

pub(crate) fn internet() -> NetworkInstance {
    NetworkInstance::new("internet")
}

pub(crate) const fn seid(number: u8) -> Seid {
    Seid(number as u64)
}

pub(crate) fn rule(number: u8, direction: Direction) -> Rule {
    Rule { session: seid(number), direction }
}

pub(crate) fn ue(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 45, 0, 2 + number)
}

pub(crate) fn n3(number: u8) -> FTeid {
    FTeid { teid: Teid::new(0x1000 + u32::from(number)).unwrap(), addr: UPF.into() }
}

pub(crate) fn to_gnb(which: usize, number: u8) -> Far {
    let tunnel = FTeid { teid: Teid::new(0x2000 + u32::from(number)).unwrap(), addr: GNBS[which].into() };
    Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, tunnel))
}

pub(crate) fn handover(which: usize, number: u8) -> Plan {
    Plan::update(seid(number), vec![Op::PutFar(to_gnb(which, number).into())])
}

pub(crate) fn idle(number: u8) -> Plan {
    let far = Far { action: ApplyAction::Buffer { notify: true }, ..to_gnb(0, number) };
    Plan::update(seid(number), vec![Op::PutFar(far.into())])
}

/// An uplink and a downlink rule, both counted by URR 1, with this threshold.
pub(crate) fn session(number: u8, threshold: Option<u64>) -> RuleSet {
    let ue = |side| Some(UeAddress { v4: Some(ue(number)), v6: None, side });
    let (urrs, qers) = (vec![UrrId(1)], vec![QerId(1)]);
    let pdi = Pdi { tunnel: Some(n3(number)), ue: ue(UeSide::Source), ..Pdi::new(Interface::Access) };
    let removal = Some(HeaderRemoval::GTPU_IPV4);
    let up = Pdr { removal, urrs: urrs.clone(), qers: qers.clone(), ..Pdr::new(PdrId(1), pdi, FarId(1)) };
    let network_instance = Some(internet());
    let pdi = Pdi { network_instance, ue: ue(UeSide::Destination), ..Pdi::new(Interface::Core) };
    let down = Pdr { urrs, qers, ..Pdr::new(PdrId(2), pdi, FarId(2)) };
    let forwarding = Forwarding { network_instance: Some(internet()), ..Forwarding::to(Interface::Core) };
    let mut rules = RuleSet::default();
    rules.pdrs.insert(up.id, up);
    rules.pdrs.insert(down.id, down);
    rules.fars.insert(FarId(1), Far::forward(FarId(1), forwarding));
    rules.fars.insert(FarId(2), to_gnb(0, number));
    rules.qers.insert(QerId(1), Qer { qfi: Qfi::new(9), ..Qer::new(QerId(1)) });
    rules.urrs.insert(UrrId(1), volume(threshold, None));
    rules
}

/// Measures volume, with a threshold and a quota in octets.
pub(crate) fn volume(threshold: Option<u64>, quota: Option<u64>) -> Urr {
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    let limit = |total: Option<u64>| UsageLimits {
        volume: total.map(|total| DirectionalLimit { total: Some(total), ..DirectionalLimit::default() }),
        ..UsageLimits::default()
    };
    let mut triggers = ReportingTriggers::empty();
    triggers.set(ReportingTriggers::VOLTH, threshold.is_some());
    triggers.set(ReportingTriggers::VOLQU, quota.is_some());
    Urr { triggers, thresholds: limit(threshold), quotas: limit(quota), ..Urr::new(UrrId(1), method) }
}
