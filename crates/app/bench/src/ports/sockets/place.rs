//! A pair of ports with the kernel behind them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_lab::LabError;
use causeway_packet::Batch;
use causeway_ports::tun::{TunOptions, TunPort};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::{Counter, Port};
use causeway_types::IpNet;

/// Ports with or without the kernel's help, and sockets that talk to them.
pub(super) struct Place {
    /// Its addresses are 198.18.`number`.*.
    number: u8,
    /// The N3 port that is measured.
    pub(super) n3: UdpPort,
    /// The N6 port that is measured.
    pub(super) n6: TunPort,
    /// A gNB.
    pub(super) gnb: UdpPort,
    /// A server behind the TUN device.
    pub(super) server: UdpPort,
    pub(super) batch: Batch,
}

impl Place {
    /// Opens everything in the namespace of this thread.
    ///
    /// # Errors
    /// What cannot be opened.
    pub(super) fn open(number: u8, offload: bool) -> Result<Self, LabError> {
        let bind = |address: SocketAddr, offload| {
            let options = UdpOptions { offload, ..UdpOptions::default() };
            UdpPort::bind("bench", address, &options)
        };
        let device = format!("bench{number}");
        let addresses = vec![net(number)];
        let options = TunOptions { device, addresses, mtu: Some(1400), offload, ..TunOptions::default() };
        let local = |last| SocketAddr::new([127, 0, number, last].into(), 2152);
        Ok(Self {
            number,
            n6: TunPort::open("n6", &options)?,
            n3: bind(local(1), offload)?,
            gnb: bind(local(2), true)?,
            server: bind(SocketAddr::new(server(number).into(), SERVER), true)?,
            batch: Batch::new(),
        })
    }

    /// The UE behind the N3 port.
    pub(super) fn ue(&self) -> SocketAddr {
        SocketAddr::new(ue(self.number).into(), UE)
    }

    /// System calls of both ports so far.
    pub(super) fn calls(&self) -> u64 {
        let of = |port: &dyn Port| {
            port.counters().value(Counter::RxCalls) + port.counters().value(Counter::TxCalls)
        };
        of(&self.n3) + of(&self.n6)
    }
}

/// The port of the server.
pub(super) const SERVER: u16 = 7;

/// The port of the UE.
pub(super) const UE: u16 = 5000;

/// The server's address, that of the kernel on the TUN device.
pub(super) const fn server(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, number, 1)
}

/// The UE's address.
pub(super) const fn ue(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, number, 2)
}

fn net(number: u8) -> IpNet {
    IpNet::new_assert(IpAddr::V4(server(number)), 24)
}
