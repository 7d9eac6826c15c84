//! RoCEv2 packets.

mod icrc;
mod management;
mod packet;
mod tshark;
