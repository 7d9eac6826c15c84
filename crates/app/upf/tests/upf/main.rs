//! The daemon and its parts from outside: configuration, packet threads, and whole daemons on sockets and devices.

mod common;
mod config_errors;
mod config_keys;
mod config_steering;
mod daemon;
mod framed_routes;
mod log_lines;
mod management;
mod management_access;
mod management_api;
mod management_trace;
mod monitoring;
mod n4_trust;
mod own_addresses;
mod packet_thread;
mod ports_come_back;
mod relay;
mod reload;
mod routing;
mod several_workers;
mod switch;
mod tap;
mod tun;
mod wall_clock;
mod workers;
mod xdp;
