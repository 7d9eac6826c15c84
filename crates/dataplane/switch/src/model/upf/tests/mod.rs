//! The packet path with the tables of each profile.

mod bench;
mod codes;
mod frames;
mod paths;
mod program;
mod refusals;

/// Ports of the tests.
const CPU: u16 = 64;
const SOFTWARE: u16 = 65;
const N3: u16 = 1;
const N6: u16 = 2;
const N9: u16 = 3;

/// Profiles that the model runs.
const PROFILES: [&str; 4] = ["baseline", "red", "red-spt", "hip4"];
