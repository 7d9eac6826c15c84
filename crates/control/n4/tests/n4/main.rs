//! Scenarios of N4: an SMF, a UPF, a data plane, and time that the tests advance.

/// The number of parts that the sessions are in.
const PARTS: u8 = 1;

mod adoption;
mod associations;
mod bad_input;
mod chain;
mod chaos;
mod conflicts;
mod duplicates;
mod fixture;
mod graceful_release;
mod heartbeats;
mod memory;
mod overload;
mod paths;
mod pfds;
mod prefetch;
mod profiled_sessions;
mod purges;
mod races;
mod reconfigure;
mod reports;
mod reports_bounded;
mod retention;
mod routes;
mod sessions;
mod sets;
mod shutdown;
mod silent;
mod trust;
mod unassociated_peers;
mod wall_clock;
