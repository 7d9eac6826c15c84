//! Committed files are consistent: P4Info of both targets, and the generated code.

use std::path::{Path, PathBuf};
use std::process::Command;

use causeway_p4::p4info::P4Info;
use causeway_p4::render::{PROFILES, names, profile};

fn committed(profile: &str, target: &str) -> PathBuf {
    let name = format!("../../../p4/p4info/{profile}.{target}.txtpb");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(path: &Path) -> P4Info {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    P4Info::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

// Input:  the P4Info of each profile, and the code in `src/profiles`.
// Output: that code is the present output for the P4Info.
#[test]
fn the_generated_contract_is_not_stale() {
    for (name, constant) in PROFILES {
        let file = format!("src/profiles/{}.rs", name.replace('-', "_"));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let stands = std::fs::read_to_string(&path).unwrap();
        let becomes = profile(name, constant, &read(&committed(name, "bmv2")));
        assert!(stands == becomes, "{} is stale: run scripts/p4 contract", path.display());
    }
}

// Input:  the P4Info of all profiles, and the constants in `src/names.rs`.
// Output: these are the present output for the P4Info, so code that names an object that no program has does not compile.
#[test]
fn the_generated_names_are_not_stale() {
    let infos: Vec<P4Info> = PROFILES.iter().map(|(name, _)| read(&committed(name, "bmv2"))).collect();
    let stands = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/names.rs"));
    assert!(stands == names(&infos), "src/names.rs is stale: run scripts/p4 contract");
}

// Input:  the sizes that were tried on Tofino 1, and their chart.
// Output: the chart is the present output for the table.
#[test]
fn the_picture_of_capacity_is_not_stale() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let done = Command::new("p4/plot").arg("check").current_dir(root).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

// Input:  every profile.
// Output: each drop reason has its number in all of them, and no number has two names; `thesis` has more of them.
#[test]
fn reasons_are_the_same_in_every_profile() {
    use causeway_p4::profiles::{ALL, HIP4, THESIS};
    assert!(HIP4.drop_reasons.len() > 10);
    let of_thesis = THESIS.drop_reasons.get(..HIP4.drop_reasons.len());
    assert_eq!(of_thesis, Some(HIP4.drop_reasons));
    for contract in ALL.into_iter().chain([&THESIS]) {
        assert!(
            contract.profile == "thesis" || contract.drop_reasons == HIP4.drop_reasons,
            "{}",
            contract.profile
        );
        assert_eq!(contract.punt_reasons, HIP4.punt_reasons, "{}", contract.profile);
        assert_eq!(contract.cpu_commands, HIP4.cpu_commands, "{}", contract.profile);
        for reasons in [contract.drop_reasons, contract.punt_reasons, contract.cpu_commands] {
            let mut values: Vec<_> = reasons.iter().map(|reason| reason.value).collect();
            values.sort_unstable();
            values.dedup();
            assert_eq!(values.len(), reasons.len(), "{}", contract.profile);
        }
    }
}
