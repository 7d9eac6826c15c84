//! Data planes with a small defect, to see that it is found.

use std::sync::Arc;

use causeway_dataplane::{
    Capabilities, Counters, Dataplane, Disposition, DropReason, Egress, Event, HeavyHitterList,
    HeavyHitterSettings, HostReachability, Ingress, NamedCounter, PacketEngine, Plan, PlanId, PollApplied,
    ReceiveSource, Settings, Topology, Transmit, TransmitQueue,
};
use causeway_fastpath::FastPath;
use causeway_model::Applications;
use causeway_packet::Batch;
use causeway_packet::gtpu::MessageType;
use causeway_slowpath::Limits;
use causeway_types::{Time, WallClock};

mod plans;
mod teids;

use plans::later;
use teids::Teids;

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defect {
    /// Once in a million octets, one octet too many is reported.
    Octet,
    /// Now and then two packets of a burst leave in the other order.
    Order,
    /// A report waits for the next look.
    Report,
    /// The outer header of what is marked with DSCP 46 is not.
    Dscp,
    /// What a QER drops is counted as what a closed gate drops.
    Reason,
    /// A timer runs a microsecond late.
    Timer,
    /// End Markers are not sent.
    EndMarker,
    /// What has waited leaves in another order.
    Buffer,
    /// Unknown tunnels cause no Error Indication.
    Indication,
    /// A TEID of another generation leads to the session that has its slot now.
    Generation,
    /// The FARs of a change are carried out behind the next packets.
    Epoch,
}

impl Defect {
    pub(crate) const ALL: [Self; 11] = [
        Self::Octet,
        Self::Order,
        Self::Report,
        Self::Dscp,
        Self::Reason,
        Self::Timer,
        Self::EndMarker,
        Self::Buffer,
        Self::Indication,
        Self::Generation,
        Self::Epoch,
    ];
}

/// A fast path with a defect.
pub(crate) struct Saboteur {
    honest: FastPath,
    defect: Defect,
    octets: u64,
    bursts: u64,
    withheld: Option<Event>,
    /// What has not been carried out yet.
    late: Option<Plan>,
    teids: Teids,
}

impl Saboteur {
    pub(crate) fn new(defect: Defect, topology: Topology, limits: Limits) -> Self {
        let honest = FastPath::new(topology, limits).unwrap();
        Self { honest, defect, octets: 0, bursts: 0, withheld: None, late: None, teids: Teids::default() }
    }

    fn spoil(&mut self, event: Event) -> Event {
        let Event::Usage { session, mut usage } = event else { return event };
        let volume = usage.first_mut().and_then(|usage| usage.volume.as_mut());
        if let Some(volume) = volume.filter(|_| self.defect == Defect::Octet && self.octets >= 1_000_000) {
            volume.uplink += 1;
            self.octets = 0;
        }
        Event::Usage { session, usage }
    }

    /// Carries out what is late.
    fn catch_up(&mut self, now: Time) {
        if let Some(plan) = self.late.take() {
            // The session may have ended.
            let _ = self.honest.apply(now, &plan);
        }
    }

    /// A packet as it gets in.
    fn let_in(&self, ingress: &Ingress, packet: &[u8]) -> Vec<u8> {
        match ingress {
            Ingress::Gtpu { .. } if self.defect == Defect::Generation => self.teids.in_use(packet),
            _ => packet.to_vec(),
        }
    }

    /// What leaves because of packets.
    fn let_out(&self, sent: Vec<(Egress, Vec<u8>)>, out: &mut dyn Transmit) {
        for (mut egress, packet) in sent {
            if let Egress::Gtpu { tos, .. } = &mut egress {
                let is_lost = self.defect == Defect::Indication && is(MessageType::ERROR_INDICATION, &packet);
                if is_lost {
                    continue;
                }
                if self.defect == Defect::Dscp && *tos >> 2 == 46 {
                    *tos &= 3;
                }
            }
            out.transmit(&egress, &packet);
        }
    }
}

/// The GTP-U message is of this type.
fn is(message_type: MessageType, packet: &[u8]) -> bool {
    packet.get(1) == Some(&message_type.0)
}

impl Dataplane for Saboteur {
    fn capabilities(&self) -> Capabilities {
        self.honest.capabilities()
    }

    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        self.teids.learn(plan);
        if self.defect != Defect::Epoch {
            return self.honest.submit(now, id, plan);
        }
        self.catch_up(now);
        let (at_once, late) = later(plan);
        self.late = late;
        self.honest.submit(now, id, &at_once)
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.honest.set_applications(applications);
    }

    fn set_heavy_hitters(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        self.honest.set_heavy_hitters(now, settings);
    }

    fn heavy_hitters(&self, now: Time) -> Option<HeavyHitterList> {
        self.honest.heavy_hitters(now)
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.honest.set_host_reachability(host);
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        self.honest.set_wall_clock(now, clock);
    }

    fn reconfigure(&mut self, now: Time, settings: &Arc<Settings>) {
        self.honest.reconfigure(now, settings);
    }

    fn poll_event(&mut self) -> Option<Event> {
        let event = self.honest.poll_event();
        if self.defect != Defect::Report {
            return event.map(|event| self.spoil(event));
        }
        std::mem::replace(&mut self.withheld, event)
    }

    fn next_deadline(&self) -> Option<Time> {
        self.honest.next_deadline()
    }

    fn advance(&mut self, now: Time) {
        let late = if self.defect == Defect::Timer { 1_000 } else { 0 };
        self.honest.advance(Time::from_nanos(now.as_nanos() - late));
    }

    fn stage_packets(&self) -> Vec<NamedCounter> {
        self.honest.stage_packets()
    }

    fn counters(&self) -> Counters {
        let mut counters = self.honest.counters();
        if self.defect == Defect::Reason && counters.dropped(DropReason::MbrExceeded) > 0 {
            counters.count_drop(DropReason::GateClosed);
        }
        counters
    }
}

impl PacketEngine for Saboteur {
    fn topology(&self) -> &Topology {
        self.honest.topology()
    }

    fn process_batch(
        &mut self,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
        queue: &mut TransmitQueue,
    ) {
        self.bursts += 1;
        self.octets += batch.octets() as u64;
        for index in 0..batch.len() {
            let Some(mut frame) = batch.frame_mut(index) else { continue };
            if source == ReceiveSource::Gtpu && self.defect == Defect::Generation {
                let message = self.teids.in_use(frame.data());
                frame.data().copy_from_slice(&message);
            }
        }
        self.honest.process_batch(now, source, batch, queue);
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        queue.transmit_all(batch, self.honest.topology(), &mut sent);
        if self.defect == Defect::Order && self.bursts.is_multiple_of(20) && sent.len() > 1 {
            sent.swap(0, 1);
        }
        queue.clear();
        self.let_out(sent, queue);
        self.catch_up(now);
    }

    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        self.octets += packet.len() as u64;
        let packet = self.let_in(ingress, packet);
        let fate = self.honest.process(now, ingress, &packet, &mut sent);
        self.let_out(sent, out);
        self.catch_up(now);
        fate
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        self.honest.flush(&mut sent);
        match self.defect {
            Defect::EndMarker => sent.retain(|(egress, packet)| {
                !matches!(egress, Egress::Gtpu { .. }) || !is(MessageType::END_MARKER, packet)
            }),
            Defect::Buffer => sent.reverse(),
            _ => {}
        }
        sent.iter().for_each(|(egress, packet)| out.transmit(egress, packet));
    }
}
