//! The open sockets and ports of N4, until they are in the threads that receive from them.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

use causeway_n4::ApplyId;
use causeway_ports::Port;
use causeway_ports::udp::SocketSelection;

use crate::clock::Clock;
use crate::config::{Config, Upf};
use crate::control::{N4InPacketThread, SharedControl, SharedSockets, Sockets};
use crate::error::StartError;
use crate::host_addresses::{GuardedAddress, HostWatch, descriptor, forget};
use crate::open;
use crate::worker::{PortCounters, PortSet, WorkerSetup};

/// The sockets of each thread that receives N4, and the ports below IP.
pub(super) struct OpenN4 {
    sockets: Vec<Vec<UdpSocket>>,
    ports: Vec<Box<dyn Port>>,
}

impl OpenN4 {
    /// Opens them. With `upf.pfcp.accelerate` so many packet threads receive, otherwise the control thread.
    ///
    /// # Errors
    /// As for [`crate::Daemon::start`].
    pub(super) fn open(upf: &Upf, packet_threads: usize) -> Result<Self, StartError> {
        let receivers = if upf.pfcp.accelerate { packet_threads.max(1) } else { 1 };
        Ok(Self { sockets: open::n4_sockets(upf, receivers)?, ports: open::n4_ports(&upf.pfcp)? })
    }

    /// The number of threads that receive.
    pub(super) fn threads(&self) -> usize {
        self.sockets.len()
    }

    /// The N4 addresses of the UPF.
    ///
    /// # Errors
    /// The error of the kernel.
    pub(super) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.sockets.iter().take(1).flatten().map(UdpSocket::local_addr).collect()
    }

    /// The counters of the ports.
    pub(super) fn counters(&self) -> impl Iterator<Item = PortCounters> {
        self.ports.iter().map(|port| PortCounters {
            name: port.name().to_owned(),
            counters: Arc::clone(port.counters()),
            qos_flows: None,
        })
    }

    /// Creates the watch of the host. Has the N4 sockets, and those of N3 among these ports, receive from the permitted interfaces.
    pub(super) fn host_watch(&self, config: &Config, ports: &mut [PortSet]) -> Result<HostWatch, StartError> {
        let of_n4 =
            self.sockets.iter().flatten().map(|socket| Ok((socket.local_addr()?, descriptor(socket)?)));
        let of_n4 = of_n4.collect::<io::Result<_>>()?;
        let of_n3 = ports.iter_mut().flat_map(PortSet::take_sockets).collect();
        let (pfcp, gtpu) = (&config.upf.pfcp.accept_from, &config.upf.gtpu.accept_from);
        let n4_key = ("N4", "upf.pfcp.accept_from", pfcp);
        let mut sockets = GuardedAddress::of(n4_key, SocketSelection::PfcpSession, of_n4);
        let n3_key = ("N3", "upf.gtpu.accept_from", gtpu);
        sockets.extend(GuardedAddress::of(n3_key, SocketSelection::Peer, of_n3));
        let watch = HostWatch::new(config, sockets);
        self.sockets.iter().flatten().for_each(forget);
        Ok(watch)
    }

    /// The sockets of each thread that receives N4. Packet threads get theirs with `upf.pfcp.accelerate`, the first one the ports as well.
    pub(super) fn into_threads(
        self,
        upf: &Upf,
        setups: &mut [WorkerSetup<ApplyId>],
        (shared, clock): (&Arc<SharedControl>, Clock),
    ) -> Result<Vec<SharedSockets>, StartError> {
        let Self { sockets, ports } = self;
        let mut ports = Some(ports);
        let (mut all, mut setups) = (Vec::new(), setups.iter_mut());
        for (number, sockets) in sockets.into_iter().enumerate() {
            let ports = ports.take().unwrap_or_default();
            let of_ports = ports.iter().filter_map(|port| port.poll_fd()).map(descriptor);
            let descriptors = sockets.iter().map(descriptor).chain(of_ports).collect::<io::Result<_>>()?;
            let sockets = Sockets::new(sockets, upf.offload)?.with_ports(ports);
            let sockets = Arc::new(Mutex::new(sockets));
            if let Some(setup) = setups.next().filter(|_| upf.pfcp.accelerate) {
                let ends = (Arc::clone(&sockets), descriptors);
                setup.n4 = Some(Box::new(N4InPacketThread::new(number, Arc::clone(shared), clock, ends)));
            }
            all.push(sockets);
        }
        Ok(all)
    }
}
