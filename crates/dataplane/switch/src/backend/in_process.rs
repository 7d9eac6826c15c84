//! The backend with packets: a UPF on the model of a switch, with in-process ports.

use std::sync::Arc;
use std::task::Poll;

use causeway_dataplane::{
    Capabilities, Counters, Dataplane, Disposition, DropReason, Egress, Event, GtpuPath, HeavyHitterList,
    HeavyHitterSettings, HostReachability, Ingress, NamedCounter, PacketEngine, Plan, PlanId, PollApplied,
    SessionClasses, Settings, SwitchState, Topology, Transmit,
};
use causeway_model::{ApplicationId, Applications};
use causeway_packet::{UserPacket, gtpu};
use causeway_slowpath::Limits;
use causeway_types::{Seid, Span, Time, WallClock};

use super::compile_session::LookupKey;
use super::drop_reason::reason_of;
use super::local_model::{local_config, parts, with_guards};
use super::ports::Ports;
use super::start::StartError;
use super::switch::Switch;
use crate::Count;
use crate::driver::{FaultInjector, Program, SwitchDriver, SwitchPart};
use crate::model::upf::{self, UnknownProgram, Upf};
use crate::model::{Model, PassCounters, Pipeline};

/// Why the UPF cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InProcessError {
    /// The model cannot run the program.
    #[error(transparent)]
    Program(#[from] UnknownProgram),
    /// The backend cannot fill its tables.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// A UPF on a model of a switch whose driver takes no time: the model itself, or a connection to it. Packets enter and
/// leave as with any software data plane.
///
/// After each packet the counters are read, so that reports are as exact as those of software; with
/// [`InProcess::with_counter_interval`] they are read periodically.
#[derive(Debug)]
pub struct InProcess<D = Model<Upf>> {
    switch: Switch<D>,
    ports: Ports,
    /// The counters are read after each packet.
    looks: bool,
    /// Counters of packets that the switch handled alone.
    counters: Counters,
    /// The latest time given: the model's time never goes back.
    now: Time,
    outbox: Vec<(Egress, Vec<u8>)>,
}

impl InProcess {
    /// An empty UPF with this program.
    ///
    /// # Errors
    /// The program or the topology does not fit.
    pub fn new(program: &Program, topology: Topology, limits: Limits) -> Result<Self, InProcessError> {
        let (model, program, config) = parts(program, topology, limits)?;
        let ports = Ports::new(&config);
        Ok(Self::with_switch(Switch::new(model, &program, config)?, ports))
    }

    /// The same, whose counters are read at this interval, whatever packets arrive.
    #[must_use]
    pub fn with_counter_interval(mut self, pace: Span) -> Self {
        self.switch.set_counter_interval(pace);
        self.looks = false;
        self
    }
}

impl<D: WithPorts> InProcess<D> {
    /// An empty UPF over another driver of a model that runs this program, with these local addresses.
    ///
    /// # Errors
    /// The program or the topology does not fit.
    pub fn with_driver(
        driver: D,
        program: &Program,
        topology: Topology,
        limits: Limits,
    ) -> Result<Self, StartError> {
        let config = local_config(program, topology, limits);
        let ports = Ports::new(&config);
        let switch = Switch::new(driver, &with_guards(program), config)?;
        Ok(Self::with_switch(switch, ports))
    }

    /// The same, over a switch whose octets after QoS enforcement are those of received frames: see
    /// [`Config::counts_as_received`](super::Config::counts_as_received).
    #[must_use]
    pub fn with_received_octets(mut self) -> Self {
        self.switch.set_received_octets();
        self
    }

    fn with_switch(switch: Switch<D>, ports: Ports) -> Self {
        Self {
            switch,
            ports,
            looks: true,
            counters: Counters::default(),
            now: Time::default(),
            outbox: Vec::new(),
        }
    }

    /// The backend.
    pub const fn switch(&mut self) -> &mut Switch<D> {
        &mut self.switch
    }

    fn at(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    /// Collects the frames that the model has transmitted.
    fn collect(&mut self) {
        self.ports.take_sent(self.switch.driver(), &mut self.outbox);
    }

    fn dropped(&mut self) -> Vec<u64> {
        let cells = upf::DropReason::ALL.map(|reason| reason as u32);
        let counter = self.switch.drop_counter();
        let counts = self.switch.driver().indexed_counts(counter, &cells);
        counts.into_iter().map(|count| count.packets).collect()
    }

    /// The fate of a packet, from the switch's counters and the software's result.
    fn fate(&mut self, before: &[u64], of_software: Option<Disposition>) -> Option<Disposition> {
        let after = self.dropped();
        let grown = before.iter().zip(&after).position(|(before, after)| after > before);
        match (of_software, grown.and_then(|place| upf::DropReason::ALL.get(place))) {
            // The software has counted it.
            (Some(_), _) => None,
            (None, Some(reason)) => Some(Disposition::Dropped(reason_of(*reason))),
            (None, None) => Some(Disposition::Forwarded),
        }
    }

    /// The drop reason, with the distinction that the switch cannot make: whether its tunnel or UE belongs to a
    /// session.
    fn refined(&self, fate: Disposition, ingress: &Ingress, packet: &[u8]) -> Disposition {
        let Disposition::Dropped(reason) = fate else { return fate };
        let key = match (reason, ingress) {
            (DropReason::UnknownTeid | DropReason::SpoofedSource, Ingress::Gtpu { .. }) => {
                let teid = gtpu::Packet::parse(packet).ok().and_then(|packet| packet.header.teid);
                teid.map(|teid| LookupKey::Tunnel(teid.value()))
            }
            (DropReason::UnknownUe, _) => match UserPacket::parse(packet).map(|user| user.flow.dst) {
                Ok(to) => self.switch.key_of(ingress, to),
                Err(_) => None,
            },
            _ => None,
        };
        let is_known = key.is_some_and(|key| self.switch.has_key(&key));
        Disposition::Dropped(match reason {
            DropReason::SpoofedSource if !is_known => DropReason::UnknownTeid,
            DropReason::UnknownTeid | DropReason::UnknownUe if is_known => DropReason::NoMatchingPdr,
            reason => reason,
        })
    }

    fn count(&mut self, ingress: &Ingress, octets: usize, fate: Disposition) {
        self.counters.count_received(ingress, octets);
        match fate {
            Disposition::Forwarded => self.counters.forwarded += 1,
            Disposition::Dropped(reason) => self.counters.count_drop(reason),
            Disposition::Consumed => self.counters.consumed += 1,
            Disposition::Buffered => self.counters.buffered += 1,
        }
        if fate == Disposition::Forwarded
            && let Some((egress, packet)) = self.outbox.last()
        {
            self.counters.count_sent(egress, packet.len());
        }
    }
}

impl<D: WithPorts> Dataplane for InProcess<D> {
    fn capabilities(&self) -> Capabilities {
        self.switch.capabilities()
    }

    /// Completes at once: the driver takes no time.
    fn submit(&mut self, now: Time, _id: PlanId, plan: &Plan) -> PollApplied {
        let now = self.at(now);
        let applied = self.switch.apply(now, plan);
        self.switch.run_without_path_timers(now);
        self.collect();
        Poll::Ready(applied)
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.switch.set_applications(applications);
        // Before the first call with a time there are no sessions.
        if self.now != Time::default() {
            self.switch.run_without_path_timers(self.now);
            self.collect();
        }
    }

    fn set_heavy_hitters(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        let now = self.at(now);
        self.switch.set_heavy_hitters(now, settings);
        self.switch.run_without_path_timers(now);
        self.collect();
    }

    fn heavy_hitters(&self, now: Time) -> Option<HeavyHitterList> {
        self.switch.heavy_hitters(now)
    }

    fn session_classes(&self) -> SessionClasses {
        self.switch.session_classes()
    }

    fn application_class(&self, session: Seid) -> Option<ApplicationId> {
        self.switch.application_class(session)
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.switch.set_host_reachability(host);
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        let now = self.at(now);
        self.switch.set_wall_clock(now, clock);
    }

    fn reconfigure(&mut self, now: Time, settings: &Arc<Settings>) {
        self.switch.reconfigure(now, settings);
    }

    fn follow_paths(&mut self, now: Time, old: &[GtpuPath], new: &[GtpuPath]) {
        self.switch.follow_paths(now, old, new);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.switch.poll_event()
    }

    fn next_deadline(&self) -> Option<Time> {
        self.switch.next_deadline()
    }

    fn advance(&mut self, now: Time) {
        let now = self.at(now);
        self.switch.run(now);
        self.collect();
    }

    fn counters(&self) -> Counters {
        self.counters.clone().with(&self.switch.counters())
    }

    fn switch_state(&self) -> Option<SwitchState> {
        Some(SwitchState { events: self.switch_events(), ..self.switch.state() })
    }

    fn switch_events(&self) -> Vec<NamedCounter> {
        let mut events = self.switch.events();
        events.extend(self.switch.driver_ref().passes().iter().flat_map(PassCounters::named));
        events
    }
}

impl<D: WithPorts> PacketEngine for InProcess<D> {
    fn topology(&self) -> &Topology {
        self.switch.topology()
    }

    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        let now = self.at(now);
        self.switch.run_without_path_timers(now);
        self.collect();
        self.switch.take_last_fate();
        let Some((port, frame)) = self.ports.frame_of(ingress, packet) else {
            let fate = Disposition::Dropped(DropReason::NoEgress);
            self.count(ingress, packet.len(), fate);
            return fate;
        };
        let before = self.dropped();
        self.switch.driver().receive(now, port, &frame);
        if self.looks {
            self.switch.read_all_counters();
        }
        self.switch.run_without_path_timers(now);
        self.collect();
        let of_software = self.switch.take_last_fate();
        let fate = self.fate(&before, of_software).map(|fate| self.refined(fate, ingress, packet));
        if let Some(fate) = fate {
            self.count(ingress, packet.len(), fate);
        }
        self.flush(out);
        fate.or(of_software).unwrap_or(Disposition::Consumed)
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        for (egress, packet) in self.outbox.drain(..) {
            out.transmit(&egress, &packet);
        }
    }
}

/// A driver of a model: frames can be put into its ports, and taken from them.
pub trait WithPorts: SwitchDriver {
    /// Receives a frame on a port. All its effects are complete on return.
    fn receive(&mut self, now: Time, port: u16, frame: &[u8]);

    /// The next frame that was transmitted on a port other than the CPU port, and the port.
    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)>;

    /// Counters by index, with their present values; zero for those that do not exist.
    fn indexed_counts(&mut self, counter: u32, indices: &[u32]) -> Vec<Count>;

    /// What packets have asked for besides leaving; `None`: the driver cannot tell.
    fn passes(&self) -> Option<PassCounters> {
        None
    }
}

