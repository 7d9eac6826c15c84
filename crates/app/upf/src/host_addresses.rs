//! The host addresses that UEs cannot reach, and the interfaces that accept N4 and N3.
//!
//! Both follow the kernel's interfaces and addresses. A kernel accepts a packet to a local address on any interface
//! (RFC 1122 clause 3.3.4.2, the weak model), so that hosts of a data network would reach N4 and N3 as well.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use causeway_dataplane::HostReachability;
use causeway_ports::PortError;
use causeway_ports::netlink::{AddressMonitor, Link, Netlink};
use causeway_ports::udp::{InterfaceFilter, InterfaceGuard, SocketSelection};
use causeway_types::IpNet;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

use crate::config::{AcceptFrom, Config, HostAddresses, N6Mode};

/// Changes of interfaces and addresses come in groups: the delay from the first notification to the reading.
const PAUSE: Duration = Duration::from_millis(100);

/// The sockets of an address that accept datagrams from some interfaces.
#[derive(Debug)]
pub(crate) struct GuardedAddress {
    /// The name for the log.
    pub(crate) what: &'static str,
    /// The configuration key.
    pub(crate) key: &'static str,
    pub(crate) local: SocketAddr,
    pub(crate) accept: AcceptFrom,
    /// What drops datagrams of other interfaces; `None`: nothing.
    guard: Option<InterfaceGuard>,
    /// The filter that is set in the kernel.
    arrivals: Option<InterfaceFilter>,
}

impl GuardedAddress {
    /// The addresses of these sockets, which are all there are of each, in the order in which they were bound.
    pub(crate) fn of(
        (what, key, accept): (&'static str, &'static str, &AcceptFrom),
        selection: SocketSelection,
        sockets: Vec<(SocketAddr, OwnedFd)>,
    ) -> Vec<Self> {
        let mut by_address: BTreeMap<SocketAddr, Vec<OwnedFd>> = BTreeMap::new();
        for (local, socket) in sockets {
            by_address.entry(local).or_default().push(socket);
        }
        let guarded = |(local, sockets): (SocketAddr, Vec<OwnedFd>)| {
            let new = || InterfaceGuard::new(local, &sockets, selection);
            let guard = (*accept != AcceptFrom::Any).then(new).transpose();
            let guard = guard.unwrap_or_else(|error| {
                warn!("{what} on {local} accepts any interface: {error} (set {key} to any to permit it)");
                None
            });
            Self { what, key, local, accept: accept.clone(), guard, arrivals: None }
        };
        by_address.into_iter().map(guarded).collect()
    }
}

/// Datagrams that came by other interfaces than those that are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RefusedDatagrams {
    /// `N4` or `N3`.
    pub(crate) what: &'static str,
    /// The configuration key.
    pub(crate) key: &'static str,
    pub(crate) count: u64,
}

/// Follows the interfaces and addresses of the host.
#[derive(Debug)]
pub(crate) struct HostWatch {
    sockets: Vec<GuardedAddress>,
    /// The TUN and TAP devices of the data networks.
    devices: Vec<String>,
    /// The interfaces in the configuration.
    interfaces: BTreeSet<String>,
    /// Addresses in the configuration.
    named: Vec<IpNet>,
    asks_kernel: bool,
    /// The interfaces of the UPF that exist, and whether each is up.
    links: BTreeMap<String, bool>,
    reachable: Vec<IpNet>,
    host: Arc<HostReachability>,
}

/// What the kernel says.
struct HostSnapshot {
    links: Vec<Link>,
    addresses: Vec<(u32, IpNet)>,
    local: Vec<IpNet>,
}

impl HostSnapshot {
    fn now() -> Result<Self, PortError> {
        let mut netlink = Netlink::open()?;
        let (links, addresses) = (netlink.links()?, netlink.addresses()?);
        Ok(Self { links, addresses, local: netlink.local_prefixes()? })
    }

    fn index(&self, name: &str) -> Option<u32> {
        self.links.iter().find(|link| link.name == name).map(|link| link.index)
    }

    fn name(&self, index: u32) -> String {
        let link = self.links.iter().find(|link| link.index == index);
        link.map_or_else(|| index.to_string(), |link| link.name.clone())
    }

