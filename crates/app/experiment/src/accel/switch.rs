//! A model of a switch in model time: a port, a pipeline, a port for recirculation. And a server with a queue.

use crate::events::{EventQueue, PICOS_PER_SECOND, Picos};
use crate::hardware::accel_switch as hardware;

/// Octets around a PFCP message on the wire: Ethernet with checksum, preamble and gap; IPv4; UDP.
const AROUND: usize = 14 + 4 + 20 + 20 + 8;
/// The shortest frame with preamble and gap.
const SHORTEST: usize = 64 + 20;

/// Octets of a message on the wire.
pub(super) const fn on_wire(message: usize) -> usize {
    let octets = message + AROUND;
    if octets < SHORTEST { SHORTEST } else { octets }
}

/// A resource that serves one thing after the other.
#[derive(Clone, Copy, Default, Debug)]
struct Resource {
    free_at: Picos,
}

impl Resource {
    /// When something that arrives at this time is served.
    fn serve(&mut self, at: Picos, time: Picos) -> Picos {
        self.free_at = self.free_at.max(at) + time;
        self.free_at
    }
}

/// A message through the switch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// Octets of request and answer on the wire.
    pub(super) request: usize,
    pub(super) answer: usize,
    /// Passes through the pipeline.
    pub(super) passes: u32,
}

/// Messages that arrive one behind the other: for each, the seconds after which its last bit has arrived, and that of its answer has left.
pub(super) fn pass(messages: &[Passage]) -> Vec<(f64, f64)> {
    let on_port = |octets: usize| octets as Picos * hardware::PORT.picos_of_octet();
    let (mut input, mut line, mut again, mut output) = <(Resource, Resource, Resource, Resource)>::default();
    let mut times: Vec<_> =
        messages.iter().map(|message| (input.serve(0, on_port(message.request)), 0)).collect();
    // The message, and which of its passes it is. Who comes again does not wait for who has not arrived. Nothing is random.
    let mut entering: EventQueue<(usize, u32)> = EventQueue::with_seed(0);
    times.iter().enumerate().for_each(|(message, (at, _))| entering.push(*at, (message, 1)));
    while let Some((at, (message, pass))) = entering.pop() {
        let (Some(passage), Some(times)) = (messages.get(message), times.get_mut(message)) else { continue };
        let passed = line.serve(at, hardware::PIPELINE.picos_of_one()) + hardware::PASS.picos();
        if pass < passage.passes {
            let octets = passage.request as Picos;
            let at = again.serve(passed, octets * hardware::RECIRCULATION.picos_of_octet());
            entering.push(at, (message, pass + 1));
        } else {
            times.1 = output.serve(passed, on_port(passage.answer));
        }
    }
    let seconds = |picos: Picos| picos as f64 / PICOS_PER_SECOND;
    times.into_iter().map(|(arrived, left)| (seconds(arrived), seconds(left))).collect()
}

/// A server of PFCP messages with a queue: software, or the interface by which it writes rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server {
    /// Messages a second.
    pub(super) rate: f64,
    /// Messages that wait, at most.
    pub(super) queue: usize,
}

impl Server {
    /// Of so many messages at this rate, with exponential gaps: how many are lost.
    pub(super) fn offer(&self, rate: f64, messages: u64, random: &mut fastrand::Rng) -> u64 {
        let (mut now, mut free_at) = (0.0_f64, 0.0_f64);
        let mut lost = 0;
        let service = 1.0 / self.rate;
        for _ in 0..messages {
            now += -(1.0 - random.f64()).ln() / rate;
            let waiting = ((free_at - now) / service).max(0.0);
            if waiting > self.queue as f64 {
                lost += 1;
            } else {
                free_at = free_at.max(now) + service;
            }
        }
        lost
    }

    /// The highest rate without a loss among so many messages, within a thousandth.
    pub(super) fn lossless(&self, messages: u64, seed: u64) -> f64 {
        let (mut low, mut high) = (0.0, self.rate * 2.0);
        while high - low > self.rate / 1000.0 {
            let middle = (low + high) / 2.0;
            if self.offer(middle, messages, &mut fastrand::Rng::with_seed(seed)) == 0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}
