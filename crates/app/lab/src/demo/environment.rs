//! The environment of the steps: the network, its parts, and the state between steps.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use std::net::{SocketAddr, SocketAddrV4};

use causeway_types::{FTeid, Volume};

use super::path::{FollowedPackets, PacketPath, Route};
use super::step::Stage;
use crate::LabError;
use crate::capture::Capture;
use crate::cleanup::Cleanup;
use crate::metrics::Metrics;
use crate::netns::Namespace;
use crate::process::Daemon;
use crate::ran::{GnbId, Ran, UeId};
use crate::report::Sample;
use crate::smf::{Session, Smf, UeAddresses, Usage};
use crate::timeline::Timeline;
use crate::topology::{Topology, UPF_N4};

/// UEs of the demo.
pub(super) const UES: u8 = 10;

/// Where the daemon serves its metrics.
pub(super) const METRICS_PORT: u16 = 9098;

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
    /// After the steps with traffic everything stays up until a signal comes.
    pub keep: bool,
    /// A link that loses packets, so that the demo fails: for tests of the demo itself.
    pub lossy: Option<LossyLink>,
}

impl Options {
    /// The UPF advertises IPv6 prefixes to its UEs. A P4 switch does not: its program answers no Router Solicitation.
    pub(super) fn advertises_prefixes(&self) -> bool {
        self.dataplane.as_deref() != Some("switch")
    }

    /// The tables of the UPF are in external memory, of a memory server of its own.
    pub(super) fn has_external_memory(&self) -> bool {
        self.dataplane.as_deref() == Some("xplane")
    }

    /// Rules move between a switch and the software behind it.
    pub(super) fn is_hybrid(&self) -> bool {
        self.dataplane.as_deref() == Some("hybrid")
    }
}

/// A link of the emulated network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossyLink {
    /// From the gNBs to the UPF.
    N3Uplink,
    /// From the UPF to the gNBs.
    N3Downlink,
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
    /// Packets of the running step that are followed, and those that were.
    pub(super) followed: Option<FollowedPackets>,
    pub(super) paths: Vec<PacketPath>,
}

/// Everything that runs. Parts that use others stand before them.
pub(super) struct Network {
    pub(super) sampler: Sampler,
    pub(super) captures: Captures,
    pub(super) ran: Arc<Ran>,
    pub(super) ues: Vec<Ue>,
    pub(super) smf: Smf,
    pub(super) daemon: Daemon,
    /// The memory server, with its host.
    pub(super) memory: Option<(Daemon, Namespace)>,
    pub(super) topology: Topology,
    /// The kernel has IPv6, and some UEs use it.
    pub(super) ipv6: bool,
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
    pub(super) addresses: UeAddresses,
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

    /// A port of its IPv4 address.
    pub(super) fn at(&self, port: u16) -> Result<SocketAddrV4, LabError> {
        let missing = || LabError::Missing(format!("{} has no IPv4 address", self.device));
        self.addresses.ipv4().map(|address| SocketAddrV4::new(address, port)).ok_or_else(missing)
    }
}

impl DemoEnvironment {
    /// The network, which the first step has made.
    pub(super) fn network(&mut self) -> Result<&mut Network, LabError> {
        self.network.as_mut().ok_or(LabError::Missing("the network was not built".into()))
    }

    /// From now on follows packets that are about to be sent, so many if that is known. Those that were followed before
    /// have arrived.
    pub(super) fn follow(&mut self, route: Route, packets: impl Into<Option<u64>>) {
        self.arrived(None);
        let packets = packets.into();
        self.followed = self.network.as_ref().map(|network| FollowedPackets::begin(network, route, packets));
    }

    /// The followed packets are where they go to: so many of them, if that is known.
    pub(super) fn arrived(&mut self, packets: Option<u64>) {
        if let (Some(followed), Some(network)) = (self.followed.take(), &self.network) {
            self.paths.push(followed.end(network, packets));
        }
    }
}

impl Stage for DemoEnvironment {
    fn take_paths(&mut self) -> Vec<PacketPath> {
        self.arrived(None);
        std::mem::take(&mut self.paths)
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
    samples: Arc<Mutex<Vec<Sample>>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    pub(super) fn start(ran: &Arc<Ran>, timeline: &Timeline) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let samples = Arc::new(Mutex::new(Vec::new()));
        let (stopped, ran, timeline, taken) = (stop.clone(), ran.clone(), timeline.clone(), samples.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if !timeline.is_paused() {
                    let total = ran.total();
                    taken.lock().unwrap_or_else(PoisonError::into_inner).push(Sample {
                        at: timeline.now(),
                        uplink_octets: total.uplink_octets,
                        downlink_octets: total.downlink_octets,
                    });
                }
                thread::sleep(SAMPLE_EVERY);
            }
        });
        Self { stop, samples, thread: Some(thread) }
    }

    /// What it has written so far.
    pub(super) fn samples(&self) -> Vec<Sample> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to return; a panic there has been printed.
            let _ = thread.join();
        }
    }
}
