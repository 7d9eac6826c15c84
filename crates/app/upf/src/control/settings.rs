//! From the configuration to the settings of N4.

use std::net::SocketAddr;

use causeway_dataplane::{Capabilities, Topology};
use causeway_n4::{self as n4, N4};
use causeway_types::{DualIp, NodeId, Span, Time};

use crate::clock::Clock;
use crate::config::{PFCP_PORT, PathFailure, Pfcp, RequestPort, Upf};

/// The longest wait that doubling T1 may lead to.
const LONGEST_WAIT: Span = Span::from_secs(8);

/// What the configuration says, in the words of N4. `start` makes identifiers of this run differ from
/// those of another.
pub(super) fn n4(upf: &Upf, node: NodeId, start: Time) -> n4::Config {
    let pfcp = &upf.pfcp;
    n4::Config {
        retransmission: retransmission(pfcp),
        heartbeat: heartbeat(pfcp),
        on_path_failure: match pfcp.path_failure {
            PathFailure::Keep => n4::PathFailure::Keep,
            PathFailure::Purge => n4::PathFailure::Purge,
        },
        request_port: match pfcp.request_port {
            RequestPort::Standard => n4::RequestPort::Standard,
            RequestPort::Learnt => n4::RequestPort::Learnt,
        },
        associate_retry: pfcp.association_retry,
        release_period: pfcp.release_timeout,
        seed: start.as_nanos(),
        limits: n4::Limits {
            associations: pfcp.max_associations as usize,
            sessions: upf.max_sessions as usize,
            ..n4::Limits::default()
        },
        ..n4::Config::new(node)
    }
}

/// N4 in these surroundings, which asks the SMFs of the configuration for associations.
pub(super) fn state_machine(
    upf: &Upf,
    node: NodeId,
    topology: &Topology,
    capabilities: Capabilities,
    clock: Clock,
) -> N4 {
    let now = clock.now();
    let mut n4 = N4::new(now, n4(upf, node, clock.anchor()), topology, capabilities, DualIp::default());
    for smf in &upf.pfcp.client.smf {
        n4.associate(now, smf.socket());
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
    use super::*;
    use crate::config::{Config, Overrides};

    // Input:  a configuration in which every key of N4 differs from its default.
    // Output: each arrives where N4 reads it.
    #[test]
    fn every_key_of_n4_arrives() {
        let text = "{upf: {max_sessions: 7, pfcp: {heartbeat: {interval: 1s, timeout: 2s, retries: 4}, \
                    retransmission: {timeout: 20s, retries: 6}, association_retry: 7s, release_timeout: 9s, \
                    path_failure: purge, request_port: learnt, max_associations: 3}}}";
        let upf = Config::parse(None, text, &Overrides::default()).unwrap().upf;
        let node = NodeId::Fqdn("upf.example.org".into());
        let n4 = n4(&upf, node.clone(), Time::from_secs(5));
        assert_eq!(n4.node, node);
        assert_eq!((n4.limits.sessions, n4.limits.associations), (7, 3));
        assert_eq!(n4.heartbeat.interval, Span::from_secs(1));
        assert_eq!(n4.heartbeat.retransmission.first_wait, Span::from_secs(2));
        assert_eq!((n4.heartbeat.retransmission.retries, n4.retransmission.retries), (4, 6));
        assert_eq!(n4.retransmission.longest_wait, Span::from_secs(20));
        assert_eq!((n4.associate_retry, n4.release_period), (Span::from_secs(7), Span::from_secs(9)));
        assert_eq!(n4.on_path_failure, n4::PathFailure::Purge);
        assert_eq!(n4.request_port, n4::RequestPort::Learnt);
        assert_eq!(n4.seed, 5_000_000_000);
    }
}
