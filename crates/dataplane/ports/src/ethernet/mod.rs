//! Ports on Ethernet interfaces below IP, for any device: receive filter, headers, next hops.

mod checksum;
mod device;
mod egress;
mod gtpu;
mod interface;
mod ip;
mod neighbour_queue;
pub(crate) mod receive_filter;
mod recent_requests;

pub(crate) use device::{ChecksumState, Device, Header, Received};
pub(crate) use egress::Egress;
pub(crate) use gtpu::{Gtpu, Kernel};
pub(crate) use interface::EthernetInterface;
pub(crate) use ip::IpPackets;
