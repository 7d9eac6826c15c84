//! The daemon: startup, threads and shutdown.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use causeway_dataplane::{Capabilities, HostReachability, Topology};
use causeway_n4::ApplyId;
use causeway_ports::Port;
use causeway_ports::netlink::AddressMonitor;
use causeway_ports::udp::SocketSelection;
use causeway_switch::heavy_hitters;
use causeway_types::{IdCipher, NodeId, TeidScheme, WallClock, WallTime};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{info, warn};

use crate::chain::ChainHead;
use crate::clock::{Clock, system};
use crate::config::{Config, Reloaded, Upf};
use crate::control::replication::{ChainInputs, Identity, identity};
use crate::control::{
    self, ControlInputs, ControlWatch, N4Identity, N4InPacketThread, PoolsRefused, Reload, SharedControl,
    SharedSockets, Sockets, Stop,
};
use crate::data_plane_settings::{policies, routing, slices};
use crate::error::{NO_CLASSES, NO_HEAVY_HITTERS, ReloadError, RunError, StartError};
use crate::host_addresses::{GuardedAddress, HostWatch, descriptor, forget};
use crate::management::{Listener, Management, ManagementRequest};
use crate::memory::Budget;
use crate::open::{self, AddressTranslation, ManagementControl};
use crate::owner::{OwnerRequests, Totals};
use crate::watchdog::Watchdog;
use crate::worker::{PortCounters, PortSet, Schedule, WorkerHandle, WorkerSetup};
use crate::worker_setup::worker_setups;

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
    n4_addresses: Vec<SocketAddr>,
    /// The data plane finds application classes.
    finds_classes: bool,
    /// The data plane finds heavy hitters.
    finds_heavy_hitters: bool,
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
        let mut budget = Budget::new(&config.upf)?;
        let receivers = if config.upf.pfcp.accelerate { ports.len().max(1) } else { 1 };
        let n4 = open::n4_sockets(&config.upf, receivers)?;
        let n4_ports = open::n4_ports(&config.upf.pfcp)?;
        let (listeners, access) = open::management_listeners(config)?;
        let advertised = open::advertised_n4_address(&config.upf.pfcp)?;
        let pfcp = n4.iter().take(1).flatten().map(UdpSocket::local_addr).collect::<Result<Vec<_>, _>>()?;
        let listens = listeners.iter().filter_map(Listener::address).collect();
        let (stop, stops) = mpsc::unbounded_channel();
        let (reload, reloads) = mpsc::unbounded_channel();
        let (owner, requests) = OwnerRequests::channel();
        let (ask, asks) = ManagementRequest::channel();
        let (end, ended) = oneshot::channel();
        let (restored, is_restored) = oneshot::channel();
        let policies = policies(&config.upf.forwarding_policy);
        let (routing, slices) = (routing(&config.upf), slices(&config.upf));
        // Another primary of the chain gave the SEIDs and TEIDs, and told SMFs when the UPF started.
        let chain = head.map(|head| {
            let new =
                || Identity { recovery: WallClock::default().at(clock.anchor()).to_ntp(), secret: random() };
            let identity = identity(&head.records).unwrap_or_else(new);
            ChainInputs { head, identity, restored }
        });
        let secret = IdCipher::new(chain.as_ref().map_or_else(random, |chain| chain.identity.secret));
        let teids = TeidScheme::hidden(secret);
        let base = ports.first().map(PortSet::topology).unwrap_or_default();
        let address_monitor = AddressMonitor::open();
        let machine = machine(config, &n4, &mut ports)?;
        let host = HostReachability::clone(&machine.host());
        let neighbours = open::neighbours(&config.upf);
        let firewall = config.upf.firewall.compiled.clone();
        let topology = Topology { routing, policies, slices, teids, host, neighbours, firewall, ..base };
        if config.upf.metrics.qos_flows {
            ports.iter_mut().for_each(PortSet::count_qos_flows);
        }
        let of_n4 = n4_ports.iter().map(|port| PortCounters {
            name: port.name().to_owned(),
            counters: Arc::clone(port.counters()),
            qos_flows: None,
        });
        let counters = ports.iter().flat_map(PortSet::counters).chain(of_n4).collect();
        let mut setups = worker_setups(config, &topology, ports, &budget)?;
        let abilities = setups.first().map(|setup| setup.data_plane.capabilities());
        let capabilities = abilities.unwrap_or_else(Capabilities::default);
        let finds_classes = capabilities.application_classes;
        if config.upf.traffic.classes.model.is_some() && !finds_classes {
            return Err(StartError::NoClasses);
        }
        let of_switch = setups.first().and_then(|setup| setup.data_plane.switch_state());
        let finds_heavy_hitters = of_switch.is_none_or(|switch| heavy_hitters::are_found_by(&switch));
        if config.upf.traffic.heavy_hitters.threshold.is_some() && !finds_heavy_hitters {
            return Err(StartError::NoHeavyHitters);
        }
        let schedules: Vec<Schedule> = setups.iter().map(|setup| setup.schedule).collect();
        let max_sessions = config.upf.max_sessions as usize;
        let node = node_id(config, &pfcp);
        let shared = Arc::new(SharedControl::new());
        let n4 = n4_in_threads(config, (n4, n4_ports), &mut setups, (&shared, clock))?;
        let worker = WorkerHandle::spawn_all(setups, clock, &topology, max_sessions)?;
        info!("data plane `{}`: {}", config.upf.dataplane.word(), describe_capabilities(&capabilities));
        for (number, schedule) in schedules.iter().enumerate() {
            let which = if schedules.len() > 1 { format!(" {number}") } else { String::new() };
            info!("packet thread{which} {schedule}");
        }
        announce(config, &node, &pfcp, &listeners);
        let smfs = open::smf_networks(&config.upf, &pfcp);
        warn_unrestricted_smfs(config, &pfcp);
        let control_watch = ControlWatch::default();
        let watched = std::iter::once(control_watch.watched()).chain(worker.watched());
        let watchdog = Watchdog::start(watched.collect())?;
        let upf = config.upf.clone();
        let start = Arc::new(upf.clone());
        let (config, in_force) = watch::channel(Arc::clone(&start));
        let n4_addresses = pfcp.clone();
        let management = Management {
            started: clock.anchor(),
            control: ask,
            workers: worker.snapshot_client(),
            ports: counters,
            pauses: watchdog.pauses(),
            upf: in_force.clone(),
            owner,
            node_id: node.to_string(),
            streams: Management::stream_permits(),
            watches: Management::watch_permits(),
        };
        let given = ControlInputs {
            upf,
            identity: N4Identity { node, advertised, secret },
            topology,
            capabilities,
            clock,
            wall: Box::new(wall),
            smfs,
            config,
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
        let mut state = control::state_machine(&given, budget.answers());
        budget.settle()?;
        state.limit_memory(budget.sessions());
        info!("memory: {budget}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let run = move || {
            let result = runtime.block_on(control::run(given, state, budget, worker));
            // The owner may have dropped the receiver.
            let _ = end.send(result);
        };
        let control = Some(thread::Builder::new().name("control".into()).spawn(run)?);
        info!("ready");
        Ok(Self {
            pfcp,
            management: listens,
            stop,
            reload,
            requests: Some(requests),
            ended,
            control,
            watch: watchdog,
            start,
            in_force,
            access: Mutex::new(access),
            finds_classes,
            finds_heavy_hitters,
            n4_addresses,
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
        if old.traffic.classes != next.traffic.classes {
            if next.traffic.classes.model.is_some() && !self.finds_classes {
                let key = "upf.traffic.classes.model".to_owned();
                return Err(ReloadError::Refused { key, why: NO_CLASSES.to_owned() });
            }
            // The file may have the same name.
            reloaded.add_file("upf.traffic.classes.model");
        }
        if next.traffic.heavy_hitters.threshold.is_some() && !self.finds_heavy_hitters {
            let key = "upf.traffic.heavy_hitters.threshold".to_owned();
            return Err(ReloadError::Refused { key, why: NO_HEAVY_HITTERS.to_owned() });
        }
        let access = ManagementControl::prepare(&next.management)
            .map_err(|(key, error)| ReloadError::Refused { key: key.to_owned(), why: error.to_string() })?;
        let smfs = open::smf_networks(&next, &self.n4_addresses);
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

/// Creates the watch of the host. Has the N4 and N3 sockets receive from the permitted interfaces.
fn machine(config: &Config, n4: &[Vec<UdpSocket>], ports: &mut [PortSet]) -> Result<HostWatch, StartError> {
    let of_n4 = n4.iter().flatten().map(|socket| Ok((socket.local_addr()?, descriptor(socket)?)));
    let of_n4 = of_n4.collect::<io::Result<_>>()?;
    let of_n3 = ports.iter_mut().flat_map(PortSet::take_sockets).collect();
    let (pfcp, gtpu) = (&config.upf.pfcp.accept_from, &config.upf.gtpu.accept_from);
    let n4_key = ("N4", "upf.pfcp.accept_from", pfcp);
    let mut sockets = GuardedAddress::of(n4_key, SocketSelection::PfcpSession, of_n4);
    let n3_key = ("N3", "upf.gtpu.accept_from", gtpu);
    sockets.extend(GuardedAddress::of(n3_key, SocketSelection::Peer, of_n3));
    let machine = HostWatch::new(config, sockets);
    n4.iter().flatten().for_each(forget);
    Ok(machine)
}

/// The sockets of N4 in each thread that receives it. Packet threads get theirs with `upf.pfcp.accelerate`, the first one the ports as well.
fn n4_in_threads(
    config: &Config,
    (sockets, ports): (Vec<Vec<UdpSocket>>, Vec<Box<dyn Port>>),
    setups: &mut [WorkerSetup<ApplyId>],
    (shared, clock): (&Arc<SharedControl>, Clock),
) -> Result<Vec<SharedSockets>, StartError> {
    let mut ports = Some(ports);
    let (mut all, mut setups) = (Vec::new(), setups.iter_mut());
    for (number, sockets) in sockets.into_iter().enumerate() {
        let ports = ports.take().unwrap_or_default();
        let of_ports = ports.iter().filter_map(|port| port.poll_fd()).map(descriptor);
        let descriptors = sockets.iter().map(descriptor).chain(of_ports).collect::<io::Result<_>>()?;
        let sockets = Sockets::new(sockets, config.upf.offload)?.with_ports(ports);
        let sockets = Arc::new(Mutex::new(sockets));
        if let Some(setup) = setups.next().filter(|_| config.upf.pfcp.accelerate) {
            let ends = (Arc::clone(&sockets), descriptors);
            setup.n4 = Some(Box::new(N4InPacketThread::new(number, Arc::clone(shared), clock, ends)));
        }
        all.push(sockets);
    }
    Ok(all)
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

/// Warns that hosts of the connected networks may act as SMFs when `upf.pfcp.allow` is not set.
fn warn_unrestricted_smfs(config: &Config, pfcp: &[SocketAddr]) {
    if !config.upf.pfcp.allow.is_empty() || pfcp.iter().all(|n4| n4.ip().is_loopback()) {
        return;
    }
    let nets: Vec<String> =
        open::connected(&config.upf.chain, pfcp).iter().map(ToString::to_string).collect();
    let who = if nets.is_empty() { "no network".to_owned() } else { nets.join(", ") };
    warn!("upf.pfcp.allow is not set: any host of {who} may act as an SMF; list the SMFs there");
}

/// The capabilities of the data plane, for the log.
fn describe_capabilities(capabilities: &Capabilities) -> String {
    let named = [
        (capabilities.buffering, "buffering"),
        (capabilities.notification_delay, "notification delay"),
        (capabilities.end_marker, "End Marker"),
        (capabilities.mbr, "MBR"),
        (capabilities.volume_measurement, "volume measurement"),
        (capabilities.pdu_session_container, "PDU Session Container"),
        (capabilities.outer_ipv4, "GTP-U over IPv4"),
        (capabilities.outer_ipv6, "GTP-U over IPv6"),
    ];
    let there: Vec<&str> = named.iter().filter(|(there, _)| *there).map(|(_, name)| *name).collect();
    format!("{}; up to {} sessions", there.join(", "), capabilities.max_sessions)
}

fn announce(config: &Config, node: &NodeId, pfcp: &[SocketAddr], management: &[Listener]) {
    for address in pfcp {
        info!("N4 on {address}, Node ID {node}");
    }
    for smf in &config.upf.pfcp.client.smf {
        info!("association requested from SMF {}", smf.socket());
    }
    for listener in management {
        let scheme = if listener.is_encrypted() { "https" } else { "http" };
        let api = if listener.has_api() { ", management API" } else { "" };
        match (listener.address(), listener.path()) {
            (Some(address), _) => info!("metrics on {scheme}://{address}/metrics{api}"),
            (None, Some(path)) => info!("management API on unix:{}", path.display()),
            (None, None) => {}
        }
    }
}
