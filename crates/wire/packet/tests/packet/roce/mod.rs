//! RoCEv2 packets.

mod icrc;
mod packet;
mod tshark;
