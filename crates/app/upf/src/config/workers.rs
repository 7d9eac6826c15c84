//! The keys of the packet threads.

use causeway_ports::MAX_OTHERS;
use serde::{Serialize, Serializer};

use super::enums::{GtpuMode, N4Mode};
use super::kind::Parse;
use super::model::Upf;
use super::problem::Problem;
use super::section::Section;
use super::values;

/// Maximum number of packet threads.
pub(crate) const MAX_WORKERS: usize = 63;

/// The number of packet threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerCount {
    /// One for each core in `pin`. Without `pin`: the number of cores that the process may use, less one for the
    /// control plane, and at most the number of receive queues of an AF_XDP interface. One in mode tpacket.
    Auto,
    /// A fixed number, from 1 to 63.
    #[serde(untagged)]
    Exactly(usize),
}

/// The packet threads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Workers {
    /// Their number.
    pub count: WorkerCount,
    /// The core of each thread, in their order; empty: the kernel chooses.
    #[serde(serialize_with = "cores", skip_serializing_if = "Vec::is_empty")]
    pub pin: Vec<usize>,
    /// The threads poll their ports without sleeping; each occupies a core even without traffic.
    pub busy_poll: bool,
}

impl Default for Workers {
    fn default() -> Self {
        Self { count: WorkerCount::Exactly(1), pin: Vec::new(), busy_poll: false }
    }
}

impl Workers {
    pub(super) fn read(workers: &mut Section<'_>) -> Self {
        let default = Self::default();
        Self {
            count: workers.value("count", count).unwrap_or(default.count),
            pin: workers.value("pin", values::cores).unwrap_or_default(),
            busy_poll: workers.value("busy_poll", values::flag).unwrap_or(default.busy_poll),
        }
    }
}

fn count(text: &str) -> Result<WorkerCount, Problem> {
    let number = || values::number(1..=MAX_WORKERS).parse(text).map(WorkerCount::Exactly).ok();
    let count = (text == "auto").then_some(WorkerCount::Auto).or_else(number);
    let expected = || format!("auto, or a whole number from 1 to {MAX_WORKERS}");
    count.ok_or_else(|| Problem::WrongValue { found: text.to_owned(), expected: expected() })
}

impl Upf {
    /// The number of packet threads, given the number of cores that the process may use and that of receive queues of
    /// the AF_XDP interfaces.
    pub(crate) fn packet_threads(&self, cores: usize, queues: usize) -> usize {
        match (self.workers.count, self.workers.pin.len()) {
            (WorkerCount::Exactly(count), _) => count,
            (WorkerCount::Auto, _) if self.gtpu.mode == GtpuMode::Tpacket => 1,
            (WorkerCount::Auto, _) if self.dataplane.is_switch() => 1,
            (WorkerCount::Auto, 0) => cores.saturating_sub(1).min(queues).clamp(1, MAX_WORKERS),
            (WorkerCount::Auto, pinned) => pinned.min(MAX_WORKERS),
        }
    }
}

/// The problems of the number of packet threads, each with its key.
pub(super) fn check(upf: &Upf) -> Vec<(String, Problem)> {
    let mut found = Vec::new();
    let pinned = upf.workers.pin.len();
    let count = upf.packet_threads(pinned.saturating_add(1), usize::MAX);
    if upf.gtpu.mode == GtpuMode::Tpacket && count > 1 {
        found.push(("upf.workers.count".into(), Problem::OneWorker { mode: upf.gtpu.mode.word() }));
    }
    let dataplane = upf.dataplane.word();
    if upf.dataplane.is_switch() && count > 1 {
        found.push(("upf.workers.count".into(), Problem::OneSwitch { dataplane }));
    }
    if upf.pfcp.accelerate && upf.dataplane.has_switch() {
        found.push(("upf.pfcp.accelerate".into(), Problem::AcceleratedSwitch { dataplane }));
    }
    let is_xdp = upf.pfcp.mode == N4Mode::AfXdp;
    if is_xdp && !upf.pfcp.accelerate {
        found.push(("upf.pfcp.mode".into(), Problem::N4NotInPacketThread));
    }
    // In mode af_xdp it waits for a socket and for a port of each.
    let addresses = upf.pfcp.server.len() * if is_xdp { 2 } else { 1 };
    if upf.pfcp.accelerate && addresses > MAX_OTHERS {
        let problem = Problem::AcceleratedAddresses { count: upf.pfcp.server.len() };
        found.push(("upf.pfcp.accelerate".into(), problem));
    }
    if upf.dataplane.has_switch() && !upf.routing.decrement_ttl {
        found.push(("upf.routing.decrement_ttl".into(), Problem::SwitchHops { dataplane }));
    }
    if pinned > 0 && pinned != count {
        found.push(("upf.workers.pin".into(), Problem::PinsDiffer { pinned, count }));
    }
    found
}

fn cores<S: Serializer>(cores: &[usize], serializer: S) -> Result<S::Ok, S::Error> {
    let texts: Vec<_> = cores.iter().map(usize::to_string).collect();
    serializer.serialize_str(&texts.join(", "))
}
