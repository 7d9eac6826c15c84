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
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::routes::Route;
use crate::config::{N6Mode, Upf};
use crate::open::tun_options;

/// The interval of device checks: a device that was created anew, or went down, has lost its routes.
const REFRESH_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum number of jobs in a batch.
const JOBS_PER_BATCH: usize = 256;

/// A change of kernel routes. `K` identifies a plan.
enum RouteJob<K> {
    /// Routes to add before the plan is applied.
    Announce(K, Vec<Route>),
    Withdraw(Vec<Route>),
}

/// The result of the routes of a plan, with the error.
pub(super) type RouteResult<K> = (K, Result<(), String>);

/// The thread. Dropping the handle removes all routes.
pub(super) struct KernelRoutes<K> {
    jobs: Option<Sender<RouteJob<K>>>,
    results: mpsc::UnboundedReceiver<RouteResult<K>>,
    thread: Option<JoinHandle<()>>,
}

impl<K: Send + 'static> KernelRoutes<K> {
    /// Removes the routes of a former run, and starts the thread if a data network has a TUN device.
    pub(super) fn start(upf: &Upf) -> io::Result<Self> {
        let (jobs, work) = channel();
        let (result_sender, results) = mpsc::unbounded_channel();
        let mut behind_tun = upf.session.iter().filter(|session| session.mode == N6Mode::Tun).peekable();
        if behind_tun.peek().is_none() || upf.remote_switch().is_some() {
            return Ok(Self { jobs: None, results, thread: None });
        }
        let (table, is_used) = (upf.framed_routes.table, behind_tun.any(|it| !it.framed_routes.is_empty()));
        let devices = tun_options(upf);
        let run = move || match Routes::open(table, is_used, devices) {
            Ok(routes) => routes.run(&work, &result_sender),
            Err(error) => {
                warn!("framed routes are refused, their routing table cannot be used: {error}");
                refuse(&work, &result_sender, &error);
            }
        };
        let thread = thread::Builder::new().name("routes".into()).spawn(run)?;
        Ok(Self { jobs: Some(jobs), results, thread: Some(thread) })
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

    fn send_job(&self, job: RouteJob<K>) {
        // It fails only when the thread has panicked; then plans with routes get no response, and SMFs repeat their
        // requests.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }

    /// The next plan whose routes are installed, or failed.
    pub(super) async fn next_result(&mut self) -> RouteResult<K> {
        match self.results.recv().await {
            Some(results) => results,
            None => std::future::pending().await,
        }
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
) {
    for job in work {
        if let RouteJob::Announce(plan, _) = job {
            let _ = result_sender.send((plan, Err(format!("framed routes cannot be installed: {why}"))));
        }
    }
}

/// The state of the thread.
struct Routes {
    table: RouteTable,
    wanted: BTreeSet<Route>,
    devices: Vec<TunOptions>,
    events: LinkEvents,
    looked: Instant,
}

impl Routes {
    fn open(table: u32, is_used: bool, devices: Vec<TunOptions>) -> Result<Self, PortError> {
        let mut own = RouteTable::open(table)?;
        let left = own.clear()?;
        if left > 0 {
            info!("removed {left} framed routes of a former run from table {table}");
        }
        if is_used {
            own.add_rules()?;
            info!("framed routes are in routing table {table}");
        }
        let events = LinkEvents::open()?;
        Ok(Self { table: own, wanted: BTreeSet::new(), devices, events, looked: Instant::now() })
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
        for device in self.devices.iter().filter(|device| changed.has(&device.device)) {
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
