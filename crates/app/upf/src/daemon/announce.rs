//! What the log says at the start.

use std::net::SocketAddr;

use causeway_dataplane::Capabilities;
use causeway_types::NodeId;
use tracing::{info, warn};

use crate::config::Config;
use crate::management::Listener;
use crate::open;
use crate::worker::Schedule;

/// The data plane and its threads.
pub(super) fn data_plane(config: &Config, capabilities: &Capabilities, schedules: &[Schedule]) {
    info!("data plane `{}`: {}", config.upf.dataplane.word(), describe(capabilities));
    for (number, schedule) in schedules.iter().enumerate() {
        let which = if schedules.len() > 1 { format!(" {number}") } else { String::new() };
        info!("packet thread{which} {schedule}");
    }
}

/// Where SMFs and operators reach the UPF.
pub(super) fn addresses(config: &Config, node: &NodeId, pfcp: &[SocketAddr], management: &[Listener]) {
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

/// Warns that hosts of the connected networks may act as SMFs when `upf.pfcp.allow` is not set.
pub(super) fn unrestricted_smfs(config: &Config, pfcp: &[SocketAddr]) {
    if !config.upf.pfcp.allow.is_empty() || pfcp.iter().all(|n4| n4.ip().is_loopback()) {
        return;
    }
    let nets: Vec<String> =
        open::connected(&config.upf.chain, pfcp).iter().map(ToString::to_string).collect();
    let who = if nets.is_empty() { "no network".to_owned() } else { nets.join(", ") };
    warn!("upf.pfcp.allow is not set: any host of {who} may act as an SMF; list the SMFs there");
}

/// The capabilities of the data plane, for the log.
fn describe(capabilities: &Capabilities) -> String {
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
