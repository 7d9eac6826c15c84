//! Emulated radio access network: gNBs on real N3 sockets, UEs on TUN devices.
//!
//! Packets that the kernel routes into a UE's device are sent by the UE's gNB, in its uplink tunnel. Packets from the UE's
//! downlink tunnel are received on the device. The radio is not emulated: there is neither loss nor delay.

mod open;
mod outlet;
mod state;
mod tunnel;
mod worker;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_packet::gtpu;
use causeway_ports::{Counters, MAX_PORTS, Port, Waker};
use causeway_types::{DualIp, FTeid, Qfi, Teid};

pub use open::{GnbSite, UeSite};
pub use tunnel::{TunnelCounters, UeCounters};

use crate::LabError;
use crate::patience::Patience;
use crate::timeline::Timeline;
use state::State;
use worker::Worker;

/// A gNB, by its place in the list given to [`Ran::start`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct GnbId(pub usize);

/// A UE, by its place in the list given to [`Ran::start`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct UeId(pub usize);

/// A gNB to be emulated.
pub struct Gnb {
    /// Its name in messages and in the timeline.
    pub name: String,
    /// Its N3 address, where downlink tunnels end.
    pub address: IpAddr,
    /// Its N3 port.
    pub port: Box<dyn Port>,
}

/// The user plane of one PDU session as the SMF tells it to a gNB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bearer {
    /// Where the UPF receives the uplink.
    pub uplink: FTeid,
    /// The QoS flow of all uplink packets.
    pub qfi: Qfi,
}

/// What path and tunnel management messages a gNB has received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GnbCounters {
    /// Echo Responses.
    pub echo_responses: u64,
    /// Error Indications: the UPF does not know a tunnel that we send to.
    pub error_indications: u64,
    /// G-PDUs for a tunnel that is not there; each was answered with an Error Indication.
    pub unknown_tunnel: u64,
    /// Datagrams that are no GTP-U, or nothing that a gNB takes.
    pub malformed: u64,
    /// End Markers.
    pub end_markers: u64,
    /// Messages sent: Echo Requests and Responses, Error Indications.
    pub messages_sent: u64,
}

/// Messages of path and tunnel management between all gNBs and the UPF.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SignallingCounters {
    /// From the gNBs.
    pub sent: u64,
    /// To the gNBs: responses, End Markers and Error Indications.
    pub received: u64,
}

/// The running network. It ends when it is dropped.
pub struct Ran {
    shared: Arc<Shared>,
    /// Of all ports, by name: those of the gNBs, then those of the UEs.
    counters: Vec<(String, Arc<Counters>)>,
    thread: Option<JoinHandle<()>>,
}

pub(in crate::ran) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    waker: Waker,
}