    /// The interfaces from which datagrams to this address are accepted.
    fn arrivals(&self, address: IpAddr, accept: &AcceptFrom, devices: &[String]) -> InterfaceFilter {
        let sorted = |mut indices: Vec<u32>| {
            indices.sort_unstable();
            indices.dedup();
            indices
        };
        match accept {
            AcceptFrom::Any => InterfaceFilter::Any,
            AcceptFrom::Only(names) => {
                InterfaceFilter::Only(sorted(names.iter().filter_map(|name| self.index(name)).collect()))
            }
            AcceptFrom::Auto => {
                let has_it = |link: &&Link| {
                    self.addresses.iter().any(|(index, net)| *index == link.index && net.addr() == address)
                };
                let owners: Vec<&Link> = self.links.iter().filter(has_it).collect();
                if !address.is_loopback()
                    && owners.iter().all(|link| link.is_local_only || link.name == crate::chain::DEVICE)
                {
                    let uplinks = devices.iter().filter_map(|name| self.index(name));
                    return InterfaceFilter::Not(sorted(uplinks.collect()));
                }
                // Packets from this host to itself arrive on its loopback interface.
                let inside = self.links.iter().filter(|link| link.is_local_only && link.name == "lo");
                let owners = owners.iter().flat_map(|link| [Some(link.index), link.controller]).flatten();
                InterfaceFilter::Only(sorted(owners.chain(inside.map(|link| link.index)).collect()))
            }
        }
    }

    fn shown(&self, arrivals: &InterfaceFilter) -> String {
        let names =
            |indices: &[u32]| indices.iter().map(|index| self.name(*index)).collect::<Vec<_>>().join(", ");
        match arrivals {
            InterfaceFilter::Any => "any interface".to_owned(),
            InterfaceFilter::Only(indices) => names(indices),
            InterfaceFilter::Not(indices) if indices.is_empty() => "any interface".to_owned(),
            InterfaceFilter::Not(indices) => format!("any interface but {}", names(indices)),
        }
    }
}

impl HostWatch {
    /// Starts with the configuration and the sockets of N4 and N3, and reads the kernel's state for the first time.
    pub(crate) fn new(config: &Config, sockets: Vec<GuardedAddress>) -> Self {
        let upf = &config.upf;
        let tuns =
            upf.session.iter().filter(|session| session.mode == N6Mode::Tun).map(|session| &session.dev);
        let taps = upf.ethernet.iter().map(|network| &network.dev);
        let metrics = upf.metrics.server.iter().map(|server| server.address);
        let metrics = metrics.chain(upf.management.server.iter().map(|server| server.address));
        let gtpu = upf.gtpu.server.iter().filter_map(|server| server.address);
        let named = sockets.iter().map(|socket| socket.local.ip()).chain(metrics).chain(gtpu);
        let of_networks = upf.session.iter().map(|session| &session.dev);
        let of_networks = of_networks.chain(upf.ethernet.iter().map(|network| &network.dev));
        let of_gtpu = upf.gtpu.server.iter().filter_map(|server| server.dev.as_ref());
        let of_pfcp = upf.pfcp.server.iter().filter_map(|server| server.dev.as_ref());
        let mut machine = Self {
            interfaces: of_networks.chain(of_gtpu).chain(of_pfcp).cloned().collect(),
            devices: tuns.chain(taps).cloned().collect(),
            named: named.map(IpNet::from).collect(),
            sockets,
            asks_kernel: upf.host.addresses == HostAddresses::All,
            links: BTreeMap::new(),
            reachable: upf.host.reachable.clone(),
            host: Arc::default(),
        };
        let _ = machine.refresh();
        machine
    }

    /// The host addresses that UEs can reach.
    pub(crate) fn host(&self) -> Arc<HostReachability> {
        Arc::clone(&self.host)
    }

    /// Reads the kernel's state and updates the permitted interfaces. `true`: the addresses that UEs can reach have changed.
    pub(crate) fn refresh(&mut self) -> bool {
        let seen = HostSnapshot::now().inspect_err(|error| {
            warn!("the addresses of this host cannot be read: {error}; only configured ones are unreachable for UEs");
        });
        let mut addresses = self.named.clone();
        if let Ok(seen) = &seen {
            self.update_filters(seen);
            self.follow_links(seen);
            addresses.extend(seen.local.iter().filter(|_| self.asks_kernel));
        }
        addresses.sort_unstable();
        addresses.dedup();
        if seen.is_err() && !self.host.addresses.is_empty() {
            // The last known state is kept.
            return false;
        }
        let host = HostReachability { addresses, reachable: self.reachable.clone() };
        let is_new = *self.host != host;
        if is_new {
            debug!("UEs cannot reach {:?}", host.addresses);
            self.host = Arc::new(host);
        }
        is_new
    }

