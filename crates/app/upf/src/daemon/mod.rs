//! The daemon: startup, threads and shutdown.

mod abilities;
mod announce;
mod open_n4;
mod opened;
mod packet_threads;

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use causeway_dataplane::{HostReachability, Topology};
use causeway_n4::ApplyId;
use causeway_types::{IdCipher, NodeId, TeidScheme, WallClock, WallTime};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{info, warn};

use crate::chain::ChainHead;
use crate::clock::{Clock, system};
use crate::config::{Config, Reloaded, Upf};
use crate::control::replication::{ChainInputs, Identity, identity};
use crate::control::{self, ControlInputs, ControlWatch, N4Identity, PoolsRefused, Reload, Stop};
use crate::data_plane_settings::{policies, routing, slices};
use crate::error::{ReloadError, RunError, StartError};
use crate::host_addresses::HostWatch;
use crate::management::{Listener, Management, ManagementRequest};
use crate::memory::Budget;
use crate::open::{self, AddressTranslation, ManagementControl};
use crate::owner::{OwnerRequests, Totals};
use crate::watchdog::Watchdog;
use crate::worker::{PortSet, WorkerHandle};
use abilities::Abilities;
use opened::Opened;
use packet_threads::PacketThreads;

/// A running UPF. Dropping it stops the UPF immediately.
#[derive(Debug)]
pub struct Daemon {
    pfcp: Vec<SocketAddr>,
    management: Vec<SocketAddr>,
    stop: mpsc::UnboundedSender<Stop>,
    reload: mpsc::UnboundedSender<Reload>,
    requests: Option<OwnerRequests>,
    ended: oneshot::Receiver<Result<Totals, RunError>>,
    control: Option<JoinHandle<()>>,
    watch: Watchdog,
    /// The configuration that it was started with, and that in force.
    start: Arc<Upf>,
    in_force: watch::Receiver<Arc<Upf>>,
    access: Mutex<ManagementControl>,
    abilities: Abilities,
    restored: Option<oneshot::Receiver<()>>,
}

impl Daemon {
    /// Opens the configured sockets and devices in the network namespace of the calling thread, and starts the threads.
    ///
    /// # Errors
    /// The item that cannot be opened, with its key and the remedy. No socket or device stays open.
    pub fn start(config: &Config) -> Result<Self, StartError> {
        Self::start_or_continue(config, None)
    }

    /// The same; the primary of a chain has the state of the earlier one.
    pub(crate) fn start_or_continue(config: &Config, head: Option<ChainHead>) -> Result<Self, StartError> {
        let ports = open::ports(config)?;
        for advice in open::forwarding_advice(&config.upf) {
            warn!("{advice}");
        }
        let translation = open::address_translation(&config.upf)?;
        Self::start_all(config, ports, (translation, head), system)
    }

    /// Waits until the sessions of an earlier primary are in the data plane.
    pub(crate) fn restored(&mut self) -> impl Future<Output = ()> + use<> {
        let restored = self.restored.take();
        async {
            if let Some(restored) = restored {
                // Without a sender there are none, or the daemon has ended.
                let _ = restored.await;
            }
        }
    }

    /// The configuration in force, also after the end.
    pub(crate) fn in_force(&self) -> watch::Receiver<Arc<Upf>> {
        self.in_force.clone()
    }

    /// Starts with packet ports that the caller opened, one set for each worker: for example [`open::gtpu_ports`] with
    /// a memory port as data network.
    ///
    /// # Errors
    /// As for [`Daemon::start`].
    pub fn start_with(config: &Config, ports: Vec<PortSet>) -> Result<Self, StartError> {
        Self::start_by(config, ports, system)
    }

    /// Like [`Daemon::start_with`], with another wall clock than that of the system. The clock may be set at any time.
    ///
    /// # Errors
    /// As for [`Daemon::start`].
    pub fn start_by(
        config: &Config,
        ports: Vec<PortSet>,
        wall: impl Fn() -> WallTime + Send + 'static,
    ) -> Result<Self, StartError> {
        Self::start_all(config, ports, (AddressTranslation::default(), None), wall)
    }

