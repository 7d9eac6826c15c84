//! The profiles, and their programs for BMv2.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use causeway_p4::p4info::P4Info;
use causeway_p4::{Contract, Reason, profiles};
use causeway_switch::driver::{Action, Counter, Key, Meter, Parameter, Program, Register, Table};

/// How many programs this process has begun to compile.
static TRIES: AtomicU32 = AtomicU32::new(0);

/// A profile to be tested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile {
    /// As in `p4/README.md`.
    pub(crate) name: &'static str,
    /// What its program has.
    pub(crate) contract: &'static Contract,
    /// Its tunnels are of IPv6.
    pub(crate) is_outer_ipv6: bool,
    /// Applications are told apart for all UEs at once (APPLICATION_DETECTION): its contract has the drop reasons alone.
    pub(crate) has_applications: bool,
    /// Each row with a filter is one session's (FILTERS_PER_SESSION): its contract has the drop reasons alone.
    pub(crate) has_own_filters: bool,
    /// It finds heavy hitters (HEAVY_HITTERS): its contract has the drop reasons alone.
    pub(crate) has_heavy_hitters: bool,
    /// It finds application classes (APPLICATION_CLASSES): its contract has the drop reasons alone.
    pub(crate) has_classes: bool,
    /// A software data plane is behind it (SOFTWARE_PORTS).
    pub(crate) has_software: bool,
    /// VXLAN and the firewall are there as options: its contract has the names of the profile alone.
    pub(crate) has_segment_option: bool,
    /// The entries of UEs have the gNB's address (UE_METHOD=1).
    pub(crate) has_gnb_addresses: bool,
    /// The underlay of segments is IPv6 (UNDERLAY_IPV6).
    pub(crate) has_ipv6_underlay: bool,
}

impl Profile {
    fn of(contract: &'static Contract) -> Self {
        let name = contract.profile;
        Self {
            name,
            contract,
            is_outer_ipv6: false,
            has_applications: false,
            has_own_filters: false,
            has_heavy_hitters: false,
            has_classes: false,
            has_software: false,
            has_segment_option: false,
            has_gnb_addresses: false,
            has_ipv6_underlay: false,
        }
    }

    /// How many UEs profile `direct` is built for, where CAUSEWAY_PACKETS_UES tells: simple ones and complex ones.
    fn sizes(&self) -> Vec<String> {
        let told = std::env::var("CAUSEWAY_PACKETS_UES").unwrap_or_default();
        let ues: Vec<&str> = told.split_whitespace().collect();
        match ues[..] {
            [simple, complex] if self.name == "direct" => {
                vec![format!("-DSIMPLE_UES={simple}"), format!("-DCOMPLEX_UES={complex}")]
            }
            _ => Vec::new(),
        }
    }

    /// The model runs it, too.
    pub(crate) fn is_modelled(&self) -> bool {
        let variants =
            [self.has_applications, self.has_own_filters, self.has_heavy_hitters, self.has_classes];
        !self.is_outer_ipv6 && !variants.contains(&true)
    }

    /// Why it drops packets.
    pub(crate) const fn drop_reasons(&self) -> &'static [Reason] {
        if self.has_segment_option { profiles::THESIS.drop_reasons } else { self.contract.drop_reasons }
    }

    /// Its packets come from VXLAN segments, and leave to such.
    pub(crate) fn has_segments(&self) -> bool {
        self.has_segment_option || self.contract.table("vxlan_arrivals").is_some()
    }

    /// It is built by another command than `make p4`.
    fn is_variant(&self) -> bool {
        let variants = [
            self.has_applications,
            self.has_own_filters,
            self.has_heavy_hitters,
            self.has_classes,
            self.has_segment_option,
            self.has_gnb_addresses,
            self.has_ipv6_underlay,
        ];
        variants.contains(&true)
    }

    /// Its program. Those that are built by another command than `make p4` have no P4Info but the compiler's.
    pub(crate) fn program(&self) -> Program {
        if !self.is_variant() && self.sizes().is_empty() {
            return Program::from(self.contract);
        }
        let text = std::fs::read_to_string(compile(self).with_extension("txtpb")).unwrap();
        program(&P4Info::parse(&text).unwrap())
    }
}

