//! Data planes with a small defect, to see that it is found.

use std::sync::Arc;

use causeway_conformance::{Arrival, Subject};
use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, DropReason, Egress, Event, Fate, Ingress,
    PacketEngine, Plan, Topology, Transmit,
};
use causeway_fastpath::FastPath;
use causeway_reference::Limits;
use causeway_rules::Applications;
use causeway_types::Time;

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
}

impl Defect {
    pub(crate) const ALL: [Self; 6] =
        [Self::Octet, Self::Order, Self::Report, Self::Dscp, Self::Reason, Self::Timer];
}

/// A fast path with a defect.
pub(crate) struct Saboteur {
    honest: FastPath,
    defect: Defect,
    octets: u64,
    bursts: u64,
    withheld: Option<Event>,
}

impl Saboteur {
    pub(crate) fn new(defect: Defect, topology: Topology, limits: Limits) -> Self {
        let honest = FastPath::new(topology, limits).unwrap();
        Self { honest, defect, octets: 0, bursts: 0, withheld: None }
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
}

impl Dataplane for Saboteur {
    fn capabilities(&self) -> Capabilities {
        self.honest.capabilities()
    }

    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.honest.apply(now, plan)
    }

    fn provision(&mut self, applications: &Arc<Applications>) {
        self.honest.provision(applications);
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

    fn counters(&self) -> Counters {
        let mut counters = self.honest.counters();
        if self.defect == Defect::Reason && counters.dropped(DropReason::MbrExceeded) > 0 {
            counters.drop_one(DropReason::GateClosed);
        }
        counters
    }
}

impl PacketEngine for Saboteur {
    fn process(&mut self, now: Time, ingress: &Ingress, packet: &[u8], out: &mut dyn Transmit) -> Fate {
        self.honest.process(now, ingress, packet, out)
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        self.honest.flush(out);
    }
}

impl Subject for Saboteur {
    fn burst(&mut self, now: Time, arrivals: &[Arrival], out: &mut dyn Transmit) {
        self.bursts += 1;
        self.octets += arrivals.iter().map(|(_, packet)| packet.len() as u64).sum::<u64>();
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        self.honest.burst(now, arrivals, &mut sent);
        if self.defect == Defect::Order && self.bursts.is_multiple_of(20) && sent.len() > 1 {
            sent.swap(0, 1);
        }
        for (mut egress, packet) in sent {
            if let Egress::Gtpu { tos, .. } = &mut egress
                && self.defect == Defect::Dscp
                && *tos >> 2 == 46
            {
                *tos &= 3;
            }
            out.transmit(&egress, &packet);
        }
    }

    fn hot_packets(&self) -> u64 {
        self.honest.hot_packets()
    }
}
