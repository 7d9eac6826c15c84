//! Changes to a user packet between the rules and its outer header: forwarding policy, redirection, replacement of
//! addresses and ports (TS 29.244 clauses 5.4.7, 5.4.8 and 5.33.3).

mod flows;
mod http;
mod local_response;

use std::borrow::Cow;

use causeway_dataplane::{DropReason, ForwardingPolicy, Topology};
use causeway_model::{Forwarding, NewEnd, PolicyName, Redirect, Replacement};
use causeway_packet::rewrite::{Dscp, set_dscp};
use causeway_packet::{Ends, UserPacket, set_ends};
use causeway_types::Direction;

pub(crate) use flows::RedirectedFlows;
pub(crate) use http::HttpResponse;

/// The result for a packet before transmission.
pub(crate) enum SteeredPacket<'a> {
    /// It is forwarded.
    Forward {
        /// The forwarding parameters.
        forwarding: Cow<'a, Forwarding>,
        /// The packet, perhaps with other addresses and ports.
        packet: Cow<'a, [u8]>,
    },
    /// The UPF responds to it.
    Respond(HttpResponse),
}

impl<'a> SteeredPacket<'a> {
    /// It is forwarded unchanged.
    pub(crate) const fn unchanged(forwarding: &'a Forwarding, packet: &'a [u8]) -> Self {
        Self::Forward { forwarding: Cow::Borrowed(forwarding), packet: Cow::Borrowed(packet) }
    }
}

/// Steers a packet of this direction by the forwarding parameters and their policy.
///
/// # Errors
/// The drop reason.
pub(crate) fn steer<'a>(
    forwarding: &'a Forwarding,
    packet: &'a [u8],
    direction: Direction,
    flows: &mut RedirectedFlows,
    topology: &Topology,
) -> Result<SteeredPacket<'a>, DropReason> {
    let steering = &forwarding.steering;
    let policy = policy_of(steering.policy.as_ref(), topology)?;
    let redirect = steering.redirect.as_ref().or(policy.and_then(|policy| policy.redirect.as_ref()));
    let mut changed = Cow::Borrowed(packet);
    match (redirect, direction) {
        (Some(Redirect::Http(url)), Direction::Uplink) => {
            return http::answer(packet, url).map(SteeredPacket::Respond).ok_or(DropReason::NotRedirectable);
        }
        (Some(Redirect::Http(_)), Direction::Downlink) => return Err(DropReason::NotRedirectable),
        (Some(Redirect::Destination(end)), Direction::Uplink) => redirect_flow(&mut changed, end, flows)?,
        (_, Direction::Downlink) => restore_source(&mut changed, flows)?,
        (None, Direction::Uplink) => {}
    }
    if let Some(replacement) = &steering.replacement {
        replace(&mut changed, replacement)?;
    }
    Ok(SteeredPacket::Forward {
        forwarding: apply_policy(forwarding, policy, &mut changed)?,
        packet: changed,
    })
}

/// The policy of that name.
///
/// # Errors
/// [`DropReason::PolicyDrop`] when it drops.
fn policy_of<'t>(
    name: Option<&PolicyName>,
    topology: &'t Topology,
) -> Result<Option<&'t ForwardingPolicy>, DropReason> {
    let policy = name.and_then(|name| topology.policies.iter().find(|policy| policy.name == *name));
    if policy.is_some_and(|policy| policy.drop) { Err(DropReason::PolicyDrop) } else { Ok(policy) }
}

/// Steers a copy: the policy marks it and selects a network; copies are not redirected.
///
/// # Errors
/// The drop reason.
pub(crate) fn steer_copy<'a>(
    forwarding: &'a Forwarding,
    packet: &'a [u8],
    topology: &Topology,
) -> Result<(Cow<'a, Forwarding>, Cow<'a, [u8]>), DropReason> {
    let policy = policy_of(forwarding.steering.policy.as_ref(), topology)?;
    let mut changed = Cow::Borrowed(packet);
    let forwarding = apply_policy(forwarding, policy, &mut changed)?;
    Ok((forwarding, changed))
}

/// Applies the policy to the forwarding parameters and the mark of the packet.
fn apply_policy<'a>(
    forwarding: &'a Forwarding,
    policy: Option<&ForwardingPolicy>,
    packet: &mut Cow<'_, [u8]>,
) -> Result<Cow<'a, Forwarding>, DropReason> {
    if let Some(dscp) = policy.and_then(|policy| policy.dscp).and_then(Dscp::new) {
        set_dscp(packet.to_mut(), dscp).map_err(|_| DropReason::MalformedIp)?;
    }
    let network = policy.and_then(|policy| policy.network.clone()).filter(|_| forwarding.tunnel().is_none());
    Ok(match network {
        None => Cow::Borrowed(forwarding),
        Some(network) => Cow::Owned(Forwarding { network_instance: Some(network), ..forwarding.clone() }),
    })
}

/// Changes the destination of an uplink packet; the original one is recorded for downlink packets.
fn redirect_flow(
    packet: &mut Cow<'_, [u8]>,
    end: &NewEnd,
    flows: &mut RedirectedFlows,
) -> Result<(), DropReason> {
    let user = UserPacket::parse(packet).map_err(|_| DropReason::MalformedIp)?;
    let (flow, dst) = (user.flow, end.ip_for(user.flow.dst));
    if dst.is_none() && end.port.is_none() {
        return Err(DropReason::NotRedirectable);
    }
    flows.note(&flow, dst.unwrap_or(flow.dst), end.port);
    set(packet, &Ends { dst, dst_port: end.port, ..Ends::default() })
}

/// Restores the original destination as the source of a downlink packet of a redirected flow.
fn restore_source(packet: &mut Cow<'_, [u8]>, flows: &mut RedirectedFlows) -> Result<(), DropReason> {
    let user = UserPacket::parse(packet).map_err(|_| DropReason::MalformedIp)?;
    match flows.origin(&user.flow) {
        Some((src, src_port)) => set(packet, &Ends { src: Some(src), src_port, ..Ends::default() }),
        None => Ok(()),
    }
}

fn replace(packet: &mut Cow<'_, [u8]>, replacement: &Replacement) -> Result<(), DropReason> {
    let user = UserPacket::parse(packet).map_err(|_| DropReason::MalformedIp)?;
    let Replacement { source, destination } = replacement;
    let ends = Ends {
        src: source.ip_for(user.flow.src),
        dst: destination.ip_for(user.flow.dst),
        src_port: source.port,
        dst_port: destination.port,
    };
    set(packet, &ends)
}

fn set(packet: &mut Cow<'_, [u8]>, ends: &Ends) -> Result<(), DropReason> {
    set_ends(packet.to_mut(), ends).map_err(|_| DropReason::MalformedIp)
}
