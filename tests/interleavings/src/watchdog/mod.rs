//! The heartbeat of a thread, which a notifier holds.

pub(crate) use heartbeat::ThreadHeartbeat;

#[path = "../../../../crates/app/upf/src/watchdog/heartbeat.rs"]
mod heartbeat;