    fn start_all(
        config: &Config,
        mut ports: Vec<PortSet>,
        (translation, head): (AddressTranslation, Option<ChainHead>),
        wall: impl Fn() -> WallTime + Send + 'static,
    ) -> Result<Self, StartError> {
        let clock = Clock::counting_from(wall());
        let budget = Budget::new(&config.upf, ports.len())?;
        let opened = Opened::open(config, &mut ports)?;
        let Opened { n4, pfcp, advertised, listeners, access, address_monitor, machine } = opened;
        let (restored, is_restored) = oneshot::channel();
        let chain = head.map(|head| chain(head, clock, restored));
        let secret = IdCipher::new(chain.as_ref().map_or_else(random, |chain| chain.identity.secret));
        let topology = topology(config, &ports, secret, &machine);
        let started = PacketThreads::start(config, &topology, ports, n4, (&budget, clock))?;
        let PacketThreads { worker, abilities, n4, shared, counters } = started;
        let identity = N4Identity { node: node_id(config, &pfcp), advertised, secret };
        announce::addresses(config, &identity.node, &pfcp, &listeners);
        announce::unrestricted_smfs(config, &pfcp);
        let control_watch = ControlWatch::default();
        let watched = std::iter::once(control_watch.watched()).chain(worker.watched());
        let watch = Watchdog::start(watched.collect())?;
        let management_addresses = listeners.iter().filter_map(Listener::address).collect();
        let (stop, stops) = mpsc::unbounded_channel();
        let (reload, reloads) = mpsc::unbounded_channel();
        let (owner, requests) = OwnerRequests::channel();
        let (ask, asks) = ManagementRequest::channel();
        let start = Arc::new(config.upf.clone());
        let (in_force_sender, in_force) = watch::channel(Arc::clone(&start));
        let management = Management {
            started: clock.anchor(),
            control: ask,
            workers: worker.snapshot_client(),
            ports: counters,
            pauses: watch.pauses(),
            upf: in_force.clone(),
            owner,
            node_id: identity.node.to_string(),
            streams: Management::stream_permits(),
            watches: Management::watch_permits(),
        };
        let given = ControlInputs {
            upf: config.upf.clone(),
            identity,
            topology,
            capabilities: abilities.capabilities(),
            clock,
            wall: Box::new(wall),
            smfs: open::smf_networks(&config.upf, &pfcp),
            config: in_force_sender,
            translation,
            n4,
            shared,
            machine,
            address_monitor,
            management: (listeners, management),
            asks,
            stops,
            reloads,
            control_watch,
            chain,
        };
        let (control, ended) = spawn_control(given, budget, worker)?;
        info!("ready");
        Ok(Self {
            pfcp,
            management: management_addresses,
            stop,
            reload,
            requests: Some(requests),
            ended,
            control: Some(control),
            watch,
            start,
            in_force,
            access: Mutex::new(access),
            abilities,
            restored: Some(is_restored),
        })
    }

    /// The N4 addresses of the UPF.
    pub fn pfcp_addresses(&self) -> &[SocketAddr] {
        &self.pfcp
    }

    /// The TCP addresses of the management server, those of metrics first.
    pub fn management_addresses(&self) -> &[SocketAddr] {
        &self.management
    }

    /// The longest current time without a heartbeat, over the control thread and the packet threads. Each is polled
    /// four times a second.
    pub fn longest_unresponsive(&self) -> Duration {
        self.watch.pauses().iter().map(|pauses| pauses.now()).max().unwrap_or_default()
    }

    /// Applies the keys of a new configuration that a running UPF follows ([`Key::live`](crate::config::Key::live)).
    /// Sessions, associations and packets are not touched.
    ///
    /// An SMF that may not set up an association any more keeps the one it has until that ends. A UE address pool that
    /// goes is drained: sessions keep their addresses, and the pool goes with the last of them. The files of tokens and
    /// certificates are read again, also if their names are the same; new connections use them.
    ///
    /// # Errors
    /// What cannot be put into force, with its key. Nothing has changed then.
    pub async fn reload(&self, upf: Upf) -> Result<Reloaded, ReloadError> {
        let old = Arc::clone(&self.in_force.borrow());
        let next = old.with_live_keys(&upf, &self.start);
        let mut reloaded = Reloaded::new(&old, &next, &upf);
        self.abilities.check_reload(&next)?;
        if old.traffic.classes != next.traffic.classes {
            // The file may have the same name.
            reloaded.add_file("upf.traffic.classes.model");
        }
        let access = ManagementControl::prepare(&next.management)
            .map_err(|(key, error)| ReloadError::Refused { key: key.to_owned(), why: error.to_string() })?;
        let smfs = open::smf_networks(&next, &self.pfcp);
        let neighbours = open::neighbours(&next);
        let next = Arc::new(next);
        if old.session != next.session {
            let set = self.ask_control(|reply| Reload::Pools { upf: Arc::clone(&next), reply }).await?;
            // Closed: there is nothing to set.
            let set = set.await.unwrap_or(Ok(()));
            set.map_err(|PoolsRefused { subnet, why }| {
                let place = upf.session.iter().position(|session| Some(session.subnet) == subnet);
                let key = place.map_or("upf.session".to_owned(), |n| format!("upf.session[{n}].subnet"));
                ReloadError::Refused { key, why }
            })?;
        }
        self.ask_control(|reply| Reload::Apply { upf: next, smfs, neighbours, reply }).await?;
        let files = self.access.lock().unwrap_or_else(PoisonError::into_inner).apply(access);
        files.into_iter().for_each(|key| reloaded.add_file(key));
        Ok(reloaded)
    }

