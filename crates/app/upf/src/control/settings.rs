//! Converts the configuration into the settings of N4.

use std::net::SocketAddr;
use std::num::NonZeroU8;
use std::sync::Arc;

use causeway_dataplane::HostReachability;
use causeway_n4::{self as n4, N4};
use causeway_rules::{AddressPool, Catalogue};
use causeway_types::{DualIp, IdCipher, IpNet, NetworkInstance, NodeId, Span, Time, WallClock};

use super::{ControlInputs, N4Identity};
use crate::config::{
    KnownSmf, PathFailure, Pfcp, RequestPort, Session, Smf, Switch, Upf, applications, predefined_rules,
};

/// The limit of the doubled T1.
const LONGEST_WAIT: Span = Span::from_secs(8);

/// The configuration of N4. With `start` identifiers differ between runs, with `secret` they are unpredictable.
fn config(upf: &Upf, node: NodeId, address: DualIp, start: Time, secret: IdCipher) -> n4::Config {
    let base = n4::Config {
        any_set: false,
        catalogue: Catalogue {
            predefined: Arc::new(predefined_rules(&upf.predefined_rules)),
            ..Catalogue::default()
        },
        seed: start.as_nanos(),
        secret: Some(secret),
        short_teids: upf.dataplane.has_switch(),
        teid_pools: upf.teid_pools(),
        address_pools: upf.session.iter().map(address_pool).collect(),
        pfds: !upf.chain.is_on(),
        limits: n4::Limits {
            associations: upf.pfcp.max_associations as usize,
            sessions: upf.max_sessions as usize,
            cold_storage: upf.cold_storage.folder.is_some(),
            ..n4::Limits::default()
        },
        ..n4::Config::new(node, address)
    };
    with_live_keys(base, upf, upf.pfcp.allow.clone())
}

/// A configuration of N4 with the values of the keys that a reload changes. These hosts may set up associations.
pub(super) fn with_live_keys(base: n4::Config, upf: &Upf, allow: Vec<IpNet>) -> n4::Config {
    let pfcp = &upf.pfcp;
    n4::Config {
        retransmission: retransmission(pfcp),
        heartbeat: heartbeat(pfcp),
        on_path_failure: match pfcp.path_failure {
            PathFailure::Keep => n4::PathFailure::Keep,
            PathFailure::Purge => n4::PathFailure::Purge,
        },
        load_control: pfcp.load_control == Switch::On,
        overload_control: (pfcp.overload_control == Switch::On)
            .then_some(n4::OverloadControl { mark: pfcp.overload_mark, validity: pfcp.overload_validity }),
        allow,
        smfs: pfcp.smf.iter().map(known_smf).collect(),
        request_port: match pfcp.request_port {
            RequestPort::Standard => n4::RequestPort::Standard,
            RequestPort::Learnt => n4::RequestPort::Learnt,
        },
        associate_retry: pfcp.association_retry,
        release_period: pfcp.release_timeout,
        address_rest: upf.ue_address_quarantine,
        catalogue: Catalogue { applications: Arc::new(applications(upf)), ..base.catalogue },
        limits: n4::Limits {
            routes: upf.framed_routes.max as usize,
            routes_per_session: upf.framed_routes.max_per_session as usize,
            routes_per_smf: upf.framed_routes.max_per_smf as usize,
            ..base.limits
        },
        ..base
    }
}

/// The SMFs to which the UPF sends Association Setup Requests.
pub(super) fn targets(upf: &Upf) -> Vec<SocketAddr> {
    upf.pfcp.client.smf.iter().map(Smf::socket).collect()
}

fn known_smf(smf: &KnownSmf) -> n4::KnownSmf {
    n4::KnownSmf { node: smf.node_id.clone(), addresses: smf.address.clone(), set: smf.set.clone() }
}

/// The addresses that the UPF may allocate from a subnet: all but its own.
fn address_pool(session: &Session) -> AddressPool {
    AddressPool {
        network: NetworkInstance::new(&session.dnn),
        range: session.ue_pool.unwrap_or(session.subnet),
        name: session.pool_identity.clone(),
        reserved: session.gateway.map(IpNet::from).into_iter().collect(),
    }
}

/// The pools that the UPF allocates from. No UE gets an address of this host.
pub(super) fn address_pools(upf: &Upf, host: &HostReachability) -> Vec<AddressPool> {
    let is_one = |net: &&IpNet| net.prefix_len() == net.max_prefix_len();
    let own: Vec<IpNet> = host.addresses.iter().filter(is_one).copied().collect();
    let mut pools: Vec<AddressPool> = upf.session.iter().map(address_pool).collect();
    for pool in &mut pools {
        pool.reserved.extend(own.iter().filter(|net| pool.range.contains(*net)));
    }
    pools
}

