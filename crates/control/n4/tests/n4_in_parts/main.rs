//! The scenarios of N4 in several parts. Each part handles alone what it can, as in a thread of its own.

/// The number of parts that the sessions are in.
const PARTS: u8 = 3;

mod alone;
#[path = "../n4/associations.rs"]
mod associations;
#[path = "../n4/bad_input.rs"]
mod bad_input;
#[path = "../n4/chaos.rs"]
mod chaos;
#[path = "../n4/conflicts.rs"]
mod conflicts;
mod conflicts_of_parts;
#[path = "../n4/duplicates.rs"]
mod duplicates;
mod epochs;
mod equal;
#[path = "../n4/fixture/mod.rs"]
mod fixture;
#[path = "../n4/graceful_release.rs"]
mod graceful_release;
#[path = "../n4/heartbeats.rs"]
mod heartbeats;
#[path = "../n4/memory.rs"]
mod memory;
mod numbers;
mod order;
#[path = "../n4/overload.rs"]
mod overload;
#[path = "../n4/paths.rs"]
mod paths;
#[path = "../n4/pfds.rs"]
mod pfds;
#[path = "../n4/profiled_sessions/mod.rs"]
mod profiled_sessions;
#[path = "../n4/purges.rs"]
mod purges;
#[path = "../n4/races.rs"]
mod races;
#[path = "../n4/reconfigure.rs"]
mod reconfigure;
#[path = "../n4/reports.rs"]
mod reports;
#[path = "../n4/reports_bounded.rs"]
mod reports_bounded;
mod requests;
#[path = "../n4/retention.rs"]
mod retention;
#[path = "../n4/routes.rs"]
mod routes;
#[path = "../n4/sessions.rs"]
mod sessions;
#[path = "../n4/sets.rs"]
mod sets;
#[path = "../n4/shutdown.rs"]
mod shutdown;
#[path = "../n4/silent.rs"]
mod silent;
mod threads;
#[path = "../n4/trust.rs"]
mod trust;
#[path = "../n4/unassociated_peers.rs"]
mod unassociated_peers;
#[path = "../n4/wall_clock.rs"]
mod wall_clock;
