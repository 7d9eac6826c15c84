//! Writes framed routes to the kernel, in a separate thread. The response of a session waits for its routes; other
//! sessions do not wait. The thread also restores the addresses and routes of TUN devices.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{io, mem};

use causeway_ports::PortError;
use causeway_ports::netlink::{Link, LinkEvents, RouteTable};
use causeway_ports::tun::{TunOptions, TunPort};
use causeway_types::IpNet;
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, info, warn};

use super::routes::Route;
use crate::config::{N6Mode, Session, Upf};
use crate::host_networks::{HostNetworks, PoolConflict};
use crate::open::{AddressTranslation, tun_options};

/// The interval of device checks: a device that was created anew, or went down, has lost its routes.
const REFRESH_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum number of jobs in a batch.
const JOBS_PER_BATCH: usize = 256;

/// A change of kernel routes. `K` identifies a plan.
enum RouteJob<K> {
    /// Routes to add before the plan is applied.
    Announce(K, Vec<Route>),
    Withdraw(Vec<Route>),
    /// The pools behind TUN devices are these from now on.
    Pools(Vec<TunOptions>, Vec<Session>, oneshot::Sender<Result<(), PoolsRefused>>),
}

/// Why other pools are not set.
#[derive(Debug)]
pub(crate) struct PoolsRefused {
    /// The pool that is refused.
    pub(crate) subnet: Option<IpNet>,
    pub(crate) why: String,
}

impl From<String> for PoolsRefused {
    fn from(why: String) -> Self {
        Self { subnet: None, why }
    }
}

/// The result of the routes of a plan, with the error.
pub(super) type RouteResult<K> = (K, Result<(), String>);

/// The thread. Dropping the handle removes all routes.
pub(super) struct KernelRoutes<K> {
    jobs: Option<Sender<RouteJob<K>>>,
    thread: Option<JoinHandle<()>>,
}

/// The plans whose routes are installed, or failed.
pub(super) struct RouteResults<K>(mpsc::UnboundedReceiver<RouteResult<K>>);

impl<K> RouteResults<K> {
    /// The next one.
    pub(super) async fn next(&mut self) -> RouteResult<K> {
        match self.0.recv().await {
            Some(results) => results,
            None => std::future::pending().await,
        }
    }
}

impl<K: Send + 'static> KernelRoutes<K> {
    /// Removes the routes of a former run, and starts the thread if a data network has a TUN device.
    pub(super) fn start(upf: &Upf, translation: AddressTranslation) -> io::Result<(Self, RouteResults<K>)> {
        let (jobs, work) = channel();
        let (result_sender, results) = mpsc::unbounded_channel();
        let mut behind_tun = upf.session.iter().filter(|session| session.mode == N6Mode::Tun).peekable();
        if behind_tun.peek().is_none() || upf.remote_switch().is_some() {
            return Ok((Self { jobs: None, thread: None }, RouteResults(results)));
        }
        let (table, is_used) = (upf.framed_routes.table, behind_tun.any(|it| !it.framed_routes.is_empty()));
        let pools = Pools { devices: tun_options(upf), sessions: upf.session.clone(), translation };
        let run = move || match Routes::open(table, is_used, pools) {
            Ok(routes) => routes.run(&work, &result_sender),
            Err(failed) => {
                let (error, pools) = *failed;
                warn!("framed routes are refused, their routing table cannot be used: {error}");
                refuse(&work, &result_sender, &error, pools);
            }
        };
        let thread = thread::Builder::new().name("routes".into()).spawn(run)?;
        Ok((Self { jobs: Some(jobs), thread: Some(thread) }, RouteResults(results)))
    }

    /// Queues the addition of the routes of a plan.
    pub(super) fn announce(&self, plan: K, routes: Vec<Route>) {
        self.send_job(RouteJob::Announce(plan, routes));
    }

    /// Queues the removal of routes.
    pub(super) fn withdraw(&self, routes: Vec<Route>) {
        if !routes.is_empty() {
            self.send_job(RouteJob::Withdraw(routes));
        }
    }

    /// Queues other addresses, routes and address translation of the pools behind the TUN devices. If they cannot be set,
    /// the earlier ones stay, and the result says why. It is closed if no data network has a TUN device.
    pub(super) fn set_pools(&self, upf: &Upf) -> oneshot::Receiver<Result<(), PoolsRefused>> {
        let (reply, result) = oneshot::channel();
        self.send_job(RouteJob::Pools(tun_options(upf), upf.session.clone(), reply));
        result
    }

    fn send_job(&self, job: RouteJob<K>) {
        // It fails only when the thread has panicked; then plans with routes get no response, and SMFs repeat their
        // requests.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }
}

