//! Checks of the outer header that a FAR creates.

use std::net::IpAddr;

use causeway_model::{OuterHeader, PduSessionType};
use causeway_types::{FTeid, NetworkInstance};

use crate::rejection::refuse_if;
use crate::{Reason, ie};

use super::Context;

/// Checks that apply even while nothing is sent: the peer's IP version is one of the UPF's.
pub(super) fn check(
    outer: Option<OuterHeader>,
    kind: PduSessionType,
    to_network: bool,
    network: Option<&NetworkInstance>,
    context: &Context<'_>,
) -> Result<(), Reason> {
    let is_over_n6 = outer.and_then(OuterHeader::n6_peer).is_some();
    let frames = kind == PduSessionType::Ethernet && is_over_n6;
    refuse_if(frames, ie::OUTER_HEADER_CREATION, "tunnels over N6 for Ethernet frames")?;
    let reachable = match outer {
        None | Some(OuterHeader::Unknown) => true,
        Some(OuterHeader::Gtpu(tunnel)) => is_reachable(tunnel, context),
        Some(OuterHeader::Udp(peer)) => check_n6(peer.ip(), to_network, network, context)?,
        Some(OuterHeader::Ip(peer)) => check_n6(peer, to_network, network, context)?,
    };
    let what = "a tunnel over an IP version that the UPF does not have";
    refuse_if(!reachable, ie::OUTER_HEADER_CREATION, what)
}

/// A header for sending needs a known destination, which is not this UPF.
pub(super) fn check_known(outer: Option<OuterHeader>, context: &Context<'_>) -> Result<(), Reason> {
    let check = |ip| context.endpoints.check_peer(ip);
    let found = match outer {
        Some(OuterHeader::Unknown) => Err("TEID 0 or an unspecified address, and packets are sent to it"),
        Some(OuterHeader::Gtpu(tunnel)) => tunnel.addr.iter().try_for_each(check),
        Some(OuterHeader::Udp(peer)) => check(peer.ip()),
        Some(OuterHeader::Ip(peer)) => check(peer),
        None => Ok(()),
    };
    found.map_err(|reason| Reason::Incorrect { ie: ie::OUTER_HEADER_CREATION, why: reason })
}

fn is_reachable(tunnel: FTeid, context: &Context<'_>) -> bool {
    let can = |ip: IpAddr| {
        let able =
            if ip.is_ipv4() { context.capabilities.outer_ipv4 } else { context.capabilities.outer_ipv6 };
        able && context.endpoints.can_send_to(ip)
    };
    tunnel.addr.iter().any(can)
}

/// A tunnel over N6 leads to a data network, never to the access.
fn check_n6(
    peer: IpAddr,
    to_network: bool,
    network: Option<&NetworkInstance>,
    context: &Context<'_>,
) -> Result<bool, Reason> {
    if !to_network {
        let reason = "only GTP-U leads to this interface";
        return Err(Reason::Incorrect { ie: ie::OUTER_HEADER_CREATION, why: reason });
    }
    Ok(context.endpoints.has_n6_tunnel(network, peer.is_ipv6()))
}
