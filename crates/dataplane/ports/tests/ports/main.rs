//! Ports between namespaces, on loopback and in memory.

mod capture;
mod common;
mod ethernet;
mod faulty;
mod monitor;
mod netlink;
mod segments;
mod shared;
mod tap;
mod tun;
mod tun_offload;
mod udp;
mod udp_offload;
mod vxlan;
mod xdp;
mod xdp_attach;