impl<K> Drop for KernelRoutes<K> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = mem::take(&mut self.thread) {
            // A panic there has been written to standard error already.
            let _ = thread.join();
        }
    }
}

fn refuse<K>(
    work: &Receiver<RouteJob<K>>,
    result_sender: &mpsc::UnboundedSender<RouteResult<K>>,
    why: &PortError,
    mut pools: Pools,
) {
    for job in work {
        match job {
            RouteJob::Announce(plan, _) => {
                let _ = result_sender.send((plan, Err(format!("framed routes cannot be installed: {why}"))));
            }
            RouteJob::Pools(devices, sessions, reply) => {
                drop(reply.send(pools.check(&sessions).and_then(|()| pools.set(devices, &sessions))));
            }
            RouteJob::Withdraw(_) => {}
        }
    }
}

/// The pools of the TUN devices in the kernel.
struct Pools {
    devices: Vec<TunOptions>,
    sessions: Vec<Session>,
    translation: AddressTranslation,
}

impl Pools {
    /// Refuses pools that come and would take addresses or routes of the host.
    fn check(&self, sessions: &[Session]) -> Result<(), PoolsRefused> {
        let is_new = |session: &&Session| !self.sessions.iter().any(|known| known.is_same_pool(session));
        let new: Vec<Session> = sessions.iter().filter(is_new).cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        let host = HostNetworks::read(&new).map_err(|error| error.to_string())?;
        let conflict = conflict(&host, &new, || self.sessions.iter().chain(sessions));
        conflict.map_or(Ok(()), |(subnet, conflict)| {
            Err(PoolsRefused { subnet: Some(subnet), why: conflict.to_string() })
        })
    }

    /// Sets other pools; after an error, the earlier ones are set.
    fn set(&mut self, devices: Vec<TunOptions>, sessions: &[Session]) -> Result<(), PoolsRefused> {
        let earlier = |name: &str| self.devices.iter().find(|device| device.device == name);
        for device in &devices {
            let before = earlier(&device.device).unwrap_or(device);
            if let Err(error) = TunPort::change(before, device) {
                self.restore(&devices);
                return Err(error.to_string().into());
            }
        }
        // A device without pools keeps its port, and loses its addresses.
        let is_gone = |device: &&TunOptions| !devices.iter().any(|it| it.device == device.device);
        let bare: Vec<TunOptions> = self
            .devices
            .iter()
            .filter(is_gone)
            .map(|device| TunOptions { addresses: Vec::new(), routes: Vec::new(), ..device.clone() })
            .collect();
        for device in &bare {
            let before = earlier(&device.device).unwrap_or(device);
            if let Err(error) = TunPort::change(before, device) {
                warn!("addresses and routes of {}: {error}", device.device);
            }
        }
        if let Err(error) = self.translation.follow(sessions) {
            self.restore(&devices);
            return Err(error.to_string().into());
        }
        self.sessions = sessions.to_vec();
        self.devices = devices.into_iter().chain(bare).collect();
        Ok(())
    }

    fn restore(&self, instead: &[TunOptions]) {
        for device in &self.devices {
            let tried = instead.iter().find(|it| it.device == device.device).unwrap_or(device);
            if let Err(error) = TunPort::change(tried, device) {
                warn!("addresses and routes of {}: {error}", device.device);
            }
        }
    }
}

/// The first of new pools that would take something from the host, and what. `all`: the earlier pools and the next ones.
fn conflict<'a, A: Iterator<Item = &'a Session>>(
    host: &HostNetworks,
    new: &[Session],
    all: impl Fn() -> A,
) -> Option<(IpNet, PoolConflict)> {
    // A pool may move from one TUN device to another: both have it until its addresses are released. An interface of mode af_xdp
    // has the addresses of the host.
    let is_own = |name: &str| all().any(|session| session.mode == N6Mode::Tun && session.dev == name);
    new.iter().find_map(|session| Some((session.subnet, host.conflict(session, is_own)?)))
}

