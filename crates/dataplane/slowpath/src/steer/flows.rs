//! Redirected flows, for restoring the source of their downlink packets.

use std::collections::VecDeque;
use std::net::IpAddr;

use causeway_packet::Flow;

/// The number of flows that a session tracks; beyond it the flow without an uplink packet for longest is discarded.
const MAX_TRACKED: usize = 256;

/// The redirected flows of one session.
///
/// A UE that uses one port towards two destinations, both redirected, has one flow here: responses then have the
/// destination it last sent to as source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct RedirectedFlows(VecDeque<Redirected>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Redirected {
    key: Key,
    /// The original destination.
    origin: (IpAddr, Option<u16>),
}

/// The key of downlink packets.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Key {
    protocol: u8,
    ue: (IpAddr, Option<u16>),
    server: (IpAddr, Option<u16>),
}

impl RedirectedFlows {
    /// No flow is tracked.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records that an uplink packet of this flow is sent to the server instead, to another port if one is given.
    pub(crate) fn note(&mut self, flow: &Flow, server: IpAddr, port: Option<u16>) {
        // A later fragment has no ports; the first one has recorded the flow.
        if flow.ports.is_none() && flow.protocol.has_ports() {
            return;
        }
        let ports = flow.ports;
        let key = Key {
            protocol: flow.protocol.0,
            ue: (flow.src, ports.map(|ports| ports.src)),
            server: (server, ports.map(|ports| port.unwrap_or(ports.dst))),
        };
        self.0.retain(|known| known.key != key);
        if self.0.len() >= MAX_TRACKED {
            self.0.pop_front();
        }
        self.0.push_back(Redirected { key, origin: (flow.dst, ports.map(|ports| ports.dst)) });
    }

    /// The original destination in the flow of this downlink packet.
    pub(crate) fn origin(&self, flow: &Flow) -> Option<(IpAddr, Option<u16>)> {
        let key = Key {
            protocol: flow.protocol.0,
            ue: (flow.dst, flow.ports.map(|ports| ports.dst)),
            server: (flow.src, flow.ports.map(|ports| ports.src)),
        };
        let later_fragment = flow.ports.is_none() && flow.protocol.has_ports();
        let same = |known: &Key| match later_fragment {
            true => (known.protocol, known.ue.0, known.server.0) == (key.protocol, key.ue.0, key.server.0),
            false => *known == key,
        };
        self.0.iter().rev().find(|known| same(&known.key)).map(|known| known.origin)
    }
}

#[cfg(test)]
mod tests {
    use causeway_packet::{Fragment, IpProtocol, Ports};

    use super::*;

    const UE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 45, 0, 2));
    const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 80));

    fn flow(src: (IpAddr, u16), dst: (IpAddr, u16)) -> Flow {
        Flow {
            src: src.0,
            dst: dst.0,
            protocol: IpProtocol::UDP,
            ports: Some(Ports { src: src.1, dst: dst.1 }),
            tos: 0,
            flow_label: None,
            fragment: Fragment::Whole,
            spi: None,
        }
    }

    fn site(n: u16) -> (IpAddr, u16) {
        (IpAddr::from([198, 51, (n >> 8) as u8, n as u8]), 53)
    }

    // Input:  one flow more than are tracked; then the second flow again, and another new one.
    // Output: the first is discarded; the second is not, since it was used.
    #[test]
    fn the_longest_idle_flow_is_discarded() {
        let mut flows = RedirectedFlows::default();
        let last = MAX_TRACKED as u16;
        for n in (0..=last).chain([1, last + 1]) {
            flows.note(&flow((UE, n), site(n)), SERVER, None);
        }
        let origin = |n| flows.origin(&flow((SERVER, 53), (UE, n)));
        assert_eq!(origin(0), None);
        assert_eq!(origin(1), Some((site(1).0, Some(53))));
        assert_eq!(origin(2), None);
        assert_eq!(origin(last + 1), Some((site(last + 1).0, Some(53))));
        assert_eq!(flows.0.len(), MAX_TRACKED);
    }

    // Input:  one port of the UE towards two sites that are redirected to one server.
    // Output: responses have the site it last sent to as source.
    #[test]
    fn the_last_destination_stands_for_both() {
        let mut flows = RedirectedFlows::default();
        for n in [1, 2] {
            flows.note(&flow((UE, 7), site(n)), SERVER, None);
        }
        assert_eq!(flows.origin(&flow((SERVER, 53), (UE, 7))), Some((site(2).0, Some(53))));
    }
}
