//! Prints which session messages of each SMF a data plane answers itself, and why not the others (`docs/accel.md`).
//!
//! ```text
//! cargo run -p causeway-conformance --example accel_shares [FOLDER]
//! ```
//!
//! Without a folder it replays the cases below `conformance/cases/dialects`.

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use causeway_conformance::{accel_shares, load_all, load_fragments};

fn main() -> Result<(), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::args_os().nth(1).map_or_else(|| here.join("cases/dialects"), PathBuf::from);
    let cases = load_all(&folder)?;
    let fragments = load_fragments(&here.join("fragments.yaml"))?;
    let table = accel_shares(&cases, &fragments, usize::MAX)?;
    Ok(std::io::stdout().write_all(table.as_bytes())?)
}