    /// Logs the interfaces of data networks, N3 and N4 that went up or down, appeared or disappeared.
    fn follow_links(&mut self, seen: &HostSnapshot) {
        let links = self.used_links(seen);
        for change in link_changes(&self.links, &links) {
            match change {
                LinkChange::Down(name) => {
                    warn!(
                        interface = name,
                        "interface {name} is down: nothing is sent or received there until it is up"
                    );
                }
                LinkChange::Gone(name) => {
                    warn!(
                        interface = name,
                        "interface {name} is gone: nothing is sent or received there until it is back"
                    );
                }
                LinkChange::Up(name) => info!(interface = name, "interface {name} is up"),
            }
        }
        // An interface that is gone is remembered, so that its return is logged.
        self.links.values_mut().for_each(|is_up| *is_up = false);
        self.links.extend(links);
    }

    /// The interfaces that the UPF uses, and whether each is up.
    fn used_links(&self, seen: &HostSnapshot) -> BTreeMap<String, bool> {
        let has_address = |link: &Link, address: IpAddr| {
            seen.addresses.iter().any(|(index, net)| *index == link.index && net.addr() == address)
        };
        let is_used = |link: &&Link| {
            self.interfaces.contains(&link.name)
                || self.links.contains_key(&link.name)
                || self.named.iter().any(|net| has_address(link, net.addr()))
        };
        seen.links.iter().filter(is_used).map(|link| (link.name.clone(), link.up)).collect()
    }

    fn update_filters(&mut self, seen: &HostSnapshot) {
        for guarded in &mut self.sockets {
            let arrivals = seen.arrivals(guarded.local.ip(), &guarded.accept, &self.devices);
            if guarded.arrivals.as_ref() == Some(&arrivals) {
                continue;
            }
            let (what, local, key, received) =
                (guarded.what, guarded.local, guarded.key, seen.shown(&arrivals));
            match guarded.guard.as_ref().map_or(Ok(()), |guard| guard.set(&arrivals)) {
                Ok(()) if guarded.guard.is_none() && arrivals != InterfaceFilter::Any => {}
                Ok(()) if guarded.arrivals.is_none() => info!("{what} on {local} accepts {received} ({key})"),
                Ok(()) => info!("{what} on {local} accepts {received} from now on ({key})"),
                Err(error) => {
                    warn!("{what} on {local} accepts any interface: {error} (set {key} to any to permit it)");
                }
            }
            guarded.arrivals = Some(arrivals);
        }
    }

    /// The datagrams of other interfaces so far, of N4 and of N3.
    pub(crate) fn refused(&mut self) -> [RefusedDatagrams; 2] {
        let mut refused = [("N4", "upf.pfcp.accept_from"), ("N3", "upf.gtpu.accept_from")]
            .map(|(what, key)| RefusedDatagrams { what, key, count: 0 });
        for guarded in &mut self.sockets {
            let count = guarded.guard.as_mut().map_or(0, InterfaceGuard::refused);
            for of in refused.iter_mut().filter(|of| of.what == guarded.what) {
                of.count += count;
            }
        }
        refused
    }
}

/// A change of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LinkChange<'a> {
    Up(&'a str),
    Down(&'a str),
    Gone(&'a str),
}

/// The changes from one state of the interfaces to the next. Those that are up when they are first seen are none.
fn link_changes<'a>(
    before: &'a BTreeMap<String, bool>,
    after: &'a BTreeMap<String, bool>,
) -> impl Iterator<Item = LinkChange<'a>> {
    let gone = before.iter().filter(|(name, is_up)| **is_up && !after.contains_key(*name));
    let gone = gone.map(|(name, _)| LinkChange::Gone(name));
    let changed = after.iter().filter_map(|(name, is_up)| match (before.get(name), is_up) {
        (Some(false), true) => Some(LinkChange::Up(name)),
        (Some(true) | None, false) => Some(LinkChange::Down(name)),
        _ => None,
    });
    gone.chain(changed)
}

/// Waits for changes of interfaces and addresses.
#[derive(Debug)]
pub(crate) struct AddressChanges {
    watch: Option<AsyncFd<AddressMonitor>>,
    /// A change was notified; the time of the reading.
    due: Option<Instant>,
}

impl AddressChanges {
    /// Changes that this subscription receives; none without one.
    pub(crate) fn new(monitor: Result<AddressMonitor, PortError>) -> Self {
        let watch = monitor.map_err(|error| error.to_string()).and_then(|monitor| {
            #[expect(deprecated, reason = "the monitor owns its descriptor, which stays open and the same")]
            AsyncFd::with_interest(monitor, Interest::READABLE).map_err(|error| error.to_string())
        });
        let watch =
            watch.inspect_err(|error| warn!("address changes of this host are not followed: {error}"));
        Self { watch: watch.ok(), due: None }
    }