/// All with tunnels of IPv4.
pub(crate) fn all() -> Vec<Profile> {
    let with_ipv4 = profiles::ALL.iter().filter(|contract| !contract.profile.ends_with("outer-ipv6"));
    with_ipv4.map(|contract| Profile::of(contract)).collect()
}

/// The one with tunnels of IPv6.
pub(crate) fn outer_ipv6() -> Profile {
    Profile { is_outer_ipv6: true, ..Profile::of(&profiles::HIP4_OUTER_IPV6) }
}

/// The one whose rules are tenants'.
pub(crate) fn thesis() -> Profile {
    Profile::of(&profiles::THESIS)
}

/// The same with the gNB's address in the entry of each UE.
pub(crate) fn thesis_method_1() -> Profile {
    Profile { has_gnb_addresses: true, ..thesis() }
}

/// The same in an underlay of IPv6.
pub(crate) fn thesis_over_ipv6() -> Profile {
    Profile { has_ipv6_underlay: true, ..thesis() }
}

/// Those that have VXLAN and the firewall as options.
pub(crate) fn with_segments() -> [Profile; 2] {
    let with = |contract| Profile { has_segment_option: true, ..Profile::of(contract) };
    [with(&profiles::HIP4), with(&profiles::DIRECT)]
}

/// Profile `hip4` with both, as it is committed.
pub(crate) fn vxlan() -> Profile {
    Profile { name: "hip4", ..Profile::of(&profiles::HIP4_VXLAN) }
}

/// The one that tells applications apart.
pub(crate) fn applications() -> Profile {
    Profile { has_applications: true, ..Profile::of(&profiles::HIP4) }
}

/// The one whose sessions have filters of their own.
pub(crate) fn own_filters() -> Profile {
    Profile { has_own_filters: true, ..Profile::of(&profiles::DIRECT) }
}

/// The one that finds heavy hitters.
pub(crate) fn heavy_hitters() -> Profile {
    Profile { has_heavy_hitters: true, ..Profile::of(&profiles::HIP4) }
}

/// The one that finds application classes.
pub(crate) fn application_classes() -> Profile {
    Profile { has_classes: true, ..Profile::of(&profiles::HIP4) }
}

/// The one in front of a software data plane.
pub(crate) fn in_front_of_software() -> Profile {
    Profile { name: "hip4", has_software: true, ..Profile::of(&profiles::HIP4_HYBRID) }
}

/// The same with the firewall.
pub(crate) fn in_front_with_firewall() -> Profile {
    Profile { name: "hip4", has_software: true, ..Profile::of(&profiles::HIP4_HYBRID_FIREWALL) }
}

/// The same with VXLAN, too.
pub(crate) fn in_front_with_segments() -> Profile {
    Profile { name: "hip4", has_software: true, ..Profile::of(&profiles::HIP4_HYBRID_VXLAN) }
}

/// The program of a profile for simple_switch, compiled unless it has been from the same sources by the same compiler.
pub(crate) fn compile(profile: &Profile) -> PathBuf {
    let base = profile.name.trim_end_matches("-outer-ipv6").to_uppercase().replace('-', "_");
    let mut options = vec![format!("-DPROFILE_{base}")];
    if profile.has_segments() {
        options.extend(["-DVXLAN", "-DFIREWALL"].map(str::to_owned));
    }
    if profile.has_ipv6_underlay {
        options.push("-DUNDERLAY_IPV6".to_owned());
    }
    if profile.has_gnb_addresses {
        options.push("-DUE_METHOD=1".to_owned());
    }
    let is_thesis = profile.name == profiles::THESIS.profile;
    options.push(if is_thesis { "-DACCOUNTING_PARTITIONS=1" } else { "-DINNER_IPV6" }.to_owned());
    if profile.is_outer_ipv6 {
        options.push("-DOUTER_IPV6".to_owned());
    }
    if profile.has_applications {
        options.push("-DAPPLICATION_DETECTION".to_owned());
    }
    if profile.has_own_filters {
        options.push("-DFILTERS_PER_SESSION".to_owned());
    }
    if profile.has_heavy_hitters {
        options.push("-DHEAVY_HITTERS".to_owned());
    }
    if profile.has_classes {
        options.push("-DAPPLICATION_CLASSES".to_owned());
    }
    if profile.has_software {
        options.push("-DSOFTWARE_PORTS".to_owned());
        if profile.contract.table("firewall_uplink").is_some() {
            options.push("-DFIREWALL".to_owned());
        }
    }
    options.sort_unstable();
    options.dedup();
    options.extend(profile.sizes());
    compile_main(profile.name, "upf.p4", &options)
}

