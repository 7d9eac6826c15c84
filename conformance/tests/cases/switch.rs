//! Every case against the switch: those that it supports pass, and `switch.yaml` says why the others do not; `switch-direct.yaml`
//! says where profile `direct` differs, `bmv2.yaml` where BMv2 does, in both.

use std::collections::BTreeSet;
use std::sync::Arc;

use causeway_conformance::{Backend, SwitchBackend};
use libtest_mimic::Trial;
use serde::Deserialize;

use crate::grpc::OverGrpc;
use crate::listed::{self, Listed, check, listed, read, the_list_names_cases};
use crate::{Suite, name_of};

/// How profile `direct` differs from that.
#[derive(Default, Deserialize)]
struct Differences {
    fails: Listed,
    passes: Listed,
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
    ("hip4-grpc", On::Hip4, || Box::new(OverGrpc(SwitchBackend::HIP4))),
    ("direct-grpc", On::Direct, || Box::new(OverGrpc(SwitchBackend::DIRECT))),
];

/// A test for each case on each of [`PLANES`], and one for each list.
pub(crate) fn trials(suite: &Arc<Suite>) -> Vec<Trial> {
    let of = |(plane, on, backend)| listed::trials(suite, plane, unsupported(on), backend);
    PLANES.into_iter().flat_map(of).collect()
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
