//! Stories of N4: an SMF, a UPF, a data plane, and time that the tests pass.

mod alike;
mod associations;
mod bad_input;
mod chaos;
mod conflicts;
mod duplicates;
mod farewell;
mod foreseen;
mod heartbeats;
mod memory;
mod overload;
mod paths;
mod pfds;
mod purges;
mod races;
mod reports;
mod reports_bounded;
mod retention;
mod routes;
mod sessions;
mod sets;
mod shutdown;
mod strangers;
mod trust;
mod wall_clock;
mod world;
