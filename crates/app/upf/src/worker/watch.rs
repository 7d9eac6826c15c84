//! Watches: packets of one session that a client looks at while they are processed.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use arrayvec::ArrayVec;
use causeway_dataplane::{Disposition, Egress, Explanation, Ingress, ReceiveSource};
use causeway_model::RuleSet;
use causeway_packet::{BATCH, Batch, Frame, Meta};
use causeway_ports::PortError;
use causeway_types::{IpNet, Teid, Time};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::context::WorkerContext;
use super::session_keys::{SessionKey, keys_of_pdrs};

/// Maximum number of watches at a time.
pub(crate) const WATCHES: usize = 8;

/// Maximum number of packets that one thread observes in one window; further ones are processed like all others.
const PACKETS_PER_WINDOW: u32 = 200;

/// The length of a window, in nanoseconds.
const WINDOW: u64 = 100_000_000;

/// Maximum number of observations that wait for one client. Further ones are lost to it, and counted.
const QUEUE: usize = 1024;

/// The packets that a watch concerns: those to the local tunnels of a session, and those from a data network to its UE.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct WatchKeys {
    tunnels: Vec<(IpAddr, Teid)>,
    ues: Vec<IpNet>,
}

impl WatchKeys {
    /// The keys of the packets to which these rules apply.
    pub(crate) fn of_rules(rules: &RuleSet) -> Self {
        let mut keys = Self::default();
        for key in keys_of_pdrs(rules.pdrs.values()) {
            match key {
                SessionKey::Tunnel(local, teid) => keys.tunnels.push((local, teid)),
                SessionKey::Ue(net) => keys.ues.push(net),
                SessionKey::Remote(..) => {}
            }
        }
        keys
    }

    /// No packet has one of them: packets of Ethernet sessions are not watched.
    pub(crate) fn is_empty(&self) -> bool {
        self.tunnels.is_empty() && self.ues.is_empty()
    }

    /// A received frame has one of the keys.
    fn admit(&self, source: ReceiveSource, frame: &Frame<'_>) -> bool {
        match (source, frame.meta) {
            (ReceiveSource::Gtpu, Meta::Gtpu { local, .. }) => {
                let Some([_, _, _, _, teid @ ..]) = frame.data.first_chunk::<8>() else { return false };
                let teid = Teid::new(u32::from_be_bytes(*teid));
                teid.is_some_and(|teid| self.tunnels.contains(&(local, teid)))
            }
            (ReceiveSource::Network(_), _) => {
                destination(frame.data).is_some_and(|ip| self.ues.iter().any(|net| net.contains(&ip)))
            }
            _ => false,
        }
    }
}

/// The destination address of an IP packet.
fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(IpAddr::from(*packet.get(16..)?.first_chunk::<4>()?)),
        6 => Some(IpAddr::from(*packet.get(24..)?.first_chunk::<16>()?)),
        _ => None,
    }
}

/// A packet that was observed, with what the data plane said and did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Observation {
    /// When it was processed.
    pub(crate) time: SystemTime,
    /// Where it was received.
    pub(crate) ingress: Ingress,
    /// Its length from the GTP-U or IP header on, in octets.
    pub(crate) octets: usize,
    /// Its rules, as they were just before it; `None`: the data plane does not explain it.
    pub(crate) explanation: Option<Explanation>,
    /// What became of it.
    pub(crate) disposition: Disposition,
    /// The packets that were sent because of it: where to, and their octets.
    pub(crate) sent: Vec<(Egress, usize)>,
}

/// Packets that a client does not see.
#[derive(Debug, Default)]
pub(crate) struct Missed {
    /// Observations that the full queue of the client did not take.
    lost: AtomicU64,
    /// Packets beyond the rate that a thread observes.
    not_observed: AtomicU64,
}

impl Missed {
    /// The observations that were lost since the last call, and the packets that were not observed.
    pub(crate) fn take(&self) -> (u64, u64) {
        (self.lost.swap(0, Ordering::Relaxed), self.not_observed.swap(0, Ordering::Relaxed))
    }
}

