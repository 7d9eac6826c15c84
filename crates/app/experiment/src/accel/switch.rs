//! A model of a switch in model time: a port, a pipeline, a port for recirculation. And a server with a queue.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Octets around a PFCP message on the wire: Ethernet with checksum, preamble and gap; IPv4; UDP.
const AROUND: usize = 14 + 4 + 20 + 20 + 8;
/// The shortest frame with preamble and gap.
const SHORTEST: usize = 64 + 20;

/// Octets of a message on the wire.
pub(super) const fn on_wire(message: usize) -> usize {
    let octets = message + AROUND;
    if octets < SHORTEST { SHORTEST } else { octets }
}

/// The rates and delays of the switch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    /// Of the port, bit/s (AccelUPF section 5: 40 Gbit/s).
    pub(super) port: f64,
    /// Of the pipeline, packets a second: an assumption, below the clock of Tofino 1.
    pub(super) pipeline: f64,
    /// Of a pass, seconds: an assumption.
    pub(super) delay: f64,
    /// Of the port for recirculation, bit/s.
    pub(super) recirculation: f64,
}

pub(super) const TOFINO: Parameters =
    Parameters { port: 40e9, pipeline: 1e9, delay: 600e-9, recirculation: 100e9 };

/// A resource that serves one thing after the other.
#[derive(Clone, Copy, Default, Debug)]
struct Resource {
    free_at: f64,
}

impl Resource {
    /// When something that arrives at this time is served.
    fn serve(&mut self, at: f64, time: f64) -> f64 {
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

/// A message on its way, by the time at which it enters the pipeline again.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Entering {
    at: f64,
    message: usize,
    pass: u32,
}

impl Eq for Entering {}

impl PartialOrd for Entering {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entering {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.message.cmp(&other.message))
    }
}

/// Messages that arrive one behind the other: for each, when its last bit has arrived, and when that of its answer has left.
pub(super) fn pass(parameters: Parameters, messages: &[Passage]) -> Vec<(f64, f64)> {
    let Parameters { port, pipeline, delay, recirculation } = parameters;
    let bits = |octets: usize| octets as f64 * 8.0;
    let (mut input, mut line, mut again, mut output) = <(Resource, Resource, Resource, Resource)>::default();
    let mut times: Vec<_> =
        messages.iter().map(|message| (input.serve(0.0, bits(message.request) / port), 0.0)).collect();
    let first = times.iter().enumerate().map(|(message, (at, _))| Entering { at: *at, message, pass: 1 });
    // In the order of time: who comes again does not wait for who has not arrived.
    let mut entering: BinaryHeap<_> = first.map(Reverse).collect();
    while let Some(Reverse(Entering { at, message, pass })) = entering.pop() {
        let (Some(passage), Some(times)) = (messages.get(message), times.get_mut(message)) else { continue };
        let passed = line.serve(at, 1.0 / pipeline) + delay;
        if pass < passage.passes {
            let at = again.serve(passed, bits(passage.request) / recirculation);
            entering.push(Reverse(Entering { at, message, pass: pass + 1 }));
        } else {
            times.1 = output.serve(passed, bits(passage.answer) / port);
        }
    }
    times
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
