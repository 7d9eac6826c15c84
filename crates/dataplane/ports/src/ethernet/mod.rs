//! Ports on Ethernet interfaces below IP, whatever moves their frames: what is for us, headers, next hops.

pub(crate) mod accept;
mod checksum;
mod device;
mod egress;
mod gtpu;
mod ip;
mod line;
mod waiting;

pub(crate) use device::{Device, Header, Received, Sum};
pub(crate) use egress::Egress;
pub(crate) use gtpu::{Gtpu, Kernel};
pub(crate) use ip::IpPackets;
pub(crate) use line::Line;
