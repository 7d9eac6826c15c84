//! The fuzz targets of Causeway: one for every decoder, one for session messages that the data plane answers itself, and one for the UPF as a whole.
//!
//! A target is a function of any octets that returns, or panics where something is wrong. `scripts/fuzz` runs them with libFuzzer; the tests of this
//! crate run each on its seeds and on changed ones.
//!
//! ```
//! let run = causeway_fuzz::target("packet_gtpu").ok_or("no such target")?;
//! run(&[0x30, 0xff, 0, 0, 0, 0, 0, 1]);
//! # Ok::<(), &str>(())
//! ```

pub mod accel_messages;
pub mod accel_punted;
pub mod chain_frames;
pub mod chain_records;
pub mod class_model;
pub mod cold_record;
pub mod p4runtime;
pub mod packet_application;
pub mod packet_gtpu;
pub mod packet_ip;
pub mod packet_roce;
pub mod packet_vxlan;
pub mod pfcp_ies;
pub mod pfcp_message;
pub mod upf_script;
pub mod xplane_records;

#[allow(dead_code, reason = "tests of the crate use more of it")]
#[path = "../../crates/dataplane/accel/tests/accel/both.rs"]
mod both;
#[allow(dead_code, reason = "tests of the crate use more of it")]
#[path = "../../crates/dataplane/accel/tests/accel/p4.rs"]
mod p4;
#[allow(dead_code, reason = "tests of the crate use more of it")]
#[path = "../../crates/dataplane/accel/tests/accel/world.rs"]
mod world;

/// A target: handles any octets, and panics where something is wrong.
pub type Target = fn(&[u8]);

/// All targets by their names, which are those of their modules and of the folders of their seeds.
pub const TARGETS: [(&str, Target); 16] = [
    ("accel_messages", accel_messages::run),
    ("accel_punted", accel_punted::run),
    ("chain_frames", chain_frames::run),
    ("chain_records", chain_records::run),
    ("class_model", class_model::run),
    ("cold_record", cold_record::run),
    ("p4runtime", p4runtime::run),
    ("packet_application", packet_application::run),
    ("packet_gtpu", packet_gtpu::run),
    ("packet_ip", packet_ip::run),
    ("packet_roce", packet_roce::run),
    ("packet_vxlan", packet_vxlan::run),
    ("pfcp_ies", pfcp_ies::run),
    ("pfcp_message", pfcp_message::run),
    ("upf_script", upf_script::run),
    ("xplane_records", xplane_records::run),
];

/// The target of this name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, run)| *run)
}