impl<P: Pipeline> WithPorts for Model<P> {
    fn receive(&mut self, now: Time, port: u16, frame: &[u8]) {
        Self::receive(self, now, port, frame);
    }

    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)> {
        Self::poll_sent(self).map(|(_, port, frame)| (port, frame))
    }

    fn indexed_counts(&mut self, counter: u32, indices: &[u32]) -> Vec<Count> {
        let count = |index: &u32| self.state().indexed_count(counter, *index).unwrap_or_default();
        indices.iter().map(count).collect()
    }

    fn passes(&self) -> Option<PassCounters> {
        Some(Self::passes(self))
    }
}

/// All parts have the ports of the switch.
impl<D: WithPorts> WithPorts for SwitchPart<D> {
    fn receive(&mut self, now: Time, port: u16, frame: &[u8]) {
        self.with_driver(|driver| driver.receive(now, port, frame));
    }

    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)> {
        self.with_driver(D::poll_sent)
    }

    fn indexed_counts(&mut self, counter: u32, indices: &[u32]) -> Vec<Count> {
        self.with_driver(|driver| driver.indexed_counts(counter, indices))
    }
}

/// Faults are those of requests; frames pass.
impl<D: WithPorts> WithPorts for FaultInjector<D> {
    fn receive(&mut self, now: Time, port: u16, frame: &[u8]) {
        self.inner().receive(now, port, frame);
    }

    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)> {
        self.inner().poll_sent()
    }

    fn indexed_counts(&mut self, counter: u32, indices: &[u32]) -> Vec<Count> {
        self.inner().indexed_counts(counter, indices)
    }
}
