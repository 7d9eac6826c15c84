//! Packets on the wire: exact octets, hostile octets, round trips, real ones.

mod application;
mod captures;
mod common;
mod gtpu;
mod ip;
mod oracle;
mod roce;
