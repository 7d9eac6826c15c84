//! Addresses on the command line.

use std::net::{IpAddr, SocketAddr};

/// An address, with a port or without, for which `port` stands then.
///
/// # Errors
/// What is expected.
pub(crate) fn with_port(text: &str, port: u16) -> Result<SocketAddr, String> {
    let alone = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, port));
    alone.or_else(|_| text.parse()).map_err(|_| "an address, or an address and a port".to_owned())
}
