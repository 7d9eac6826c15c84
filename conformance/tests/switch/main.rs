//! Every case against the switch: those that it supports pass, and `switch.yaml` says why the others do not; `switch-direct.yaml`
//! says where profile `direct` differs, `bmv2.yaml` where BMv2 does, in both.

mod bmv2;
#[path = "../../../crates/dataplane/p4runtime/tests/p4runtime/driver/bmv2_tools.rs"]
mod bmv2_tools;
mod grpc;
#[allow(dead_code, unreachable_pub, reason = "tests of the daemon need more of it")]
#[path = "../../../crates/app/upf/tests/upf/common/namespace.rs"]
mod namespace;
mod on_bmv2;
mod restart;
#[allow(dead_code, reason = "packet tests need more of it")]
#[path = "../../../crates/dataplane/switch/tests/packets/thrift.rs"]
mod thrift;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use causeway_conformance::{
    Backend, Case, CaseError, Outcome, SwitchBackend, Transcript, compare, load_all, load_fragments, run,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the switch advertises is less than what the recordings were made with.
const FEATURES: &str = "UP Function Features (43)";

/// Its features are other ones than those of the recording: that line is left out on both sides.
fn without_features(text: &str) -> String {
    text.lines().filter(|line| !line.contains(FEATURES)).map(|line| format!("{line}\n")).collect()
}

fn passes(case: &Case, backend: &dyn Backend) -> Result<(), String> {
    let fragments = load_fragments(&here().join("fragments.yaml")).map_err(|error| error.to_string())?;
    let seen: Result<Transcript, CaseError> = run(case, &fragments, backend);
    let seen = seen.map_err(|error| error.to_string())?;
    match compare(case, &seen.text, without_features).map_err(|error| error.to_string())? {
        Outcome::Same | Outcome::Recorded => Ok(()),
        Outcome::Differs { line, recorded, seen } => {
            Err(format!("line {line}\n  recorded: {recorded:?}\n  seen:     {seen:?}"))
        }
    }
}

/// Cases by the reason why the switch does not pass them.
type Listed = BTreeMap<String, BTreeSet<String>>;

/// How profile `direct` differs from that.
#[derive(Default, Deserialize)]
struct Differences {
    fails: Listed,
    passes: Listed,
}

fn read<T: DeserializeOwned>(file: &str) -> T {
    let text = std::fs::read_to_string(here().join(file)).unwrap_or_else(|error| panic!("{error}"));
    serde_yaml_ng::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// What cases are run on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    /// The model in profile `hip4`.
    Hip4,
    /// The model in profile `direct`.
    Direct,
    /// BMv2 in profile `hip4`.
    Bmv2,
    /// BMv2 in profile `direct`.
    Bmv2Direct,
}

impl On {
    /// The model of the same profile, whose cases alone are tried.
    const fn model(self) -> Option<Self> {
        match self {
            Self::Hip4 | Self::Direct => None,
            Self::Bmv2 => Some(Self::Hip4),
            Self::Bmv2Direct => Some(Self::Direct),
        }
    }
}

fn listed(file: &str) -> BTreeSet<String> {
    read::<Listed>(file).into_values().flatten().collect()
}

/// Cases that are not passed there.
fn unsupported(on: On) -> BTreeSet<String> {
    let (mut cases, differences) = match (on, on.model()) {
        (_, Some(model)) => {
            (unsupported(model), Differences { fails: read("bmv2.yaml"), ..Differences::default() })
        }
        (On::Direct, None) => (listed("switch.yaml"), read("switch-direct.yaml")),
        (_, None) => (listed("switch.yaml"), Differences::default()),
    };
    for case in differences.passes.into_values().flatten() {
        assert!(cases.remove(&case), "{case} is not listed in switch.yaml");
    }
    for case in differences.fails.into_values().flatten() {
        assert!(cases.insert(case.clone()), "{case} is listed in switch.yaml, too");
    }
    cases
}

// Input:  all cases, on the model of a switch in process.
// Output: each passes, or is listed with a reason; none is listed that passes or does not exist.
#[test]
fn the_switch_passes_what_it_supports() {
    check(&SwitchBackend::HIP4, On::Hip4);
}

// Input:  all cases, on the model of a switch in profile `direct` in process.
// Output: the same, but for what `switch-direct.yaml` says.
#[test]
fn profile_direct_passes_what_it_supports() {
    check(&SwitchBackend::DIRECT, On::Direct);
}

// Input:  all cases, on the model of a switch behind P4Runtime.
// Output: the same.
#[test]
fn the_switch_passes_what_it_supports_over_grpc() {
    check(&grpc::OverGrpc { profile: "hip4" }, On::Hip4);
}

// Input:  all cases, on the model of a switch in profile `direct` behind P4Runtime.
// Output: as in process.
#[test]
fn profile_direct_passes_what_it_supports_over_grpc() {
    check(&grpc::OverGrpc { profile: "direct" }, On::Direct);
}

fn check(backend: &dyn Backend, on: On) {
    let excused = unsupported(on);
    // What the model cannot do is not tried again on BMv2.
    let left_out = on.model().map(unsupported).unwrap_or_default();
    let cases = load_all(&here().join("cases")).unwrap_or_else(|error| panic!("{error}"));
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for case in &cases {
        let path = case.path.with_extension("");
        let name = path.strip_prefix(here().join("cases")).unwrap_or(&path).display().to_string();
        known.insert(name.clone());
        if left_out.contains(&name) {
            continue;
        }
        match (passes(case, backend), excused.contains(&name)) {
            (Ok(()), true) => wrong.push(format!("{name} passes: take it off the list")),
            (Err(error), false) => wrong.push(format!("{name}: {error}")),
            (Ok(()), false) | (Err(_), true) => {}
        }
    }
    wrong.extend(
        excused.iter().filter(|name| !known.contains(*name)).map(|name| format!("{name} is no case")),
    );
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