/// A program of `p4/bmv2` for simple_switch with these options, compiled unless it has been from the same sources by the same compiler. `name`
/// is that of the output.
pub(crate) fn compile_main(name: &str, main: &str, options: &[String]) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../p4");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let compiled = folder.join(format!("{name}-{:016x}.json", fingerprint(&sources, options)));
    if compiled.is_file() {
        return compiled;
    }
    // Other tests may be at the same: each has a name of its own until the files are whole.
    let tries = TRIES.fetch_add(1, Ordering::Relaxed);
    let own = folder.join(format!("{name}-{}-{tries}.json", std::process::id()));
    let done = Command::new("p4c-bm2-ss")
        .args(["--std", "p4-16", "-o"])
        .arg(&own)
        .arg("--p4runtime-files")
        .arg(own.with_extension("txtpb"))
        .args(options)
        .arg(sources.join("bmv2").join(main))
        .output()
        .unwrap();
    assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    std::fs::rename(own.with_extension("txtpb"), compiled.with_extension("txtpb")).unwrap();
    std::fs::rename(own, &compiled).unwrap();
    compiled
}

fn fingerprint(sources: &Path, options: &[String]) -> u64 {
    let mut files = BTreeMap::new();
    for folder in ["blocks", "contract", "bmv2"] {
        for entry in std::fs::read_dir(sources.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            files.insert(path.clone(), std::fs::read(path).unwrap());
        }
    }
    let version = Command::new("p4c-bm2-ss").arg("--version").output().unwrap();
    let mut hasher = DefaultHasher::new();
    (files, options, version.stdout).hash(&mut hasher);
    hasher.finish()
}

/// The program that a P4Info tells of.
fn program(info: &P4Info) -> Program {
    let key = |key: &causeway_p4::p4info::Key| Key {
        name: key.name.clone(),
        width: key.width.try_into().unwrap(),
        kind: key.kind.into(),
    };
    let parameter = |(_, name, width): &(u32, String, u32)| Parameter {
        name: name.clone(),
        width: (*width).try_into().unwrap(),
    };
    let tables = info.tables.iter().map(|table| Table {
        id: table.id,
        name: table.name.clone(),
        size: table.size as usize,
        keys: table.keys.iter().map(key).collect(),
        actions: table.actions.clone(),
        is_const: table.is_const,
    });
    let actions = info.actions.iter().map(|action| Action {
        id: action.id,
        name: action.name.clone(),
        parameters: action.params.iter().map(parameter).collect(),
    });
    let counters = info.counters.iter().map(|counter| Counter {
        id: counter.id,
        name: counter.name.clone(),
        size: counter.size as usize,
        table: counter.table,
    });
    let meters = info.meters.iter().map(|meter| Meter {
        id: meter.id,
        name: meter.name.clone(),
        size: meter.size as usize,
    });
    let registers = info.registers.iter().map(|register| Register {
        id: register.id,
        name: register.name.clone(),
        size: register.size as usize,
        first: register.words[0].try_into().unwrap(),
        second: register.words.get(1).map(|width| (*width).try_into().unwrap()),
    });
    Program {
        tables: tables.collect(),
        actions: actions.collect(),
        counters: counters.collect(),
        meters: meters.collect(),
        registers: registers.collect(),
    }
}
