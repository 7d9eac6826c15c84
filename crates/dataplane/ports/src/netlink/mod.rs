//! The kernel's links, addresses, routes and neighbours.
//!
//! [`Netlink`] sends requests; [`RouteMonitor`] keeps a [`Table`] that follows the kernel's. Both belong to the
//! network namespace of the thread that opened them.

mod configure;
mod framed_route_table;
mod link;
mod link_events;
mod local_addresses;
mod neighbours;
mod request;
mod routes;
mod table;
mod watch;

pub use framed_route_table::{ROUTE_PROTOCOL, RouteTable};
pub use link::{Link, TunQueues};
pub use link_events::{LinkEvents, LinksChanged};
pub use local_addresses::AddressMonitor;
pub use neighbours::{MacAddr, Neighbour, Neighbours};
pub use request::Netlink;
pub use routes::{Route, RouteHop, Routes};
pub use table::{NextHop, Table, TableChange};
pub use watch::RouteMonitor;

use crate::PortError;

/// Rejects illegal interface names.
///
/// # Errors
/// [`PortError::BadName`].
pub fn check_name(name: &str) -> Result<(), PortError> {
    let legal = (1..libc::IFNAMSIZ).contains(&name.len())
        && name != "."
        && name != ".."
        && name.bytes().all(|octet| octet.is_ascii_graphic() && !matches!(octet, b'/' | b':' | b'%'));
    if legal { Ok(()) } else { Err(PortError::BadName { name: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_interfaces_are_checked() {
        assert!(check_name("n6").is_ok() && check_name("fifteen.letters").is_ok());
        for bad in ["", "sixteen.letters.", "a/b", "a b", ".", "n%d", "n:1", "ä"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