    async fn ask_control<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Reload) -> Result<T, ReloadError> {
        let (reply, answer) = oneshot::channel();
        self.reload.send(ask(reply)).map_err(|_| ReloadError::Ended)?;
        answer.await.map_err(|_| ReloadError::Ended)
    }

    /// The requests of operators to the owner of the daemon; `None` from the second call on. Until an owner takes them,
    /// such requests fail after a time.
    pub fn owner_requests(&mut self) -> Option<OwnerRequests> {
        self.requests.take()
    }

    /// Requests a graceful stop: associations are released first.
    pub fn stop(&self) {
        // It fails only after the end.
        let _ = self.stop.send(Stop::Graceful);
    }

    /// Requests an immediate stop.
    pub fn stop_now(&self) {
        let _ = self.stop.send(Stop::Now);
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// The failure that ended the daemon without a request.
    pub async fn ended(&mut self) -> Result<Totals, RunError> {
        (&mut self.ended).await.unwrap_or(Err(RunError::Panicked("control")))
    }

    /// Waits for the end, in the calling thread.
    ///
    /// # Errors
    /// As for [`Daemon::ended`].
    pub fn wait(mut self) -> Result<Totals, RunError> {
        let (_, instead) = oneshot::channel();
        let ended = std::mem::replace(&mut self.ended, instead);
        ended.blocking_recv().unwrap_or(Err(RunError::Panicked("control")))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop_now();
        if let Some(control) = self.control.take() {
            // A panic there has been written to standard error already.
            let _ = control.join();
        }
    }
}

/// The chain whose primary this is, with the state of the earlier one.
fn chain(head: ChainHead, clock: Clock, restored: oneshot::Sender<()>) -> ChainInputs {
    // Another primary of the chain gave the SEIDs and TEIDs, and told SMFs when the UPF started.
    let new = || Identity { recovery: WallClock::default().at(clock.anchor()).to_ntp(), secret: random() };
    let identity = identity(&head.records).unwrap_or_else(new);
    ChainInputs { head, identity, restored }
}

/// The topology of the data plane at the start.
fn topology(config: &Config, ports: &[PortSet], secret: IdCipher, machine: &HostWatch) -> Topology {
    Topology {
        routing: routing(&config.upf),
        policies: policies(&config.upf.forwarding_policy),
        slices: slices(&config.upf),
        teids: TeidScheme::hidden(secret),
        host: HostReachability::clone(&machine.host()),
        neighbours: open::neighbours(&config.upf),
        firewall: config.upf.firewall.compiled.clone(),
        ..ports.first().map(PortSet::topology).unwrap_or_default()
    }
}

/// How the control thread ends.
type ControlEnd = oneshot::Receiver<Result<Totals, RunError>>;

/// Starts the control thread with an N4 that has as much memory as is left.
fn spawn_control(
    given: ControlInputs,
    mut budget: Budget,
    worker: WorkerHandle<ApplyId>,
) -> Result<(JoinHandle<()>, ControlEnd), StartError> {
    let mut n4 = control::state_machine(&given, budget.answers());
    budget.settle()?;
    n4.limit_memory(budget.sessions());
    info!("memory: {budget}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (end, ended) = oneshot::channel();
    let run = move || {
        let result = runtime.block_on(control::run(given, n4, budget, worker));
        // The owner may have dropped the receiver.
        let _ = end.send(result);
    };
    Ok((thread::Builder::new().name("control".into()).spawn(run)?, ended))
}

/// 192 unpredictable bits, from the random keys of the standard library's hash tables.
fn random() -> [u64; 3] {
    [(); 3].map(|()| RandomState::new().hash_one(0))
}

/// The configured Node ID, or the first N4 address.
fn node_id(config: &Config, pfcp: &[SocketAddr]) -> NodeId {
    let first = || NodeId::Ip(pfcp.first().map_or(crate::config::DEFAULT_ADDRESS, SocketAddr::ip));
    config.upf.node_id.clone().unwrap_or_else(first)
}
