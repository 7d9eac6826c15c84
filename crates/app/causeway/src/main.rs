//! Causeway, a 5G User Plane Function: the command line.

fn main() {}
