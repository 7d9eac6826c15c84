//! Ethernet sessions (TS 29.244 clause 5.13, TS 23.501 clause 5.6.10.2).
//!
//! Each Ethernet data network is one link. The UPF learns behind which session a MAC address is from the
//! source of uplink frames, and sends a downlink frame to the session of its destination. Frames to groups
//! go to every session of the network but the one they come from. The UPF does not switch between sessions:
//! what a UE sends to another one goes out to the network, and comes back from there if the network sends it
//! back.

mod frame;
mod matching;
mod neighbours;
mod proxy;
mod receive;
mod report;
mod stations;
mod vlan;

pub(crate) use frame::Frame;
pub(crate) use neighbours::Neighbours;
pub(crate) use stations::Stations;
pub(crate) use vlan::set_tags;
