//! Filters of rules.

use std::net::IpAddr;

use causeway_switch::driver::FieldMatch;

use crate::bench::{Named, exactly, number};

/// A filter on the other end, each part if given.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Filter {
    pub(crate) remote: Option<IpAddr>,
    pub(crate) protocol: Option<u8>,
    pub(crate) dscp: Option<u8>,
    pub(crate) port: Option<u16>,
    /// Of IPv6 packets; it is where the remote address is.
    pub(crate) is_ipv6: bool,
}

pub(super) fn address(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => number(address.octets()),
        IpAddr::V6(address) => u128::from_be_bytes(address.octets()),
    }
}

impl Filter {
    /// Keys of a filter table; `remote` is the name of the key with the other end's address.
    pub(crate) fn keys(&self, is_uplink: bool, remote: &'static str) -> Vec<Named<FieldMatch>> {
        let mut keys = Vec::new();
        let width = if self.is_ipv6 { 128 } else { 32 };
        keys.extend(self.remote.map(|to| (remote, exactly(address(to), width))));
        keys.extend(self.protocol.map(|protocol| ("protocol", exactly(protocol, 8))));
        keys.extend(self.dscp.map(|dscp| ("dscp", exactly(dscp, 6))));
        let port = if is_uplink { "destination_port" } else { "source_port" };
        if let Some(value) = self.port {
            keys.extend([(port, exactly(value, 16)), ("has_ports", exactly(1_u8, 1))]);
        }
        keys
    }

    pub(super) fn family(&self) -> Named<FieldMatch> {
        (if self.is_ipv6 { "is_ipv6" } else { "is_ipv4" }, FieldMatch::Exact(1))
    }

    pub(super) fn table(&self, name: &str) -> String {
        if self.is_ipv6 { format!("{name}_ipv6") } else { name.to_owned() }
    }
}