/// N4 with this topology, in a part for each thread that receives it, and the SMFs of the configuration as association targets. Its cached responses take at most
/// so many octets.
pub(crate) fn state_machine(given: &ControlInputs, answers: usize) -> N4 {
    let start = given.clock.anchor();
    let N4Identity { node, advertised, secret } = &given.identity;
    let config = config(&given.upf, node.clone(), *advertised, start, *secret);
    let mut config = n4::Config { allow: given.smfs.clone(), ..config };
    config.limits.answer_octets = answers;
    let recovery = WallClock::default().at(start).to_ntp();
    let recovery = given.chain.as_ref().map_or(recovery, |chain| chain.identity.recovery);
    config.address_pools = address_pools(&given.upf, &given.topology.host);
    let parts = u8::try_from(given.n4.len()).ok().and_then(NonZeroU8::new).unwrap_or(NonZeroU8::MIN);
    let endpoints = given.topology.endpoints();
    let mut n4 = N4::in_parts(config, given.capabilities, endpoints, recovery, parts);
    if let Some(chain) = &given.chain {
        n4.number_from(WallClock::default().at(start).to_ntp(), chain.head.epoch);
    }
    for smf in targets(&given.upf) {
        n4.associate(given.clock.now(), smf);
    }
    n4
}

fn retransmission(pfcp: &Pfcp) -> n4::Retransmission {
    let (first_wait, retries) = (pfcp.retransmission.timeout, pfcp.retransmission.retries);
    n4::Retransmission { first_wait, retries, backoff: 2, longest_wait: LONGEST_WAIT.max(first_wait) }
}

fn heartbeat(pfcp: &Pfcp) -> n4::Heartbeat {
    let wait = pfcp.heartbeat.timeout;
    let retries = pfcp.heartbeat.retries;
    let retransmission = n4::Retransmission { first_wait: wait, retries, backoff: 1, longest_wait: wait };
    n4::Heartbeat { interval: pfcp.heartbeat.interval, retransmission }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::config::{Config, Overrides};

    // Input:  a configuration in which every key of N4 differs from its default.
    // Output: each has the value in the settings of N4.
    #[test]
    fn every_key_of_n4_arrives() {
        let text = "{upf: {max_sessions: 7, pfcp: {heartbeat: {interval: 1s, timeout: 2s, retries: 4}, \
                    retransmission: {timeout: 20s, retries: 6}, association_retry: 7s, release_timeout: 9s, \
                    path_failure: purge, request_port: learnt, max_associations: 3, allow: 192.0.2.0/24, smf: [{node_id: smf.example, address: 192.0.2.21, set: one.example}], load_control: off, \
                    overload_control: on, overload_mark: 70, overload_validity: 30s}, ue_address_quarantine: 7s, \
                    session: [{subnet: 10.60.0.0/16, gateway: 10.60.0.1, ue_pool: 10.60.128.0/24, pool_identity: a}], \
                    applications: [{id: video, domain: example.com, domain_protocol: tls}], \
                    framed_routes: {max: 5, max_per_smf: 4, max_per_session: 3}, \
                    predefined_rules: [{name: browsing, application: video}]}}";
        let upf = Config::parse(None, text, &Overrides::default()).unwrap().upf;
        let node = NodeId::Fqdn("upf.example.org".into());
        let address = DualIp::from(IpAddr::from([192, 0, 2, 1]));
        let secret = IdCipher::new([1, 2, 3]);
        let n4 = config(&upf, node.clone(), address, Time::from_secs(5), secret);
        assert_eq!((n4.node, n4.address), (node, address));
        assert_eq!((n4.limits.sessions, n4.limits.associations), (7, 3));
        let limits = &n4.limits;
        assert_eq!((limits.routes, limits.routes_per_smf, limits.routes_per_session), (5, 4, 3));
        assert_eq!(n4.heartbeat.interval, Span::from_secs(1));
        assert_eq!(n4.heartbeat.retransmission.first_wait, Span::from_secs(2));
        assert_eq!((n4.heartbeat.retransmission.retries, n4.retransmission.retries), (4, 6));
        assert_eq!(n4.retransmission.longest_wait, Span::from_secs(20));
        assert_eq!((n4.associate_retry, n4.release_period), (Span::from_secs(7), Span::from_secs(9)));
        assert_eq!(n4.on_path_failure, n4::PathFailure::Purge);
        assert_eq!(n4.request_port, n4::RequestPort::Learnt);
        assert!(n4.catalogue.knows_application(&"video".into()) && !n4.catalogue.predefined.is_empty());
        assert!(!n4.load_control);
        let overload = n4::OverloadControl { mark: 70, validity: Span::from_secs(30) };
        assert_eq!(n4.overload_control, Some(overload));
        assert_eq!(n4.allow, ["192.0.2.0/24".parse().unwrap()]);
        let addresses = vec!["192.0.2.21/32".parse().unwrap()];
        let set = Some("one.example".into());
        assert_eq!(n4.smfs, [n4::KnownSmf { node: NodeId::Fqdn("smf.example".into()), addresses, set }]);
        assert!(!n4.any_set);
        assert_eq!(n4.seed, 5_000_000_000);
        assert_eq!(n4.address_rest, Span::from_secs(7));
        let pool = &n4.address_pools[0];
        assert_eq!((pool.range.to_string(), pool.name.as_deref()), ("10.60.128.0/24".into(), Some("a")));
        assert_eq!(pool.reserved, [IpNet::from(IpAddr::from([10, 60, 0, 1]))]);
        assert_eq!(n4.secret, Some(secret));
    }
}
