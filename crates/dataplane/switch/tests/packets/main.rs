//! Packets through the tables of the UPF's P4 program, in every profile: on the model, and on BMv2 where it is installed.
//!
//! Both get the same entries and the same packets, and must do the same: frames octet by octet, drop reasons, counters. What the
//! model does not run (tunnels over IPv6, applications for all UEs at once, filters of one session each, frames of heavy hitters) is asked of BMv2 alone.

mod accel;
mod application_classes;
mod applications;
mod bench;
mod bmv2;
mod closed;
mod control;
mod counters;
mod forwarding;
mod frames;
mod heavy_hitters;
mod ipv6;
mod matching;
mod modelled;
mod own_filters;
mod profiles;
mod qos;
mod random;
mod refusals;
mod rules;
mod runtime;
mod software_ports;
mod tenants;
mod thrift;
mod tunnels_ipv6;
mod underlay;
mod world;
mod xplane;
mod xplane_accounts;
mod xplane_paging;
mod xplane_walk;

/// Ports of the switch: N3, N6, N9, the software UPF and the CPU.
const N3: u16 = 1;
const N6: u16 = 2;
const N9: u16 = 3;
const SOFTWARE: u16 = 4;
const CPU: u16 = 510;
