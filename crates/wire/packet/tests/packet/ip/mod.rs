//! IP, its transports and Ethernet on the wire: exact octets, hostile octets, round trips.

mod ethernet;
mod icmp;
mod ipv4;
mod ipv6;
mod rewrite;
mod rewrite_ends;
mod tcp_rewrite;
mod transport;
mod user_packet;
