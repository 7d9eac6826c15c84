//! The replication of sessions over a chain: all behaviours of small chains, and long random runs of larger ones.

mod all_behaviours;
mod explore;
mod random_runs;
mod tokens;
