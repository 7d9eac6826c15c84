//! Redirect Information, IP Address and Port Number Replacement, Forwarding Policy.

use std::str::FromStr;

use causeway_model::{NewEnd, PolicyName, Redirect, Replacement, Steering, Url};
use causeway_pfcp::{
    ForwardingParameters, ForwardingPolicy, Ie, IpAddressAndPortReplacement, Octets, RedirectInformation,
    RedirectKind, UpdateForwardingParameters,
};

use super::setting;
use crate::Reason;
use crate::edits::SteeringUpdate;

/// The steering part of Forwarding Parameters.
pub(super) fn steering(group: &ForwardingParameters<'_>) -> Result<Steering, Reason> {
    Ok(Steering {
        redirect: group.redirect_information.as_ref().map(redirect).transpose()?,
        replacement: group.ip_address_and_port_replacement.as_ref().map(replacement).transpose()?,
        policy: group.forwarding_policy.as_ref().map(policy),
    })
}

/// The steering part of Update Forwarding Parameters.
pub(super) fn steering_update(group: &UpdateForwardingParameters<'_>) -> Result<SteeringUpdate, Reason> {
    let redirect = group.redirect_information.as_ref().map(redirect).transpose()?;
    let replacement = group.ip_address_and_port_replacement.as_ref().map(replacement).transpose()?;
    let policy = group.forwarding_policy.as_ref().map(policy);
    Ok(SteeringUpdate {
        redirect: setting::<RedirectInformation<'_>, _>(redirect, &group.other),
        replacement: setting::<IpAddressAndPortReplacement, _>(replacement, &group.other),
        policy: setting::<ForwardingPolicy<'_>, _>(policy, &group.other),
    })
}

/// The redirect destination.
fn redirect(information: &RedirectInformation<'_>) -> Result<Redirect, Reason> {
    let RedirectInformation { kind, server, other_server, port } = *information;
    let end = match kind {
        RedirectKind::Url => return url(server),
        RedirectKind::SipUri => {
            let what = "redirection of SIP";
            return Err(Reason::Unsupported { ie: RedirectInformation::TYPE, what });
        }
        RedirectKind::Port => NewEnd::default(),
        RedirectKind::Ipv4 | RedirectKind::Ipv4Port => {
            NewEnd { v4: Some(address(server)?), ..NewEnd::default() }
        }
        RedirectKind::Ipv6 | RedirectKind::Ipv6Port => {
            NewEnd { v6: Some(address(server)?), ..NewEnd::default() }
        }
        RedirectKind::Ipv4v6 | RedirectKind::Ipv4v6Port => both(server, other_server)?,
        RedirectKind::Spare(_) => return incorrect("a kind of address that no release defines"),
    };
    let needs_port = matches!(
        kind,
        RedirectKind::Port | RedirectKind::Ipv4Port | RedirectKind::Ipv6Port | RedirectKind::Ipv4v6Port
    );
    match port.filter(|port| needs_port && *port != 0) {
        None if needs_port => incorrect("no port, or port 0"),
        port => Ok(Redirect::Destination(NewEnd { port, ..end })),
    }
}

fn url(text: Octets<'_>) -> Result<Redirect, Reason> {
    let url = text.as_str().and_then(Url::new);
    url.map_or(incorrect("no URL, or longer than 1000 octets"), |url| Ok(Redirect::Http(url)))
}

/// The two addresses, in either order.
fn both(server: Octets<'_>, other: Option<Octets<'_>>) -> Result<NewEnd, Reason> {
    let Some(other) = other else { return incorrect("one address, but the type has two") };
    let (v4, v6) = match address(server) {
        Ok(v4) => (v4, address(other)?),
        Err(_) => (address(other)?, address(server)?),
    };
    Ok(NewEnd { v4: Some(v4), v6: Some(v6), port: None })
}

fn address<T: FromStr + Unspecified>(text: Octets<'_>) -> Result<T, Reason> {
    let address = text.as_str().and_then(|text| text.parse().ok()).filter(|ip: &T| !ip.is_unspecified());
    address.map_or(incorrect("not an address of the declared type"), Ok)
}

/// An address that may be unspecified.
trait Unspecified {
    fn is_unspecified(&self) -> bool;
}

impl Unspecified for std::net::Ipv4Addr {
    fn is_unspecified(&self) -> bool {
        Self::is_unspecified(self)
    }
}

impl Unspecified for std::net::Ipv6Addr {
    fn is_unspecified(&self) -> bool {
        Self::is_unspecified(self)
    }
}

fn incorrect<T>(reason: &'static str) -> Result<T, Reason> {
    Err(Reason::Incorrect { ie: RedirectInformation::TYPE, why: reason })
}

/// The new ends of packets: at least one address (clause 8.2.200).
fn replacement(ie: &IpAddressAndPortReplacement) -> Result<Replacement, Reason> {
    let wrong = |reason| Err(Reason::Incorrect { ie: IpAddressAndPortReplacement::TYPE, why: reason });
    let replacement = Replacement {
        source: NewEnd { v4: ie.source_ipv4, v6: ie.source_ipv6, port: ie.source_port },
        destination: NewEnd { v4: ie.destination_ipv4, v6: ie.destination_ipv6, port: ie.destination_port },
    };
    let ends = [replacement.source, replacement.destination];
    if ends.iter().all(|end| end.v4.is_none() && end.v6.is_none()) {
        return wrong("no address");
    }
    let empty = |end: &NewEnd| {
        end.port == Some(0)
            || end.v4.is_some_and(|ip| ip.is_unspecified())
            || end.v6.is_some_and(|ip| ip.is_unspecified())
    };
    if ends.iter().any(empty) { wrong("port 0 or an unspecified address") } else { Ok(replacement) }
}

/// The name of a forwarding policy.
pub(super) fn policy(policy: &ForwardingPolicy<'_>) -> PolicyName {
    PolicyName::new(policy.0.0)
}
