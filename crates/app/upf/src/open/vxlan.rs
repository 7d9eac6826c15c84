//! VXLAN segments: one socket for each local address and worker, one port for each segment.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use causeway_packet::vxlan::PORT;
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::vxlan::{SOURCE_PORTS, SegmentTraffic, VxlanEndpoint, VxlanPort};
use causeway_ports::{Port, PortError};

use crate::config::VxlanSegment;
use crate::worker::PortSet;

/// UDP source ports of a worker at an address. More of them spread flows more evenly, and send fewer datagrams in a message.
const SENDERS: usize = 8;

/// The local ends of segments, of each worker.
#[derive(Default)]
pub(super) struct VxlanEndpoints {
    open: BTreeMap<(String, IpAddr), (VxlanEndpoint, String)>,
}

impl VxlanEndpoints {
    /// Opens a segment for a worker, and says how.
    ///
    /// # Errors
    /// The error of the socket.
    pub(super) fn port(
        &mut self,
        set: &PortSet,
        (name, segment): (&str, &VxlanSegment),
        traffic: SegmentTraffic,
        offload: bool,
    ) -> Result<(VxlanPort, String), PortError> {
        let carrier_name = set.port_name(&format!("vxlan-{}", segment.local));
        let key = (carrier_name.clone(), segment.local);
        if !self.open.contains_key(&key) {
            let options =
                UdpOptions { dont_fragment: true, offload, share: set.share(), ..UdpOptions::default() };
            let carrier = UdpPort::bind(&carrier_name, SocketAddr::new(segment.local, PORT), &options)?;
            let (how, local) = (carrier.offload().to_string(), carrier.local());
            let mut senders: Vec<Box<dyn Port>> = Vec::new();
            for _ in 0..SENDERS {
                let sender = UdpPort::bind_sender(&carrier_name, segment.local, SOURCE_PORTS, &options)?;
                senders.push(Box::new(sender));
            }
            let endpoint = VxlanEndpoint::new(Box::new(carrier), local).with_senders(senders);
            self.open.insert(key.clone(), (endpoint, how));
        }
        let Some((endpoint, offload)) = self.open.get(&key) else { unreachable!("it was just opened") };
        let port = endpoint.add(name, segment.segment(), traffic)?;
        let VxlanSegment { vni, local, remote, .. } = segment;
        let how = format!("VXLAN segment {vni} from {local} to {remote} with {offload}, MTU {}", port.mtu());
        Ok((port, how))
    }
}
