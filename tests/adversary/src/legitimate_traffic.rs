//! The good UE's packets and the good SMF's requests, during an attack.

use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use causeway_lab::LabError;
use causeway_lab::netns::Namespace;
use causeway_lab::smf::{Session, Smf};
use causeway_lab::traffic::sequenced::{MIN_IP_LENGTH, Sender, Sink};

/// Between two packets of one direction.
const PACE: Duration = Duration::from_millis(4);
/// Between two requests.
const REQUESTS: Duration = Duration::from_millis(10);
/// The longest time that packets may be in flight.
const MAX_LATENCY: Duration = Duration::from_millis(500);
/// How long the good ones may take to see all right again after an attack.
const RECOVERY: Duration = Duration::from_secs(10);
/// More octets than ever pass.
const UNREACHED_OCTETS: u64 = 1 << 40;

/// One direction of the good UE's traffic.
struct Direction {
    sender: Sender,
    sink: Sink,
}

/// The good UE's traffic.
pub(crate) struct Traffic([Direction; 2]);

/// What the good ones saw of an attack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observation {
    pub(crate) packets: u64,
    pub(crate) lost: u64,
    pub(crate) latencies: Vec<Duration>,
    /// Requests without a response to any repetition.
    pub(crate) unanswered: u64,
    pub(crate) refusals: Vec<String>,
}

/// An end of the traffic.
pub(crate) struct TrafficEnd<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) device: Option<&'a str>,
    pub(crate) address: SocketAddrV4,
}

impl Traffic {
    /// Between a UE and a host of the data network.
    pub(crate) fn open(ue: &TrafficEnd<'_>, dn: &TrafficEnd<'_>) -> Result<Self, LabError> {
        let direction = |from: &TrafficEnd<'_>, to: &TrafficEnd<'_>| {
            let sink = Sink::open(to.namespace, to.address)?;
            Sender::open(from.namespace, from.device, to.address).map(|sender| Direction { sender, sink })
        };
        Ok(Self([direction(ue, dn)?, direction(dn, ue)?]))
    }

    /// Sends in both directions and asks for usage until `attack` is over.
    pub(crate) fn during<T>(
        &mut self,
        smf: &Smf,
        session: &Session,
        attack: impl FnOnce() -> T,
    ) -> (Observation, T) {
        let over = AtomicBool::new(false);
        let before = self.arrived();
        let sent_before = self.sent();
        let (mut seen, result) = thread::scope(|scope| {
            for Direction { sender, .. } in &mut self.0 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        // A packet that the kernel does not take is one that does not arrive.
                        let _ = sender.send(5, MIN_IP_LENGTH, PACE);
                    }
                });
            }
            let asking = scope.spawn(|| ask(smf, session, &over));
            let result = attack();
            over.store(true, Ordering::Relaxed);
            (asking.join().unwrap_or_default(), result)
        });
        seen.packets = self.sent() - sent_before;
        let start = Instant::now();
        while self.arrived() - before < seen.packets && start.elapsed() < MAX_LATENCY {
            thread::sleep(Duration::from_millis(5));
        }
        seen.lost = seen.packets.saturating_sub(self.arrived() - before);
        (seen, result)
    }

    /// The UE's packets pass in both directions again, and a request is accepted: at once, or after a while in which
    /// queues run empty. What does not, otherwise.
    pub(crate) fn works(&mut self, smf: &Smf, session: &Session) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let lost = self.probe();
            let request = smf.query_and_rearm(session, UNREACHED_OCTETS);
            match (lost, request) {
                ([0, 0], Ok(_)) => return Ok(()),
                _ if start.elapsed() < RECOVERY => {}
                ([0, 0], Err(error)) => return Err(format!("the good SMF's request: {error}")),
                ([up, down], _) => {
                    return Err(format!("of 20 packets of the good UE {up} are lost up and {down} down"));
                }
            }
        }
    }

    /// Twenty packets in each direction: how many are lost.
    fn probe(&mut self) -> [u64; 2] {
        self.0.each_mut().map(|Direction { sender, sink }| {
            let before = sink.seen().len() as u64;
            let _ = sender.send(20, MIN_IP_LENGTH, Duration::from_millis(1));
            20_u64.saturating_sub(sink.wait_for(before + 20, MAX_LATENCY).len() as u64 - before)
        })
    }

    fn arrived(&self) -> u64 {
        self.0.iter().map(|direction| direction.sink.seen().len() as u64).sum()
    }

    fn sent(&self) -> u64 {
        self.0.iter().map(|direction| direction.sender.sent()).sum()
    }
}

/// One request after the other, until it is over.
fn ask(smf: &Smf, session: &Session, over: &AtomicBool) -> Observation {
    let mut seen = Observation::default();
    while !over.load(Ordering::Relaxed) {
        let start = Instant::now();
        match smf.query_and_rearm(session, UNREACHED_OCTETS) {
            Ok(_) => seen.latencies.push(start.elapsed()),
            Err(LabError::Timeout { .. }) => seen.unanswered += 1,
            Err(error) => seen.refusals.push(error.to_string()),
        }
        thread::sleep(REQUESTS.saturating_sub(start.elapsed()));
    }
    seen
}
