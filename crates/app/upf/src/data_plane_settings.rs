//! Converts the configuration into the settings of the data plane.

use std::net::IpAddr;

use causeway_dataplane::{EchoConfig, ForwardingPolicy, Routing, SliceLimit};
use causeway_model::{NewEnd, PolicyName, Redirect};
use causeway_types::NetworkInstance;

use crate::config::{self, RedirectTo, Slice, Upf};

/// The rate limits of slices.
pub(crate) fn slices(upf: &Upf) -> Vec<SliceLimit> {
    let limit =
        |slice: &Slice| SliceLimit { slice: slice.id(), uplink: slice.uplink, downlink: slice.downlink };
    upf.qos.slice.iter().map(limit).collect()
}

/// What depends on the UPF being a router, and how paths are supervised.
pub(crate) fn routing(upf: &Upf) -> Routing {
    let (routing, echo) = (&upf.routing, &upf.gtpu.echo);
    Routing {
        decrement_ttl: routing.decrement_ttl,
        router_advertisement: routing.router_advertisement,
        icmp_errors_per_second: routing.icmp_errors_per_second,
        echo: EchoConfig { interval: echo.interval, timeout: echo.timeout, retries: echo.retries },
    }
}

/// The forwarding policies, in the order of the configuration.
pub(crate) fn policies(given: &[config::ForwardingPolicy]) -> Vec<ForwardingPolicy> {
    given.iter().map(policy).collect()
}

fn policy(given: &config::ForwardingPolicy) -> ForwardingPolicy {
    ForwardingPolicy {
        drop: given.drop,
        network: given.dnn.as_deref().map(NetworkInstance::new),
        dscp: given.dscp,
        redirect: given.redirect.as_ref().map(redirect),
        ..ForwardingPolicy::new(PolicyName::new(given.name.as_bytes()))
    }
}

fn redirect(to: &RedirectTo) -> Redirect {
    match to {
        RedirectTo::Url(url) => Redirect::Http(url.clone()),
        RedirectTo::Address(ip) => Redirect::Destination(end(*ip, None)),
        RedirectTo::Socket(socket) => Redirect::Destination(end(socket.ip(), Some(socket.port()))),
    }
}

fn end(ip: IpAddr, port: Option<u16>) -> NewEnd {
    match ip {
        IpAddr::V4(ip) => NewEnd { v4: Some(ip), v6: None, port },
        IpAddr::V6(ip) => NewEnd { v4: None, v6: Some(ip), port },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Overrides};

    // Input:  a configuration with a policy of each kind.
    // Output: the policies of the data plane.
    #[test]
    fn every_key_of_a_policy_arrives() {
        let text = "{upf: {forwarding_policy: [{name: a, drop: true}, {name: b, dnn: internet, dscp: 46}, \
                    {name: c, redirect: 'http://192.0.2.80/'}, {name: d, redirect: '[2001:db8::80]:8080'}]}}";
        let upf = Config::parse(None, text, &Overrides::default()).unwrap().upf;
        let [a, b, c, d] = policies(&upf.forwarding_policy).try_into().unwrap();
        assert_eq!((a.name, a.drop, b.drop), (PolicyName::new(b"a"), true, false));
        assert_eq!((b.network, b.dscp), (Some(NetworkInstance::new("internet")), Some(46)));
        assert!(matches!(c.redirect, Some(Redirect::Http(url)) if url.as_str() == "http://192.0.2.80/"));
        let server = NewEnd { v4: None, v6: "2001:db8::80".parse().ok(), port: Some(8080) };
        assert_eq!(d.redirect, Some(Redirect::Destination(server)));
    }
}
