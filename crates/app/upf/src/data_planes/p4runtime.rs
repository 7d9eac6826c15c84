//! Creates the P4Runtime switch of a configuration.

use std::net::Ipv4Addr;

use causeway_p4runtime::RemoteSwitch;
use causeway_p4runtime::client::{CopySession, Options};
use causeway_switch::backend::{self, Hop, Route, SourceGuardPool};

use causeway_types::Span;

use super::{BoxedDataPlane, Parts};
use crate::config::{P4Switch, RouteOf, SwitchRoute};
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
    let (topology, pools) = (&parts.topology, parts.config.upf.teid_pools());
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
        drop_read_interval: Some(switch.read_interval * 20),
        counts_as_received: switch.counts_as_received,
        patience: TIMEOUT,
        guards: pools
            .iter()
            .map(|pool| SourceGuardPool { pool: pool.net.into(), first_teid: pool.first })
            .collect(),
        routes: switch.route.iter().map(|route| route_of(route, own)).collect(),
        ..backend::Config::new(topology.clone(), parts.limits)
    };
    Ok(Box::new(RemoteSwitch::new(options, config, TIMEOUT)?))
}

fn route_of(route: &SwitchRoute, local: Ipv4Addr) -> Route {
    let SwitchRoute { to, of, port, mac, next_hop } = *route;
    let hop = Hop { port, source: mac.0, neighbour: next_hop.0 };
    match of {
        RouteOf::Tunnels => Route::Tunnel { to, hop, local },
        RouteOf::Network => Route::Network { to, hop },
    }
}
