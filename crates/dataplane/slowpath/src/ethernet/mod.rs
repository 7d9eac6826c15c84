//! Ethernet sessions (TS 29.244 clause 5.13, TS 23.501 clause 5.6.10.2).
//!
//! Each Ethernet data network is one link. The UPF learns from the source of uplink frames which session a MAC
//! address belongs to, and sends a downlink frame to the session of its destination. Group frames are sent to every
//! session of the network but the sender. The UPF does not switch between sessions: a frame from one UE to another is
//! sent to the network, and is received again if the network returns it.

mod explain;
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
