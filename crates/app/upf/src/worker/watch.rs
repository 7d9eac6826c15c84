//! Watches: packets of one session that a client looks at while they are processed.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::SystemTime;

use arrayvec::ArrayVec;
use causeway_dataplane::{Disposition, Egress, Explanation, Ingress, ReceiveSource};
use causeway_model::RuleSet;
use causeway_packet::{BATCH, Batch, Frame, Meta};
use causeway_ports::PortError;
use causeway_ports::capture::{Passage, outer_headers};
use causeway_types::{IpNet, Teid, Time};
use tokio::sync::mpsc;

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

/// Maximum number of octets of packets that wait for one client. Further observations are lost to it, and counted.
const QUEUED_OCTETS: usize = 4 << 20;

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
    /// Its octets; `None`: no watch asks for them.
    pub(crate) image: Option<PacketImage>,
    /// Its rules, as they were just before it; `None`: the data plane does not explain it.
    pub(crate) explanation: Option<Explanation>,
    /// What became of it.
    pub(crate) disposition: Disposition,
    /// The packets that were sent because of it.
    pub(crate) sent: Vec<SentPacket>,
}

impl Observation {
    /// The octets of its packets.
    fn stored(&self) -> usize {
        let of = |image: &Option<PacketImage>| image.as_ref().map_or(0, |image| image.data.len());
        of(&self.image) + self.sent.iter().map(|sent| of(&sent.image)).sum::<usize>()
    }
}

/// A packet that was sent because of an observed one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SentPacket {
    /// Where to.
    pub(crate) egress: Egress,
    /// Its length from the GTP-U or IP header on, in octets.
    pub(crate) octets: usize,
    /// Its octets; `None`: no watch asks for them.
    pub(crate) image: Option<PacketImage>,
}

/// A packet from the IP header on; a GTP-U message with IP and UDP headers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PacketImage {
    /// The length of the packet, in octets.
    pub(crate) length: usize,
    /// Its first octets.
    pub(crate) data: Vec<u8>,
}

impl PacketImage {
    /// At most `most` octets of a frame; `None`: zero are asked for, or it is too long for the outer headers.
    pub(super) fn of(passage: Passage, meta: Meta, frame: &[u8], most: usize) -> Option<Self> {
        if most == 0 {
            return None;
        }
        let mut data = outer_headers(passage, meta, frame).ok()?;
        let length = data.len() + frame.len();
        let rest = most.saturating_sub(data.len());
        data.truncate(most);
        data.extend_from_slice(frame.get(..rest).unwrap_or(frame));
        Some(Self { length, data })
    }
}

/// Packets that a client does not see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Missed {
    /// Observations that the full queue of the client did not take.
    pub(crate) lost: u64,
    /// Packets beyond the rate that a thread observes.
    pub(crate) not_observed: u64,
}

impl Missed {
    /// All of them.
    pub(crate) const fn total(self) -> u64 {
        self.lost + self.not_observed
    }
}

/// The count of the same, of packets that were received on one side.
#[derive(Debug, Default)]
struct MissedCount {
    lost: AtomicU64,
    not_observed: AtomicU64,
}

impl MissedCount {
    fn now(&self) -> Missed {
        Missed {
            lost: self.lost.load(Ordering::Relaxed),
            not_observed: self.not_observed.load(Ordering::Relaxed),
        }
    }
}

/// What the packet threads and the client of a watch share beside the queue.
#[derive(Debug, Default)]
struct QueueState {
    /// The octets of the packets that wait.
    octets: AtomicUsize,
    gtpu: MissedCount,
    network: MissedCount,
}

impl QueueState {
    /// The count of packets that are received there.
    fn missed(&self, source: ReceiveSource) -> &MissedCount {
        match source {
            ReceiveSource::Gtpu => &self.gtpu,
            ReceiveSource::Network(_) | ReceiveSource::Ethernet(_) => &self.network,
        }
    }
}

/// The observations of a watch, which lasts as long as this does.
#[derive(Debug)]
pub(crate) struct Observations {
    queue: mpsc::Receiver<Arc<Observation>>,
    state: Arc<QueueState>,
}

impl Observations {
    /// The next one; it does not return while there is none. A call that is cancelled loses none.
    pub(crate) async fn next(&mut self) -> Arc<Observation> {
        match self.queue.recv().await {
            Some(observation) => self.taken(observation),
            // The packet threads have ended.
            None => std::future::pending().await,
        }
    }

    /// Ends the watch. What was observed before waits.
    pub(crate) fn close(&mut self) {
        self.queue.close();
    }

    /// The next one, if it is there already.
    pub(crate) fn waiting(&mut self) -> Option<Arc<Observation>> {
        let observation = self.queue.try_recv().ok()?;
        Some(self.taken(observation))
    }

    fn taken(&self, observation: Arc<Observation>) -> Arc<Observation> {
        self.state.octets.fetch_sub(observation.stored(), Ordering::Relaxed);
        observation
    }

    /// The packets from GTP-U peers that were missed so far, and those from data networks.
    pub(crate) fn missed(&self) -> (Missed, Missed) {
        (self.state.gtpu.now(), self.state.network.now())
    }
}

/// A watch, as the packet threads have it. It ends when its [`Observations`] are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    keys: WatchKeys,
    /// The octets of each packet that are observed; zero: none.
    snaplen: usize,
    queue: mpsc::Sender<Arc<Observation>>,
    state: Arc<QueueState>,
}

impl Watch {
    /// A watch for packets with these keys and up to `snaplen` octets of each, and its observations.
    pub(crate) fn new(keys: WatchKeys, snaplen: usize) -> (Self, Observations) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let state = Arc::<QueueState>::default();
        (Self { keys, snaplen, queue: sender, state: Arc::clone(&state) }, Observations { queue, state })
    }

    /// The same watch with other keys.
    pub(crate) fn with_keys(&self, keys: WatchKeys) -> Self {
        Self { keys, ..self.clone() }
    }

    /// Queues an observation, if it fits.
    fn queue(&self, source: ReceiveSource, observation: &Arc<Observation>) {
        let octets = observation.stored();
        let fits = self.state.octets.fetch_add(octets, Ordering::Relaxed) + octets <= QUEUED_OCTETS;
        if fits && self.queue.try_send(Arc::clone(observation)).is_ok() {
            return;
        }
        self.state.octets.fetch_sub(octets, Ordering::Relaxed);
        if !self.queue.is_closed() {
            self.state.missed(source).lost.fetch_add(1, Ordering::Relaxed);
        }
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
            let own = || self.watches.iter().filter(|watch| watch.keys.admit(source, &frame));
            let snaplen = if is_chosen { own().map(|watch| watch.snaplen).max().unwrap_or(0) } else { 0 };
            let observation = Arc::new(context.observe(now, ingress, frame.data, snaplen)?);
            if is_chosen {
                own().for_each(|watch| watch.queue(source, &observation));
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
                watch.state.missed(source).not_observed.fetch_add(1, Ordering::Relaxed);
            }
        }
        admits
    }
}