impl Ran {
    /// Takes the ports into use. UEs are given by their ports, which carry IP packets.
    ///
    /// # Errors
    /// [`LabError::Missing`] for more ports than one poller serves; [`LabError::Io`].
    pub fn start(gnbs: Vec<Gnb>, ues: Vec<Box<dyn Port>>, timeline: Timeline) -> Result<Self, LabError> {
        if gnbs.len() + ues.len() > MAX_PORTS {
            let message = format!("one network has {MAX_PORTS} gNBs and UEs at most");
            return Err(LabError::Missing(message));
        }
        let state = State::new(gnbs.iter().map(|gnb| (gnb.name.clone(), gnb.address)), ues.len(), timeline);
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            waker: Waker::new().map_err(LabError::io("event descriptor"))?,
        });
        let gnb_ports: Vec<_> = gnbs.into_iter().map(|gnb| gnb.port).collect();
        let counters = gnb_ports.iter().chain(&ues);
        let counters = counters.map(|port| (port.name().to_owned(), Arc::clone(port.counters()))).collect();
        let worker = Worker::new(shared.clone(), gnb_ports, ues);
        let thread = std::thread::Builder::new()
            .name("ran".into())
            .spawn(move || worker.run())
            .map_err(LabError::io("RAN thread"))?;
        Ok(Self { shared, counters, thread: Some(thread) })
    }

    /// Connects a UE to a gNB, which allocates the tunnel for the downlink. Registration and service request
    /// both end so. `None` when there is no such gNB or UE.
    pub fn connect(&self, ue: UeId, gnb: GnbId, bearer: Bearer) -> Option<FTeid> {
        self.lock().connect(ue, gnb, bearer)
    }

    /// The UE goes idle, or is released: its gNB forgets it.
    pub fn disconnect(&self, ue: UeId) {
        self.lock().disconnect(ue);
    }

    /// Moves a UE to another gNB, which allocates a new tunnel. The uplink moves at once. The old tunnel goes on
    /// delivering until its End Marker, as if forwarded over Xn; what arrives in the new tunnel waits for that,
    /// for [`HANDOVER_BUFFER_TIME`] at most. `None` when the UE is not connected or there is no such gNB.
    pub fn hand_over(&self, ue: UeId, to: GnbId) -> Option<FTeid> {
        self.lock().hand_over(ue, to)
    }

    /// Sends an Echo Request and waits for the response. Returns the round trip.
    ///
    /// # Errors
    /// [`LabError::Timeout`].
    pub fn echo(&self, gnb: GnbId, upf: IpAddr, within: Duration) -> Result<Duration, LabError> {
        let before = self.gnb_counters(gnb).echo_responses;
        let start = Instant::now();
        self.lock().queue_echo(gnb, SocketAddr::new(upf, gtpu::PORT));
        self.shared.waker.wake();
        self.wait_until(within, "a GTP-U Echo Response", |state| {
            (state.gnb_counters(gnb).echo_responses > before).then(|| start.elapsed())
        })
    }

    /// What came through a downlink tunnel, also one that is closed by now. Zeros for a tunnel that never was.
    pub fn tunnel(&self, gnb: GnbId, teid: Teid) -> TunnelCounters {
        self.lock().tunnel(gnb, teid)
    }

    /// What a UE has sent and received, over all its tunnels.
    pub fn ue(&self, ue: UeId) -> UeCounters {
        self.lock().ue(ue)
    }

    /// What a gNB has received beside user data.
    pub fn gnb_counters(&self, gnb: GnbId) -> GnbCounters {
        self.lock().gnb_counters(gnb)
    }

    /// The counters of the ports, by name: those of the gNBs, then those of the UEs. What the kernel has dropped at
    /// a port is counted once the network is quiet.
    pub fn port_counters(&self) -> impl Iterator<Item = (&str, &Counters)> {
        self.counters.iter().map(|(name, counters)| (name.as_str(), &**counters))
    }

    /// Ports that can no longer be used, with the reason.
    pub fn lost_ports(&self) -> Vec<String> {
        self.lock().lost_ports.clone()
    }

    /// Sums over all gNBs, user data apart.
    pub fn signalling(&self) -> SignallingCounters {
        self.lock().signalling()
    }

    /// Sums over all UEs.
    pub fn total(&self) -> UeCounters {
        self.lock().total()
    }

    /// Waits until a tunnel's counters satisfy `enough`. Returns them.
    ///
    /// # Errors
    /// [`LabError::Timeout`] with `what`.
    pub fn wait_tunnel(
        &self,
        gnb: GnbId,
        teid: Teid,
        within: Duration,
        what: &str,
        enough: impl Fn(&TunnelCounters) -> bool,
    ) -> Result<TunnelCounters, LabError> {
        self.wait_until(within, what, |state| {
            let counters = state.tunnel(gnb, teid);
            enough(&counters).then_some(counters)
        })
    }

    fn wait_until<T>(
        &self,
        within: Duration,
        what: &str,
        mut look: impl FnMut(&State) -> Option<T>,
    ) -> Result<T, LabError> {
        let mut patience = Patience::new(within);
        let mut state = self.lock();
        loop {
            if let Some(found) = look(&state) {
                return Ok(found);
            }
            let Some(wait) = patience.next_wait() else {
                return Err(LabError::Timeout { what: what.into(), within });
            };
            let waited = self.shared.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.lock()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ran {
    fn drop(&mut self) {
        self.lock().stopping = true;
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            // It has nothing to return; a panic there has been printed.
            let _ = thread.join();
        }
    }
}

/// How long a target gNB holds back the new path for the End Marker of the old one. While the emulator does not run,
/// this time stands still: the End Marker may wait in a socket.
pub const HANDOVER_BUFFER_TIME: Duration = Duration::from_secs(1);

fn fteid(teid: Teid, address: IpAddr) -> FTeid {
    FTeid { teid, addr: DualIp::from(address) }
}