/// A watch, as the packet threads have it. It ends when its receiver is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    keys: WatchKeys,
    queue: mpsc::Sender<Observation>,
    missed: Arc<Missed>,
}

impl Watch {
    /// A watch for packets with these keys, the queue of its observations, and the count of what is not in there.
    pub(crate) fn new(keys: WatchKeys) -> (Self, mpsc::Receiver<Observation>, Arc<Missed>) {
        let (queue, observations) = mpsc::channel(QUEUE);
        let missed = Arc::new(Missed::default());
        (Self { keys, queue, missed: Arc::clone(&missed) }, observations, missed)
    }

    /// The same watch with other keys.
    pub(crate) fn with_keys(&self, keys: WatchKeys) -> Self {
        Self { keys, ..self.clone() }
    }
}

/// The watches of one packet thread.
pub(super) struct Watches {
    watches: ArrayVec<Watch, WATCHES>,
    /// The frames between two observed ones.
    run: Batch,
    /// The number of the present window, and the packets that may still be observed in it.
    window: (u64, u32),
}

impl Watches {
    pub(super) fn new(frame_size: usize) -> Self {
        Self { watches: ArrayVec::new(), run: Batch::with_frame_size(frame_size), window: (0, 0) }
    }

    /// Adds a watch, or replaces the keys of the one with the same queue.
    pub(super) fn put(&mut self, watch: Watch) {
        self.watches.retain(|known| !known.queue.is_closed() && !known.queue.same_channel(&watch.queue));
        // The management server limits their number.
        let _ = self.watches.try_push(watch);
    }

    /// All watches have ended.
    pub(super) fn have_ended(&mut self) -> bool {
        self.watches.retain(|watch| !watch.queue.is_closed());
        self.watches.is_empty()
    }

    /// Processes a batch, the observed frames one by one and those between them together, in order.
    ///
    /// # Errors
    /// [`PortError::Lost`] when a port has failed for good.
    pub(super) fn process(
        &mut self,
        context: &mut WorkerContext,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
    ) -> Result<(), PortError> {
        let chosen: ArrayVec<bool, BATCH> =
            batch.frames().map(|frame| self.choose(now, source, &frame)).collect();
        if !chosen.contains(&true) {
            return context.process(now, source, batch);
        }
        self.run.clear();
        for (frame, is_chosen) in batch.frames().zip(chosen) {
            // A frame that is larger than those of the run is processed alone, too.
            if !is_chosen && self.run.push(frame) {
                continue;
            }
            if !self.run.is_empty() {
                context.process(now, source, &mut self.run)?;
                self.run.clear();
            }
            if !is_chosen && self.run.push(frame) {
                continue;
            }
            let Some(ingress) = context.topology().ingress(source, &frame.meta) else { continue };
            let observation = context.observe(now, ingress, frame.data)?;
            if !is_chosen {
                continue;
            }
            for watch in self.watches.iter().filter(|watch| watch.keys.admit(source, &frame)) {
                if let Err(TrySendError::Full(_)) = watch.queue.try_send(observation.clone()) {
                    watch.missed.lost.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        if self.run.is_empty() { Ok(()) } else { context.process(now, source, &mut self.run) }
    }

    /// A frame is to be observed: a watch concerns it, and the rate admits it.
    fn choose(&mut self, now: Time, source: ReceiveSource, frame: &Frame<'_>) -> bool {
        if !self.watches.iter().any(|watch| watch.keys.admit(source, frame)) {
            return false;
        }
        let window = now.as_nanos() / WINDOW;
        if self.window.0 != window {
            self.window = (window, PACKETS_PER_WINDOW);
        }
        let admits = self.window.1 > 0;
        self.window.1 = self.window.1.saturating_sub(1);
        if !admits {
            for watch in self.watches.iter().filter(|watch| watch.keys.admit(source, frame)) {
                watch.missed.not_observed.fetch_add(1, Ordering::Relaxed);
            }
        }
        admits
    }
}