/// The state of the thread.
struct Routes {
    table: RouteTable,
    wanted: BTreeSet<Route>,
    pools: Pools,
    /// The routing table is consulted.
    has_rules: bool,
    events: LinkEvents,
    looked: Instant,
}

impl Routes {
    fn open(table: u32, is_used: bool, pools: Pools) -> Result<Self, Box<(PortError, Pools)>> {
        match Self::open_table(table, is_used) {
            Ok((own, events)) => {
                let looked = Instant::now();
                Ok(Self { table: own, wanted: BTreeSet::new(), pools, has_rules: is_used, events, looked })
            }
            Err(error) => Err(Box::new((error, pools))),
        }
    }

    fn open_table(table: u32, is_used: bool) -> Result<(RouteTable, LinkEvents), PortError> {
        let mut own = RouteTable::open(table)?;
        let left = own.clear()?;
        if left > 0 {
            info!("removed {left} framed routes of a former run from table {table}");
        }
        if is_used {
            own.add_rules()?;
            info!("framed routes are in routing table {table}");
        }
        Ok((own, LinkEvents::open()?))
    }

    /// Has the kernel consult the routing table, if a pool has ranges of framed routes for the first time.
    fn add_rules(&mut self, sessions: &[Session]) -> Result<(), String> {
        if !self.has_rules && sessions.iter().any(|session| !session.framed_routes.is_empty()) {
            self.table.add_rules().map_err(|error| error.to_string())?;
            self.has_rules = true;
        }
        Ok(())
    }