    /// Returns shortly after a change. The future may be dropped and the call repeated.
    pub(crate) async fn wait(&mut self) {
        loop {
            if let Some(due) = self.due {
                sleep_until(due).await;
                self.due = None;
                return;
            }
            let Some(watch) = &mut self.watch else { return std::future::pending().await };
            let changed = match watch.readable_mut().await {
                Ok(mut ready) => {
                    let changed = ready.get_inner_mut().has_changed();
                    ready.clear_ready();
                    changed.map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            match changed {
                Ok(true) => self.due = Some(Instant::now() + PAUSE),
                Ok(false) => {}
                Err(error) => {
                    warn!("address changes of this host are not followed any more: {error}");
                    self.watch = None;
                }
            }
        }
    }
}

/// Discards datagrams that arrived before the filter was set, from any interface; SMFs repeat them.
pub(crate) fn forget(socket: &std::net::UdpSocket) {
    const MOST: usize = 1 << 16;
    let mut octet = [0];
    for _ in 0..MOST {
        if socket.recv_from(&mut octet).is_err() {
            return;
        }
    }
}

/// A duplicate of a socket's descriptor.
pub(crate) fn descriptor(socket: impl AsFd) -> std::io::Result<OwnedFd> {
    socket.as_fd().try_clone_to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> HostSnapshot {
        let link = |index, name: &str, is_inside| Link {
            index,
            name: name.into(),
            is_local_only: is_inside,
            ..Link::default()
        };
        let links = vec![
            link(1, "lo", true),
            link(2, "eth0", false),
            Link { controller: Some(9), ..link(3, "eth1", false) },
            link(4, "dummy0", true),
            link(5, "tun0", false),
            link(9, "vrf0", false),
        ];
        let addresses =
            [(1, "127.0.0.1/8"), (1, "203.0.113.1/32"), (2, "192.0.2.7/24"), (3, "198.51.100.7/24")];
        let addresses = addresses.into_iter().chain([(4, "203.0.113.4/32"), (5, "10.45.0.1/16")]);
        let addresses = addresses.map(|(index, net)| (index, net.parse().unwrap())).collect();
        HostSnapshot { links, addresses, local: Vec::new() }
    }

    // Input:  addresses of an interface, of one in a VRF, of loopback and dummy interfaces, and of none; with each
    //         setting.
    // Output: the interface, its VRF and the loopback interface; all but the TUN device; the configured interfaces.
    #[test]
    fn the_interface_of_an_address_is_heard() {
        let only = |names: &[&str]| AcceptFrom::Only(names.iter().map(|name| (*name).to_owned()).collect());
        for (address, accept, received) in [
            ("192.0.2.7", AcceptFrom::Auto, "lo, eth0"),
            ("198.51.100.7", AcceptFrom::Auto, "lo, eth1, vrf0"),
            ("127.0.0.7", AcceptFrom::Auto, "lo"),
            ("203.0.113.1", AcceptFrom::Auto, "any interface but tun0"),
            ("203.0.113.4", AcceptFrom::Auto, "any interface but tun0"),
            ("203.0.113.9", AcceptFrom::Auto, "any interface but tun0"),
            ("192.0.2.7", AcceptFrom::Any, "any interface"),
            ("192.0.2.7", only(&["eth1", "missing"]), "eth1"),
        ] {
            let seen = seen();
            let arrivals = seen.arrivals(address.parse().unwrap(), &accept, &["tun0".into()]);
            assert_eq!(seen.shown(&arrivals), received, "{address} {accept}");
        }
    }

    // Input:  interfaces that are up, go down, disappear while up or down, come back, and one that is down when first seen.
    // Output: each change once; nothing for one that stays, or is up when first seen.
    #[test]
    fn changes_of_interfaces_are_told_once() {
        let state = |links: &[(&str, bool)]| -> BTreeMap<String, bool> {
            links.iter().map(|(name, is_up)| ((*name).to_owned(), *is_up)).collect()
        };
        let before =
            state(&[("a", true), ("b", true), ("c", false), ("d", false), ("e", true), ("f", false)]);
        let after = state(&[("a", true), ("b", false), ("c", true), ("d", false), ("g", false), ("h", true)]);
        let changes: Vec<LinkChange<'_>> = link_changes(&before, &after).collect();
        let expected =
            [LinkChange::Gone("e"), LinkChange::Down("b"), LinkChange::Up("c"), LinkChange::Down("g")];
        assert_eq!(changes, expected);
    }
}
