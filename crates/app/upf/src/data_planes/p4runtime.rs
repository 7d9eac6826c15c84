//! Creates the P4Runtime switch of a configuration: as the data plane, or in front of the fast path.

use std::cell::OnceCell;
use std::net::Ipv4Addr;
use std::sync::Arc;

use causeway_dataplane::Topology;
use causeway_hybrid::{Hybrid, OwnPorts};
use causeway_p4runtime::client::{CopySession, Options, P4Runtime};
use causeway_p4runtime::{OpenError, RemoteSwitch};
use causeway_switch::backend::{self, Hop, Route, Segment, SegmentOf, SourceGuardPool};
use causeway_switch::driver::{Arrivals, WholeSwitch};
use causeway_switch::{FIRST_SESSION, SoftwareLink};
use causeway_types::{NetworkInstance, Span};

use super::{BoxedDataPlane, Parts};
use crate::config::{GtpuMode, N6Mode, P4Switch, RouteOf, Session, SwitchLink, SwitchRoute, Upf};
use crate::error::StartError;

/// How long a switch may be unreachable before changes of sessions are refused immediately, and how long one change may
/// take. It is shorter than the response timeout of SMFs.
const TIMEOUT: Span = Span::from_secs(2);

/// Creates the switch of a configuration, and begins to connect.
///
/// # Errors
/// As for [`RemoteSwitch::new`].
pub(super) fn remote_switch(
    switch: &P4Switch,
    address: &str,
    parts: &Parts<'_>,
) -> Result<BoxedDataPlane, StartError> {
    let config = backend_config(switch, parts);
    Ok(Box::new(RemoteSwitch::new(options(switch, address, parts), config, TIMEOUT)?))
}

/// The driver of a switch in front of all packet threads, once the first has asked for its part, and what it wakes.
#[derive(Default)]
pub(super) struct Drivers(OnceCell<(WholeSwitch<P4Runtime>, Vec<OwnPorts>)>);

/// Creates the part of a packet thread of the switch in front of the fast path. The first one begins to connect.
///
/// # Errors
/// The files or the address are invalid, or the program is not one in front of software.
pub(super) fn switch_in_front(
    switch: &P4Switch,
    address: &str,
    parts: &Parts<'_>,
) -> Result<BoxedDataPlane, StartError> {
    let Drivers(drivers) = &parts.common.drivers;
    let (whole, ports) = match drivers.get() {
        Some(known) => known,
        None => {
            let connected = connect(options(switch, address, parts), parts.workers)?;
            drivers.get_or_init(|| connected)
        }
    };
    let driver = whole.part(parts.number);
    let ports = ports.get(parts.number).cloned().unwrap_or_default();
    let program = driver.program();
    let link = |link: &SwitchLink| SoftwareLink { network: link.port, software: link.software };
    let config = backend::Config {
        software: switch.link.iter().map(link).collect(),
        number_bits: driver.number_bits(),
        // Counters are read when they are due.
        pace: None,
        // The first thread reads them for all.
        drop_read_interval: Some(switch.read_interval * 20).filter(|_| parts.number == 0),
        ..backend_config(switch, parts)
    };
    let (software, placement) = (super::hybrid::software(parts)?, super::hybrid::placement(parts));
    let moves = super::hybrid::moves(parts);
    let moves = causeway_hybrid::Config { armed: moves.armed / parts.workers.max(1), ..moves };
    let hybrid = Hybrid::behind(driver, &program, config, software, placement, moves, ports);
    let hybrid = hybrid.map_err(OpenError::from)?.with_plan_timeout(TIMEOUT);
    let hybrid = hybrid.as_part(Arc::clone(&parts.common.switch), parts.number);
    Ok(Box::new(if parts.number == 0 { hybrid.with_notices(super::hybrid::log) } else { hybrid }))
}

/// Begins to connect to a switch in front of so many packet threads: what arrives from it wakes all of them.
fn connect(options: Options, threads: usize) -> Result<(WholeSwitch<P4Runtime>, Vec<OwnPorts>), StartError> {
    let arrivals = Arc::new(Arrivals::new(threads));
    let ports: Vec<OwnPorts> = (0..threads).map(|_| OwnPorts::default()).collect();
    let wakes: Vec<_> = ports.iter().map(OwnPorts::wake).collect();
    let told = Arc::clone(&arrivals);
    let wake = move || {
        told.tell();
        wakes.iter().for_each(|wake| wake());
    };
    let driver = P4Runtime::connect(options, Some(Box::new(wake))).map_err(OpenError::from)?;
    let program = driver.program().clone();
    Ok((WholeSwitch::new(driver, &program, &arrivals), ports))
}

