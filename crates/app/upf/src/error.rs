//! Why the daemon cannot start or go on: one line with what to do.

use std::io;
use std::net::SocketAddr;

use causeway_fastpath::index::ArenaError;
use causeway_ports::PortError;
use causeway_switch::backend::InProcessError;
use thiserror::Error;

use crate::worker::RemoteError;

/// Why the daemon cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A packet port cannot be opened.
    #[error("{key}: {source}")]
    Port {
        /// The key of the configuration that asks for it.
        key: String,
        /// Why, and what to do.
        source: PortError,
    },
    /// A socket of N4 or of the management server cannot be opened.
    #[error("{key}: cannot listen on {address}: {}", advice(source, *address, *transport))]
    Socket {
        /// The key of the configuration that asks for it.
        key: String,
        /// Where.
        address: SocketAddr,
        /// `udp` or `tcp`.
        transport: Transport,
        /// What the kernel says.
        source: io::Error,
    },
    /// An interface has no address to use.
    #[error("{key}: interface {dev} has no address: add one with `ip address add`, or give `address`")]
    NoAddress {
        /// The key of the configuration that asks for it.
        key: String,
        /// The interface.
        dev: String,
    },
    /// More ports than one packet thread can wait for.
    #[error(
        "{ports} packet ports are configured, {most} are possible: remove some from upf.gtpu.server or upf.session"
    )]
    TooManyPorts {
        /// How many there would be.
        ports: usize,
        /// How many are possible.
        most: usize,
    },
    /// A packet thread is to run where it cannot.
    #[error("upf.workers.pin: this process may not run on core {core}, only on {}", list(allowed))]
    Core {
        /// The core that is asked for.
        core: usize,
        /// Those there are for this process.
        allowed: Vec<usize>,
    },
    /// The tables of the fast path do not fit into the memory.
    #[error("cannot start: {source}; {}lower upf.max_sessions, which says how large the tables are", limited(limit.as_deref()))]
    Tables {
        /// What does not fit.
        source: ArenaError,
        /// The limit on address space, if there is one.
        limit: Option<String>,
    },
    /// A limit on memory leaves too little.
    #[error(
        "cannot start: {limit} is {octets}, of which {used} are used already: raise it to {needed} or more"
    )]
    Memory {
        /// What limits the memory.
        limit: String,
        /// The limit.
        octets: String,
        /// What of it is used.
        used: String,
        /// What would be enough.
        needed: String,
    },
    /// The switch cannot serve these addresses and networks.
    #[error("upf.dataplane switch: {0}")]
    Switch(#[from] InProcessError),
    /// The switch cannot be driven.
    #[error("upf.switch: {0}")]
    Remote(#[from] RemoteError),
    /// The system has no thread or descriptor left.
    #[error("cannot start: {0}: raise the limits of the process (`ulimit -n`, `ulimit -u`)")]
    Resources(#[from] io::Error),
}

/// The transport of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// UDP: N4.
    Udp,
    /// TCP: the management server.
    Tcp,
}

/// Why the daemon ended by itself.
#[derive(Debug, Error)]
pub enum RunError {
    /// A packet port was lost.
    #[error("{0}")]
    Port(PortError),
    /// A socket cannot be handed to the runtime.
    #[error("cannot use the sockets: {0}")]
    Sockets(io::Error),
    /// The packet thread or the control thread panicked.
    #[error("the {0} thread panicked; its message is above")]
    Panicked(&'static str),
}

fn limited(limit: Option<&str>) -> String {
    limit.map_or_else(String::new, |limit| format!("{limit}: raise it, or "))
}

fn list(cores: &[usize]) -> String {
    cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

fn advice(error: &io::Error, address: SocketAddr, transport: Transport) -> String {
    let (option, name) = match transport {
        Transport::Udp => ("u", "PFCP"),
        Transport::Tcp => ("t", "HTTP"),
    };
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "address in use: is another {name} process running? see `ss -{option}lnp sport = :{}`",
            address.port()
        ),
        io::ErrorKind::AddrNotAvailable => {
            "no interface here has that address: add it with `ip address add`, \
                                            or correct the address in the configuration"
                .into()
        }
        io::ErrorKind::PermissionDenied => {
            "permission denied: run as root, give CAP_NET_BIND_SERVICE, or choose a port above 1023".into()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  what the kernel says about three sockets.
    // Output: one line each with the key, the address and the cure.
    #[test]
    fn every_refusal_of_a_socket_names_the_cure() {
        let error = |kind: io::ErrorKind, transport| {
            let address = "127.0.0.7:8805".parse().unwrap();
            let key = "upf.pfcp.server[0]".into();
            StartError::Socket { key, address, transport, source: kind.into() }.to_string()
        };
        assert_eq!(
            error(io::ErrorKind::AddrInUse, Transport::Udp),
            "upf.pfcp.server[0]: cannot listen on 127.0.0.7:8805: address in use: is another PFCP process \
             running? see `ss -ulnp sport = :8805`"
        );
        assert!(error(io::ErrorKind::AddrNotAvailable, Transport::Udp).contains("ip address add"));
        assert!(error(io::ErrorKind::PermissionDenied, Transport::Tcp).contains("CAP_NET_BIND_SERVICE"));
    }
}
