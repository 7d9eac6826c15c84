//! Every case against the switch: those that it supports pass, and `switch.yaml` says why the others do not; `switch-direct.yaml`
//! says where profile `direct` differs, `bmv2.yaml` where BMv2 does, in both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use causeway_conformance::{Backend, Case, SwitchBackend, compare, run};
use libtest_mimic::{Failed, Trial};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::grpc::OverGrpc;
use crate::{Suite, here, judge, name_of};

/// What the switch advertises is less than what the recordings were made with.
const FEATURES: &str = "UP Function Features (43)";

/// Its features are other ones than those of the recording: that line is left out on both sides.
fn without_features(text: &str) -> String {
    text.lines().filter(|line| !line.contains(FEATURES)).map(|line| format!("{line}\n")).collect()
}

fn passes(suite: &Suite, case: &Case, backend: &dyn Backend) -> Result<(), Failed> {
    let seen = run(case, &suite.fragments, backend)?;
    judge(compare(case, &seen.text, without_features)?)
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
pub(crate) enum On {
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

pub(crate) fn listed(file: &str) -> BTreeSet<String> {
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

/// A switch, its name in the names of tests, and what it does not pass.
type Plane = (&'static str, On, fn() -> Box<dyn Backend>);

/// The model of a switch in process and behind P4Runtime, in each profile.
const PLANES: [Plane; 4] = [
    ("hip4", On::Hip4, || Box::new(SwitchBackend::HIP4)),
    ("direct", On::Direct, || Box::new(SwitchBackend::DIRECT)),
    ("hip4-grpc", On::Hip4, || Box::new(OverGrpc { profile: "hip4" })),
    ("direct-grpc", On::Direct, || Box::new(OverGrpc { profile: "direct" })),
];

/// A test for each case on each of [`PLANES`], and one for each list.
pub(crate) fn trials(suite: &Arc<Suite>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (plane, on, backend) in PLANES {
        let excused = unsupported(on);
        for (place, name) in suite.named() {
            let (suite, is_excused) = (Arc::clone(suite), excused.contains(&name));
            trials.push(Trial::test(format!("{plane}::{name}"), move || {
                check(&suite, &suite.cases[place], backend().as_ref(), is_excused)
            }));
        }
        let suite = Arc::clone(suite);
        let name = format!("{plane}::the_list_names_cases");
        trials.push(Trial::test(name, move || the_list_names_cases(&suite, &excused)));
    }
    trials
}

// Input:  a case, on a switch.
// Output: it passes, or is listed with a reason; none is listed that passes.
pub(crate) fn check(
    suite: &Suite,
    case: &Case,
    backend: &dyn Backend,
    is_excused: bool,
) -> Result<(), Failed> {
    match (passes(suite, case, backend), is_excused) {
        (Ok(()), true) => Err("passes: take it off the list".into()),
        (Err(_), true) => Ok(()),
        (result, false) => result,
    }
}

// Input:  the cases that a switch does not pass, as listed.
// Output: there are cases of these names.
pub(crate) fn the_list_names_cases(suite: &Suite, excused: &BTreeSet<String>) -> Result<(), Failed> {
    let known: BTreeSet<String> = suite.named().map(|(_, name)| name).collect();
    match excused.difference(&known).next() {
        Some(name) => Err(format!("{name} is no case").into()),
        None => Ok(()),
    }
}

/// All cases in turn on one switch, which each finds as the one before it left it.
pub(crate) fn check_all(backend: &dyn Backend, on: On) {
    let suite = Suite::load().unwrap_or_else(|error| panic!("{error}"));
    let excused = unsupported(on);
    // What the model cannot do is not tried again on BMv2.
    let left_out = on.model().map(unsupported).unwrap_or_default();
    let mut wrong = Vec::new();
    for case in &suite.cases {
        let name = name_of(case);
        if left_out.contains(&name) {
            continue;
        }
        if let Err(error) = check(&suite, case, backend, excused.contains(&name)) {
            wrong.push(format!("{name}: {}", error.message().unwrap_or_default()));
        }
    }
    wrong.extend(
        the_list_names_cases(&suite, &excused).err().and_then(|error| error.message().map(str::to_owned)),
    );
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), suite.cases.len(), wrong.join("\n"));
}
