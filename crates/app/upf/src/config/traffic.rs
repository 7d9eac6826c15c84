//! What is looked for in the traffic.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use causeway_class_model::ModelFile;
use causeway_dataplane::{FlowKind, HeavyHitterSettings, Threshold};
use causeway_model::TrafficClasses;
use causeway_switch::classes::ModelRefused;
use causeway_switch::heavy_hitters;
use causeway_types::{Bitrate, Span};
use serde::Serialize;

use super::data_plane::DataPlane;
use super::enums::HeavyFlow;
use super::model::Upf;
use super::problem::Problem;
use super::section::Section;
use super::serialize::{octets, shown_if_any, span};
use super::{quantities, values};

/// What is looked for in the traffic.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Traffic {
    /// Flows of a high rate.
    pub heavy_hitters: HeavyHitters,
    /// Application classes.
    pub classes: Classes,
}

/// Application classes: the shape of a session's packets decides.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Classes {
    /// The model file; `None`: there are no classes.
    #[serde(serialize_with = "path_if_any", skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// Its content.
    #[serde(skip)]
    pub(crate) loaded: Option<Arc<TrafficClasses>>,
}

/// The largest model file, in octets.
const MAX_MODEL: u64 = 1 << 20;

impl Classes {
    fn read(classes: &mut Section<'_>) -> Self {
        Self {
            model: classes.value("model", |text: &str| values::text(text).map(PathBuf::from)),
            loaded: None,
        }
    }

    /// Reads the model file, if one is named, as [`Config::load`](super::Config::load) does.
    ///
    /// # Errors
    /// [`Problem::Model`]: the file cannot be read, or is no model. The classes stay what they were.
    pub fn load(&mut self) -> Result<(), Problem> {
        let Some(path) = &self.model else {
            self.loaded = None;
            return Ok(());
        };
        let named = |why: String| Problem::Model { path: path.clone(), why };
        let octets = causeway_file::read(path, MAX_MODEL).map_err(|error| named(error.to_string()))?;
        let file = ModelFile::decode(&octets).map_err(|error| named(error.to_string()))?;
        let classes = TrafficClasses::new(file.model()).map_err(|error| named(error.to_string()))?;
        self.loaded = Some(Arc::new(classes));
        Ok(())
    }
}

fn path_if_any<S: serde::Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    shown_if_any(&path.as_ref().map(|path| path.display()), serializer)
}

impl Traffic {
    pub(super) fn read(traffic: &mut Section<'_>) -> Self {
        Self {
            heavy_hitters: traffic.section("heavy_hitters", HeavyHitters::read),
            classes: traffic.section("classes", Classes::read),
        }
    }
}

/// How heavy hitters are looked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HeavyHitters {
    /// From which rate on a flow is heavy; `None`: heavy hitters are not looked for.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub threshold: Option<FlowRate>,
    /// The time over which rates are measured.
    #[serde(serialize_with = "span")]
    pub window: Span,
    /// Memory of the counts of each packet thread, in octets.
    #[serde(serialize_with = "octets")]
    pub memory: u64,
    /// What is one flow.
    pub flow: HeavyFlow,
}

impl Default for HeavyHitters {
    fn default() -> Self {
        Self { threshold: None, window: Span::from_secs(1), memory: 1 << 20, flow: HeavyFlow::UeAddress }
    }
}

impl HeavyHitters {
    fn read(heavy: &mut Section<'_>) -> Self {
        let default = Self::default();
        Self {
            threshold: heavy.value("threshold", FlowRate::read),
            window: heavy.value("window", quantities::positive_span).unwrap_or(default.window),
            memory: heavy.value("memory", quantities::octets).unwrap_or(default.memory),
            flow: heavy.value("flow", values::word).unwrap_or_default(),
        }
    }

    /// The time over which this data plane measures rates.
    pub(crate) fn window_of(&self, dataplane: DataPlane) -> Span {
        if dataplane.is_switch() { heavy_hitters::WINDOW } else { self.window }
    }

