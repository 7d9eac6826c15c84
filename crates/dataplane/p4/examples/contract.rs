//! Renews the generated contract from `p4/p4info`; run by `scripts/p4 contract`.

use std::error::Error;
use std::path::Path;

use causeway_p4::p4info::P4Info;
use causeway_p4::render::{PROFILES, names, profile};

fn main() -> Result<(), Box<dyn Error>> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut infos = Vec::new();
    for (name, constant) in PROFILES {
        let source = crate_dir.join("../../../p4/p4info").join(format!("{name}.bmv2.txtpb"));
        let said = |error: &dyn Error| format!("{}: {error}", source.display());
        let text = std::fs::read_to_string(&source).map_err(|error| said(&error))?;
        let info = P4Info::parse(&text).map_err(|error| said(&error))?;
        let target = crate_dir.join("src/profiles").join(format!("{}.rs", name.replace('-', "_")));
        std::fs::write(target, profile(name, constant, &info))?;
        infos.push(info);
    }
    std::fs::write(crate_dir.join("src/names.rs"), names(&infos))?;
    Ok(())
}