fn local_addresses(parts: &Parts<'_>) -> Vec<Ipv4Addr> {
    parts.topology.gtpu.iter().filter_map(|end| end.addr.v4).collect()
}

fn options(switch: &P4Switch, address: &str, parts: &Parts<'_>) -> Options {
    let mut copies = Vec::new();
    if let Some(session) = switch.copy_session {
        copies.push(CopySession { session, port: switch.cpu_port });
        let linked = switch.link.iter().flat_map(|link| [link.port, link.software].map(u32::from));
        copies.extend(linked.map(|port| CopySession { session: u32::from(FIRST_SESSION) + port, port }));
    }
    Options {
        device_id: switch.device_id,
        election_id: switch.election_id.into(),
        device_config: switch.device_config.clone(),
        local: local_addresses(parts),
        underlay: parts.config.upf.vxlan.iter().map(|segment| segment.local).collect(),
        copies,
        ..Options::new(address, switch.p4info.clone().unwrap_or_default())
    }
}

fn backend_config(switch: &P4Switch, parts: &Parts<'_>) -> backend::Config {
    let (topology, pools) = (&parts.topology, parts.config.upf.teid_pools());
    let own = local_addresses(parts).first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED);
    backend::Config {
        pace: Some(switch.read_interval),
        drop_read_interval: Some(switch.read_interval * 20),
        counts_as_received: switch.counts_as_received,
        patience: TIMEOUT,
        guards: pools
            .iter()
            .map(|pool| SourceGuardPool {
                pool: pool.net.into(),
                network: pool.network.clone(),
                first_teid: pool.first,
            })
            .collect(),
        routes: switch.route.iter().filter_map(|route| route_of(route, own)).collect(),
        segments: segments(&parts.config.upf, topology),
        ..backend::Config::new(topology.clone(), parts.limits)
    }
}

const fn hop_of(route: &SwitchRoute) -> Hop {
    Hop { port: route.port, source: route.mac.0, neighbour: route.next_hop.0 }
}

/// `None`: it is part of segments.
fn route_of(route: &SwitchRoute, local: Ipv4Addr) -> Option<Route> {
    let (to, hop) = (route.to, hop_of(route));
    match route.of {
        RouteOf::Tunnels => Some(Route::Tunnel { to, hop, local }),
        RouteOf::Network => Some(Route::Network { to, hop }),
        RouteOf::Underlay => None,
    }
}

/// The segments of data networks, and those of GTP-U addresses, of which packets leave by the first.
fn segments(upf: &Upf, topology: &Topology) -> Vec<Segment> {
    let segment = |of: SegmentOf, dev: &str, mtu: u32| {
        let segment = upf.vxlan_segment(dev)?;
        let hop = hop_of(upf.underlay_route(segment)?);
        let (local, remote) = (segment.local, segment.remote);
        let (mac, next_hop) = (segment.mac.0, segment.next_hop.0);
        // A hybrid UPF answers at its own ports.
        let address = segment.address.filter(|_| upf.dataplane.is_switch());
        Some(Segment { of, vni: segment.vni.value(), local, remote, mac, address, next_hop, hop, mtu })
    };
    let n6 = topology.networks.iter().filter_map(|network| {
        let is_its = |session: &&Session| NetworkInstance::new(&session.dnn) == network.instance;
        let session = upf.session.iter().find(is_its).filter(|session| session.mode == N6Mode::Vxlan)?;
        segment(SegmentOf::Network(network.instance.clone()), &session.dev, network.mtu)
    });
    let servers = upf.gtpu.server.iter().filter(|_| upf.gtpu.mode == GtpuMode::Vxlan);
    let n3 = servers.filter_map(|server| {
        let end = topology.gtpu.iter().find(|end| server.address.is_some_and(|ip| end.addr.contains(ip)))?;
        segment(SegmentOf::Access, server.dev.as_deref()?, end.mtu)
    });
    let mut segments: Vec<Segment> = Vec::new();
    for segment in n6.chain(n3) {
        // Several GTP-U addresses may be in one.
        let is_same = |known: &&mut Segment| (known.vni, known.local) == (segment.vni, segment.local);
        match segments.iter_mut().find(is_same) {
            Some(known) => known.mtu = known.mtu.min(segment.mtu),
            None => segments.push(segment),
        }
    }
    segments
}
