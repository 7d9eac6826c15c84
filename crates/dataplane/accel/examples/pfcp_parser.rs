//! Writes the P4 text that is generated from the codec's IEs; run by `scripts/p4 pfcp`.

use std::path::Path;

use causeway_accel::switch::{ies, states};

fn main() -> std::io::Result<()> {
    let blocks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../p4/blocks");
    std::fs::write(blocks.join("pfcp_ies.p4"), ies())?;
    std::fs::write(blocks.join("pfcp_parser.p4"), states())
}