    /// The settings of the data plane, with an unpredictable seed; `None`: heavy hitters are not looked for.
    pub(crate) fn settings(&self, seed: u64) -> Option<HeavyHitterSettings> {
        Some(HeavyHitterSettings {
            threshold: self.threshold?.0,
            window: self.window,
            memory: usize::try_from(self.memory).unwrap_or(usize::MAX),
            kind: match self.flow {
                HeavyFlow::UeAddress => FlowKind::UeAddress,
                HeavyFlow::FiveTuple => FlowKind::FiveTuple,
            },
            seed,
        })
    }
}

/// The rate of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRate(pub Threshold);

impl FlowRate {
    /// A bit rate, or packets a second: `5000pps`.
    fn read(text: &str) -> Result<Self, Problem> {
        let packets = text.strip_suffix("pps").and_then(|number| number.trim_end().parse::<u64>().ok());
        let bits = || quantities::bitrate(text).ok().map(|rate| rate.kbps().saturating_mul(1000));
        let rate = packets.map(Threshold::PacketsPerSecond).or_else(|| bits().map(Threshold::BitsPerSecond));
        rate.map(Self).ok_or_else(|| {
            values::wrong(text, "a bit rate or a rate of packets, for example 20Mbps or 5000pps")
        })
    }
}

impl fmt::Display for FlowRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Threshold::PacketsPerSecond(packets) => write!(f, "{packets}pps"),
            Threshold::BitsPerSecond(bits) => {
                // It was read as a bit rate.
                f.write_str(&quantities::bitrate_text(
                    Bitrate::from_kbps(bits / 1000).unwrap_or(Bitrate::MAX),
                ))
            }
        }
    }
}

/// Why the data plane cannot decide as the model that was read does.
pub(super) fn check_model(upf: &Upf) -> Result<(), Problem> {
    let Classes { model: Some(path), loaded: Some(classes) } = &upf.traffic.classes else { return Ok(()) };
    if !upf.dataplane.is_switch() {
        return Ok(());
    }
    let refused = |error: ModelRefused| Problem::Model { path: path.clone(), why: error.to_string() };
    causeway_switch::classes::check(classes.model()).map_err(refused)
}

/// The problems of the search for heavy hitters on a switch, whose window and memory are those of its program. The defaults mean these.
fn check_switch(traffic: &Traffic) -> Vec<(String, Problem)> {
    let Traffic { heavy_hitters: heavy, classes } = traffic;
    let default = HeavyHitters::default();
    let has = |has| Problem::SwitchHeavyHitters { has };
    let refused = heavy.threshold.and_then(|rate| heavy_hitters::with_threshold(rate.0).err());
    let problems = [
        ("threshold", refused.map(Problem::from)),
        ("threshold", classes.model.is_some().then_some(Problem::SwitchTrafficBoth)),
        ("window", (heavy.window != default.window).then(|| has("the packets of 805 ms"))),
        ("memory", (heavy.memory != default.memory).then(|| has("8,192 flows at a time"))),
        ("flow", (heavy.flow != default.flow).then(|| has("the packets of UEs"))),
    ];
    let keyed = |(key, problem): (_, Option<_>)| Some((format!("upf.traffic.heavy_hitters.{key}"), problem?));
    problems.into_iter().filter_map(keyed).collect()
}

/// The problems of this section, each with its key.
pub(super) fn check(upf: &Upf) -> Vec<(String, Problem)> {
    let mut found = Vec::new();
    let dataplane = upf.dataplane.word();
    if upf.traffic.classes.model.is_some() && upf.dataplane.is_hybrid() {
        found.push(("upf.traffic.classes.model".into(), Problem::SwitchClasses { dataplane }));
    }
    let Some(settings) = upf.traffic.heavy_hitters.settings(0) else { return found };
    let threshold = "upf.traffic.heavy_hitters.threshold".to_owned();
    if !upf.dataplane.finds_heavy_hitters() {
        found.push((threshold, Problem::SwitchTraffic { dataplane }));
    } else if upf.dataplane.is_switch() {
        found.extend(check_switch(&upf.traffic));
    } else if let Err(error) = settings.sliding() {
        found.push((threshold, Problem::HeavyHitters { error }));
    }
    found
}
