//! The environment of the steps: the network, its parts, and the state between steps.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use causeway_types::{FTeid, Volume};

use crate::LabError;
use crate::capture::Capture;
use crate::cleanup::Cleanup;
use crate::metrics::Metrics;
use crate::process::Daemon;
use crate::ran::{GnbId, Ran, UeId};
use crate::report::Sample;
use crate::smf::{Session, Smf, Usage};
use crate::timeline::Timeline;
use crate::topology::{Topology, UPF_N4};

/// UEs of the demo.
pub(super) const UES: u8 = 10;

/// Where the daemon serves its metrics.
pub(super) const METRICS_PORT: u16 = 9090;

/// How often the rates are sampled.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// How the demo is to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where its files go; made if it does not exist.
    pub out: PathBuf,
    /// `upf.dataplane` of its configuration; `None`: the usual one.
    pub dataplane: Option<String>,
    /// The program whose `run --config` is the UPF.
    pub program: PathBuf,
}

/// What there is before the first step.
pub(super) struct DemoEnvironment {
    pub(super) options: Options,
    pub(super) cleanup: Cleanup,
    pub(super) timeline: Timeline,
    /// From the first step on.
    pub(super) network: Option<Network>,
    /// The daemon's counters before the first session.
    pub(super) before: Metrics,
    /// And after the last.
    pub(super) after: Metrics,
}

/// Everything that runs. Parts that use others stand before them.
pub(super) struct Network {
    pub(super) sampler: Sampler,
    pub(super) captures: Captures,
    pub(super) ran: Arc<Ran>,
    pub(super) ues: Vec<Ue>,
    pub(super) smf: Smf,
    pub(super) daemon: Daemon,
    pub(super) topology: Topology,
}

/// A capture of each reference point.
pub(super) struct Captures {
    pub(super) n3: Capture,
    pub(super) n4: Capture,
    pub(super) n6: Capture,
}

/// A UE with its session.
pub(super) struct Ue {
    pub(super) id: UeId,
    pub(super) device: String,
    pub(super) address: Ipv4Addr,
    pub(super) session: Session,
    pub(super) gnb: GnbId,
    pub(super) downlink: FTeid,
    /// All usage that the UPF has reported of it.
    pub(super) reported: Volume,
}

impl Ue {
    /// Adds reported usage to what was reported before.
    pub(super) fn charge(&mut self, usage: &[Usage]) -> Volume {
        let sum = usage.iter().fold(Volume::ZERO, |sum, usage| sum + usage.volume);
        self.reported += sum;
        sum
    }

    /// A port of its address.
    pub(super) fn at(&self, port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(self.address, port)
    }
}

impl DemoEnvironment {
    /// The network, which the first step has made.
    pub(super) fn network(&mut self) -> Result<&mut Network, LabError> {
        self.network.as_mut().ok_or(LabError::Missing("the network was not built".into()))
    }
}

impl Network {
    /// A UE by number, from zero, with what is needed beside it.
    pub(super) fn ue(&mut self, index: usize) -> Result<(&mut Ue, &Smf, &Arc<Ran>, &Topology), LabError> {
        let ue =
            self.ues.get_mut(index).ok_or(LabError::Missing(format!("UE {} does not exist", index + 1)))?;
        Ok((ue, &self.smf, &self.ran, &self.topology))
    }

    /// The daemon's counters now.
    pub(super) fn metrics(&self) -> Result<Metrics, LabError> {
        Metrics::fetch(&self.topology.smf, SocketAddr::new(UPF_N4.into(), METRICS_PORT))
    }
}

/// Writes down the traffic of all UEs, ten times a second.
pub(super) struct Sampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Sample>>>,
}

impl Sampler {
    pub(super) fn start(ran: &Arc<Ran>, timeline: &Timeline) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, ran, timeline) = (stop.clone(), ran.clone(), timeline.clone());
        let thread = thread::spawn(move || {
            let mut samples = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let total = ran.total();
                samples.push(Sample {
                    at: timeline.now(),
                    uplink_octets: total.uplink_octets,
                    downlink_octets: total.downlink_octets,
                });
                thread::sleep(SAMPLE_EVERY);
            }
            samples
        });
        Self { stop, thread: Some(thread) }
    }

    /// Ends it, and returns what it has written.
    pub(super) fn finish(&mut self) -> Vec<Sample> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.finish();
    }
}
