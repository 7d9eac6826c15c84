use causeway_packet::{Frame, Meta};
use causeway_types::{NetworkInstance, Seid, Span};

use super::*;
use crate::{DropReason, Egress, Network};

/// A data plane that completes a plan after one second, and sends back what it receives.
struct Delayed {
    topology: Topology,
    in_flight: Option<(PlanId, Time)>,
    has_timer: bool,
}

impl Delayed {
    fn new() -> Self {
        let network = Network::new(NetworkInstance::new("internet"), Vec::new());
        let topology = Topology { networks: vec![network], ..Topology::default() };
        Self { topology, in_flight: None, has_timer: true }
    }
}

impl Dataplane for Delayed {
    fn capabilities(&self) -> Capabilities {
        Capabilities::all(1, 1)
    }

    fn submit(&mut self, now: Time, id: PlanId, _plan: &Plan) -> PollApplied {
        self.in_flight = Some((id, now + Span::from_secs(1)));
        Poll::Pending
    }

    fn poll_applied(&mut self, now: Time) -> Option<(PlanId, Result<Applied, ApplyError>)> {
        let (id, _) = self.in_flight.take_if(|(_, at)| *at <= now)?;
        Some((id, Ok(Applied::default())))
    }

    fn set_applications(&mut self, _: &Arc<Applications>) {}
    fn set_host_reachability(&mut self, _: &Arc<HostReachability>) {}
    fn set_wall_clock(&mut self, _: Time, _: WallClock) {}

    fn poll_event(&mut self) -> Option<Event> {
        None
    }

    fn next_deadline(&self) -> Option<Time> {
        self.in_flight.map(|(_, at)| at).filter(|_| self.has_timer)
    }

    fn advance(&mut self, _: Time) {}

    fn counters(&self) -> Counters {
        Counters::default()
    }
}

impl PacketEngine for Delayed {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn process(&mut self, _: Time, ingress: &Ingress, packet: &[u8], out: &mut dyn Transmit) -> Disposition {
        let Ingress::Ip { network } = ingress else { return Disposition::Dropped(DropReason::NoEgress) };
        out.transmit(&Egress::Ip { network: network.clone() }, packet);
        Disposition::Forwarded
    }

    fn flush(&mut self, _: &mut dyn Transmit) {}
}

fn plan() -> Plan {
    Plan::removal(Seid(1))
}

// Input:  a plan to a data plane that takes a second, once polled and once waited for.
// Output: nothing before that second has passed, then the result with its number, once; the wait ends with the same
//         result.
#[test]
fn a_plan_in_flight_completes_later() {
    let mut plane = Delayed::new();
    let start = Time::from_secs(5);
    assert_eq!(plane.submit(start, PlanId(7), &plan()), Poll::Pending);
    assert_eq!(plane.poll_applied(start), None);
    let done = plane.next_deadline().unwrap();
    assert_eq!(plane.poll_applied(done), Some((PlanId(7), Ok(Applied::default()))));
    assert_eq!(plane.poll_applied(done), None);
    assert_eq!(plane.apply(start, &plan()), Ok(Applied::default()));
}

// Input:  the same, but it names no deadline.
// Output: waiting fails instead of lasting forever.
#[test]
fn waiting_without_a_deadline_fails() {
    let mut plane = Delayed { has_timer: false, ..Delayed::new() };
    assert!(matches!(plane.apply(Time::from_secs(5), &plan()), Err(ApplyError::Backend(_))));
}

// Input:  a batch of two packets from a data network, and one from a network that the topology does not have.
// Output: both packets are in the queue, in order, to that network; of the other source none.
#[test]
fn a_batch_is_processed_packet_by_packet() {
    let (mut plane, mut batch, mut queue) = (Delayed::new(), Batch::new(), TransmitQueue::default());
    assert!([[1], [2]].iter().all(|data| batch.push(Frame { meta: Meta::Ip, data })));
    plane.process_batch(Time::default(), ReceiveSource::Network(0), &mut batch, &mut queue);
    let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
    queue.transmit_all(&batch, plane.topology(), &mut sent);
    assert_eq!(sent.iter().map(|(_, packet)| packet[0]).collect::<Vec<_>>(), [1, 2]);
    plane.process_batch(Time::default(), ReceiveSource::Network(1), &mut batch, &mut queue);
    assert!(queue.packets().is_empty());
}
