//! The errors of the daemon. Each message is one line that states the remedy.

use std::io;
use std::net::{IpAddr, SocketAddr};

use causeway_fastpath::index::ArenaError;
use causeway_hybrid::HybridError;
use causeway_ports::PortError;
use causeway_switch::backend::InProcessError;
use thiserror::Error;

use crate::host_networks::PoolConflict;
use crate::open::{AccessError, NatError};

/// A failure to start the daemon.
#[derive(Debug, Error)]
pub enum StartError {
    /// A packet port cannot be opened.
    #[error("{key}: {source}")]
    Port {
        /// The configuration key of the item.
        key: String,
        /// The cause and the remedy.
        source: PortError,
    },
    /// A pool would take addresses or a route of the host.
    #[error("{key}: {source}")]
    Pool {
        /// The configuration key.
        key: String,
        /// The cause and the remedy.
        source: PoolConflict,
    },
    /// The interfaces and routes of the host cannot be read.
    #[error("cannot read the interfaces and routes of this host: {0}")]
    Host(PortError),
    /// A socket of N4 or of the management server cannot be opened.
    #[error("{key}: cannot listen on {address}: {}", advice(source, *address, *transport))]
    Socket {
        /// The configuration key of the item.
        key: String,
        /// The address of the socket.
        address: SocketAddr,
        /// `udp` or `tcp`.
        transport: Transport,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The other member of the chain could not connect.
    #[error(
        "upf.chain.listen: cannot listen on {address}: {source}: give an address and port that are free on this host"
    )]
    Chain {
        /// The address of the socket.
        address: SocketAddr,
        /// The error of the kernel.
        source: io::Error,
    },
    /// Access to the management API cannot be opened.
    #[error("{key}: {source}")]
    Access {
        /// The configuration key.
        key: &'static str,
        /// The cause and the remedy.
        source: Box<AccessError>,
    },
    /// The addresses of UEs cannot be translated.
    #[error("{key}: {source}")]
    Nat {
        /// The configuration key.
        key: String,
        /// The cause and the remedy.
        source: NatError,
    },
    /// An interface has no usable address.
    #[error("{key}: interface {dev} has no address: add one with `ip address add`, or give `address`")]
    NoAddress {
        /// The configuration key of the item.
        key: String,
        /// The interface.
        dev: String,
    },
    /// An advertised address does not stand for one address.
    #[error(
        "{key}: {advertised} would stand for {count} addresses of the interface: give the `address`, or advertise none of this IP version"
    )]
    Advertise {
        /// The configuration key.
        key: String,
        /// The advertised address.
        advertised: IpAddr,
        /// The number of addresses of its IP version.
        count: usize,
    },
    /// The number of ports exceeds the limit of a packet thread.
    #[error(
        "{ports} packet ports are configured, {most} are possible: remove some from upf.gtpu.server or upf.session"
    )]
    TooManyPorts {
        /// The number of configured ports.
        ports: usize,
        /// The maximum number.
        most: usize,
    },
    /// A packet thread is pinned to a core that the process may not use.
    #[error("upf.workers.pin: this process may not run on core {core}, only on {}", list(allowed))]
    Core {
        /// The configured core.
        core: usize,
        /// The cores that the process may use.
        allowed: Vec<usize>,
    },
    /// The tables of the fast path exceed the available memory.
    #[error("cannot start: {source}; {}reduce upf.max_sessions, which determines the size of the tables", limited(limit.as_deref()))]
    Tables {
        /// The allocation that failed.
        source: ArenaError,
        /// The limit on address space, if there is one.
        limit: Option<String>,
    },
    /// A memory limit leaves too little memory.
    #[error("cannot start: {limit} is {octets}, of which {used} are in use: raise it to {needed} or more")]
    Memory {
        /// The name of the limit.
        limit: String,
        /// The value of the limit.
        octets: String,
        /// The memory in use.
        used: String,
        /// The smallest sufficient limit.
        needed: String,
    },
    /// The switch does not support the configured addresses and networks.
    #[error("upf.dataplane switch: {0}")]
    Switch(#[from] InProcessError),
    /// The switch of a hybrid data plane does not support the configured addresses and networks.
    #[error("upf.dataplane hybrid: {0}")]
    Hybrid(#[from] HybridError),
    /// The folder for the state of idle sessions cannot be used.
    #[error("upf.cold_storage.folder: {}: {source}: give a folder that this user may write to", folder.display())]
    ColdStorage {
        /// The folder.
        folder: std::path::PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// There is no socket for the memory server.
    #[error("upf.xplane.server: cannot send to {address}: {source}: check the address and the route to it")]
    MemoryServer {
        /// The address of the server.
        address: SocketAddr,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The tables of external memory do not fit into this process.
    #[error(
        "upf.xplane: the tables need {octets} octets, which this process cannot have: lower upf.xplane.ues, flows or idle_ues, or give \
         upf.xplane.server"
    )]
    XPlaneTables {
        /// Octets of the tables.
        octets: u64,
    },
    /// A memory limit leaves too little memory beside the tables of `upf.xplane`.
    #[error(
        "cannot start: the tables of upf.xplane take {tables}, and {limit} is {octets}: lower upf.xplane.ues, flows or idle_ues, give \
         upf.xplane.server, or raise the limit to {needed} or more"
    )]
    XPlaneMemory {
        /// The octets of the tables.
        tables: String,
        /// The name of the limit.
        limit: String,
        /// The value of the limit.
        octets: String,
        /// The smallest sufficient limit.
        needed: String,
    },
    /// The program of the switch finds no application classes.
    #[error("upf.traffic.classes.model: {NO_CLASSES}")]
    NoClasses,
    /// The program of the switch finds no heavy hitters.
    #[error("upf.traffic.heavy_hitters.threshold: {NO_HEAVY_HITTERS}")]
    NoHeavyHitters,
    /// The P4Runtime driver cannot start.
    #[cfg(feature = "p4runtime")]
    #[error("upf.switch: {0}")]
    Remote(#[from] causeway_p4runtime::OpenError),
    /// A switch is configured, and this binary was built without P4Runtime.
    #[cfg(not(feature = "p4runtime"))]
    #[error(
        "upf.switch: this binary was built without P4Runtime: take one with cargo feature `p4runtime`, which is on by default, or \
         remove upf.switch.address"
    )]
    WithoutP4Runtime,
    /// The system has no free thread or descriptor.
    #[error("cannot start: {0}: raise the limits of the process (`ulimit -n`, `ulimit -u`)")]
    Resources(#[from] io::Error),
}