    fn run<K>(mut self, work: &Receiver<RouteJob<K>>, result_sender: &mpsc::UnboundedSender<RouteResult<K>>) {
        loop {
            match work.recv_timeout(REFRESH_INTERVAL) {
                Ok(job) => {
                    let more = work.try_iter().take(JOBS_PER_BATCH - 1);
                    let jobs: Vec<RouteJob<K>> = [job].into_iter().chain(more).collect();
                    self.run_jobs(jobs, result_sender);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.looked.elapsed() >= REFRESH_INTERVAL {
                self.looked = Instant::now();
                self.refresh();
            }
        }
        if let Err(error) = self.table.clear() {
            warn!("framed routes cannot be removed: {error}");
        }
    }

    /// Executes the jobs in order; consecutive jobs of one kind are a batch.
    fn run_jobs<K>(&mut self, jobs: Vec<RouteJob<K>>, result_sender: &mpsc::UnboundedSender<RouteResult<K>>) {
        let mut jobs = jobs.into_iter().peekable();
        while let Some(job) = jobs.next() {
            match job {
                RouteJob::Announce(plan, routes) => {
                    let mut plans = vec![(plan, routes)];
                    while let Some(RouteJob::Announce(plan, routes)) =
                        jobs.next_if(|next| matches!(next, RouteJob::Announce(..)))
                    {
                        plans.push((plan, routes));
                    }
                    self.announce(plans, result_sender);
                }
                RouteJob::Withdraw(mut routes) => {
                    while let Some(RouteJob::Withdraw(more)) =
                        jobs.next_if(|next| matches!(next, RouteJob::Withdraw(_)))
                    {
                        routes.extend(more);
                    }
                    self.withdraw(&routes);
                }
                RouteJob::Pools(devices, sessions, reply) => {
                    // The daemon may have ended.
                    let checked = self.pools.check(&sessions);
                    let ready = checked.and_then(|()| Ok(self.add_rules(&sessions)?));
                    let _ = reply.send(ready.and_then(|()| self.pools.set(devices, &sessions)));
                }
            }
        }
    }

    fn announce<K>(
        &mut self,
        plans: Vec<(K, Vec<Route>)>,
        result_sender: &mpsc::UnboundedSender<RouteResult<K>>,
    ) {
        let all: Vec<Route> = plans.iter().flat_map(|(_, routes)| routes.iter().cloned()).collect();
        let mut results = self.add(&all).into_iter();
        for (plan, routes) in plans {
            let of_plan: Vec<_> = results.by_ref().take(routes.len()).collect();
            let failed = of_plan.into_iter().find_map(Result::err);
            if failed.is_none() {
                debug!("framed routes: {routes:?}");
                self.wanted.extend(routes);
            }
            // It fails only at the end of the daemon.
            let _ = result_sender.send((plan, failed.map_or(Ok(()), Err)));
        }
    }

    /// Adds the routes whose device exists; the others are added when their device appears.
    fn add(&mut self, routes: &[Route]) -> Vec<Result<(), String>> {
        let links = match self.table.netlink().links() {
            Ok(links) => links,
            Err(error) => return routes.iter().map(|_| Err(error.to_string())).collect(),
        };
        let indices: Vec<Option<u32>> = routes.iter().map(|(_, device)| index(&links, device)).collect();
        let ready: Vec<(IpNet, u32)> =
            routes.iter().zip(&indices).filter_map(|((net, _), link)| Some((*net, (*link)?))).collect();
        match self.table.add(&ready) {
            Ok(results) => {
                let mut results = results.into_iter();
                let result = |link: &Option<u32>| match link.and_then(|_| results.next()) {
                    Some(Err(error)) if !error.is_link_error() => Err(error.to_string()),
                    _ => Ok(()),
                };
                indices.iter().map(result).collect()
            }
            Err(error) => routes.iter().map(|_| Err(error.to_string())).collect(),
        }
    }

    fn withdraw(&mut self, routes: &[Route]) {
        for route in routes {
            self.wanted.remove(route);
        }
        let removed = self.table.netlink().links().and_then(|links| {
            let there = routes.iter().filter_map(|(net, device)| Some((*net, index(&links, device)?)));
            self.table.remove(&there.collect::<Vec<_>>())
        });
        match removed {
            Ok(results) => {
                let failed =
                    results.into_iter().filter_map(Result::err).filter(|error| !error.is_link_error());
                failed.for_each(|error| warn!("framed route: {error}"));
            }
            Err(error) => warn!("framed routes: {error}"),
        }
    }

    /// Restores the addresses and routes of devices that were created anew, or went down and up.
    fn refresh(&mut self) {
        let changed = match self.events.changed() {
            Ok(changed) => changed,
            Err(error) => return warn!("framed routes: {error}"),
        };
        for device in self.pools.devices.iter().filter(|device| changed.has(&device.device)) {
            if let Err(error) = TunPort::restore(device) {
                warn!("addresses and routes of {}: {error}", device.device);
            }
        }
        let lost: Vec<Route> =
            self.wanted.iter().filter(|(_, device)| changed.has(device)).cloned().collect();
        if lost.is_empty() {
            return;
        }
        let failed = self.add(&lost).into_iter().filter_map(Result::err);
        failed.for_each(|error| warn!("framed route: {error}"));
        debug!("{} framed routes restored on devices that are up", lost.len());
    }
}

/// The device, while it is up.
fn index(links: &[Link], device: &str) -> Option<u32> {
    links.iter().find(|link| link.name == device && link.up).map(|link| link.index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(subnet: &str, mode: N6Mode, dev: &str) -> Session {
        Session { subnet: subnet.parse().unwrap(), dev: dev.into(), mode, ..Session::default() }
    }

    // Input:  a host whose interface eth1, with an address, carries a pool by AF_XDP, and whose TUN device n6 has the gateway of another
    //         pool; a pool that comes on the TUN device n7: around the address of eth1, in the place of that of n6, elsewhere.
    // Output: the first one is refused, as at the start; a pool may move from one TUN device to another.
    #[test]
    fn a_pool_that_comes_takes_no_address_of_the_host() {
        let link = |index, name: &str| Link { index, name: name.into(), ..Link::default() };
        let addresses = [(1, "192.0.2.9/24"), (2, "10.45.0.1/16")];
        let host = HostNetworks {
            links: vec![link(1, "eth1"), link(2, "n6"), link(3, "n7")],
            addresses: addresses.map(|(index, net)| (index, net.parse().unwrap())).into(),
            routes: Vec::new(),
        };
        let known = [pool("10.46.0.0/16", N6Mode::AfXdp, "eth1"), pool("10.45.0.0/16", N6Mode::Tun, "n6")];
        for (subnet, expected) in [
            ("192.0.2.0/25", Some("192.0.2.0/25 overlaps 192.0.2.9/24 of eth1")),
            ("10.45.0.0/16", None),
            ("10.47.0.0/16", None),
        ] {
            let new = [pool(subnet, N6Mode::Tun, "n7")];
            let found = conflict(&host, &new, || known.iter().chain(&new));
            assert_eq!(found.map(|(_, conflict)| conflict.state()).as_deref(), expected);
        }
    }
}
