//! Socket addresses in the kernel's layout.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use arrayvec::ArrayVec;

use crate::sys::mmsg::NAME;

/// `struct sockaddr_in` or `sockaddr_in6`.
pub(super) struct SocketName(ArrayVec<u8, NAME>);

impl SocketName {
    pub(super) fn new(address: SocketAddr) -> Self {
        let mut name = ArrayVec::new();
        match address {
            SocketAddr::V4(v4) => {
                name.extend((libc::AF_INET as u16).to_ne_bytes());
                name.extend(v4.port().to_be_bytes());
                name.extend(v4.ip().octets());
                name.extend([0; 8]);
            }
            SocketAddr::V6(v6) => {
                name.extend((libc::AF_INET6 as u16).to_ne_bytes());
                name.extend(v6.port().to_be_bytes());
                name.extend(v6.flowinfo().to_be_bytes());
                name.extend(v6.ip().octets());
                name.extend(v6.scope_id().to_ne_bytes());
            }
        }
        Self(name)
    }

    pub(super) fn octets(&self) -> &[u8] {
        &self.0
    }
}

/// Reads a name that the kernel wrote. `None` for another family.
pub(super) fn parse(name: &[u8]) -> Option<SocketAddr> {
    let (family, name) = name.split_first_chunk::<2>()?;
    let (port, name) = name.split_first_chunk::<2>()?;
    let port = u16::from_be_bytes(*port);
    match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET => {
            let (ip, _) = name.split_first_chunk::<4>()?;
            Some(SocketAddrV4::new(Ipv4Addr::from(*ip), port).into())
        }
        libc::AF_INET6 => {
            let (_, name) = name.split_first_chunk::<4>()?;
            let (ip, name) = name.split_first_chunk::<16>()?;
            let (scope, _) = name.split_first_chunk::<4>()?;
            Some(SocketAddrV6::new(Ipv6Addr::from(*ip), port, 0, u32::from_ne_bytes(*scope)).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_round_trip() {
        for text in ["192.0.2.1:2152", "[2001:db8::1]:65535", "[fe80::1%7]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(parse(SocketName::new(address).octets()), Some(address));
        }
    }

    #[test]
    fn a_cut_or_foreign_address_is_none() {
        let name = SocketName::new("192.0.2.1:2152".parse().unwrap());
        assert_eq!(parse(&name.octets()[..7]), None);
        assert_eq!(parse(&[1, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