/// Why a model of application classes is refused.
pub(crate) const NO_CLASSES: &str = "the P4 program of upf.switch.p4info finds no application classes: use hip4 or direct, compiled with \
                                     APPLICATION_CLASSES (P4_PROFILES=\"hip4-classes direct-classes\" scripts/p4), or remove the key";

/// Why a threshold of heavy hitters is refused.
pub(crate) const NO_HEAVY_HITTERS: &str = "the P4 program of upf.switch.p4info finds no heavy hitters: use hip4 or direct, compiled with \
                                           HEAVY_HITTERS (P4_PROFILES=\"hip4-heavy-hitters direct-heavy-hitters\" scripts/p4), or remove the key";

/// Why a new configuration is not put into force. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ReloadError {
    /// The daemon has ended.
    #[error("the daemon has ended")]
    Ended,
    /// What a key asks for is not possible.
    #[error("{key}: {why}")]
    Refused {
        /// The key.
        key: String,
        /// The cause and the remedy.
        why: String,
    },
}

/// The transport of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// UDP: N4.
    Udp,
    /// TCP: the management server.
    Tcp,
}

/// A failure that ended the daemon.
#[derive(Debug, Error)]
pub enum RunError {
    /// A packet port was lost.
    #[error("{0}")]
    Port(PortError),
    /// The runtime does not accept a socket.
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
            "no interface of this host has that address: add it with `ip address add`, or correct the configuration"
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

    // Input:  three kernel errors of sockets.
    // Output: one line each with the key, the address and the remedy.
    #[test]
    fn every_socket_error_names_the_remedy() {
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
