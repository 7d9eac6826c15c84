//! Creates the P4Runtime switch of a configuration.

use std::net::Ipv4Addr;

use causeway_dataplane::Topology;
use causeway_p4runtime::client::{CopySession, Options};
use causeway_reference::Limits;
use causeway_rules::TeidPool;
use causeway_switch::backend::{self, Hop, Route, SourceGuardPool};

use super::{Remote, RemoteError, TIMEOUT};
use crate::config::{P4Switch, RouteOf, SwitchRoute};

/// Creates the switch of a configuration, and begins to connect.
///
/// # Errors
/// As for [`Remote::new`].
pub(crate) fn remote(
    switch: &P4Switch,
    address: &str,
    pools: &[TeidPool],
    topology: Topology,
    limits: Limits,
) -> Result<Remote, RemoteError> {
    let local: Vec<Ipv4Addr> = topology.gtpu.iter().filter_map(|end| end.addr.v4).collect();
    let own = local.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED);
    let copies = switch.copy_session.map(|session| CopySession { session, port: switch.cpu_port });
    let options = Options {
        device_id: switch.device_id,
        election_id: switch.election_id.into(),
        device_config: switch.device_config.clone(),
        local,
        copies,
        ..Options::new(address, switch.p4info.clone().unwrap_or_default())
    };
    let config = backend::Config {
        pace: Some(switch.read_interval),
        tally: Some(switch.read_interval * 20),
        counts_as_received: switch.counts_as_received,
        patience: TIMEOUT,
        guards: pools
            .iter()
            .map(|pool| SourceGuardPool { pool: pool.net.into(), first_teid: pool.first })
            .collect(),
        routes: switch.route.iter().map(|route| route_of(route, own)).collect(),
        ..backend::Config::new(topology, limits)
    };
    Remote::new(options, config)
}

fn route_of(route: &SwitchRoute, local: Ipv4Addr) -> Route {
    let SwitchRoute { to, of, port, mac, next_hop } = *route;
    let hop = Hop { port, source: mac.0, neighbour: next_hop.0 };
    match of {
        RouteOf::Tunnels => Route::Tunnel { to, hop, local },
        RouteOf::Network => Route::Network { to, hop },
    }
}
