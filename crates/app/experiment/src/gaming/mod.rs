//! Cloud gaming: the figures of chapter 5 of S. K. Singh's thesis, with the tree that it released and with ours.
//!
//! Accuracy is of the feature tables of the Leris Lab and of captures of other traffic, where `--data` leads to them. Synthetic flows of
//! games serve for times and for comparing integers with floating point, never for accuracy.

mod dataset;
pub mod fig40;
pub mod fig41;
pub mod fig42;
mod float;
mod generator;
mod plane;
mod processes;
pub mod released;
pub mod table8;

use causeway_class_model::ModelFile;
use causeway_traffic::classes::{Feature, Model, Training};

use crate::ExperimentError;

/// The class of games in our models.
const GAMING: u8 = 1;

/// Seeds of synthetic flows and of processes of gaps.
const SEEDS: u64 = 5;

/// Lengths of windows in milliseconds.
const WINDOWS: [u32; 3] = [300, 500, 1000];

/// The models, by [`WINDOWS`]. docs/application-classes.md has the command that makes them.
const MODELS: [&str; 3] =
    [include_str!("models/300.json"), include_str!("models/500.json"), include_str!("models/1000.json")];

/// The files of our models with the lengths of their windows.
///
/// # Errors
/// [`ExperimentError::Training`] when a file is damaged.
pub fn model_files() -> Result<Vec<(u32, ModelFile)>, ExperimentError> {
    let read = |(window, text): (u32, &str)| {
        let file = ModelFile::decode(text.as_bytes()).map_err(crate::training::TrainingError::from)?;
        Ok((window, file))
    };
    WINDOWS.into_iter().zip(MODELS).map(read).collect()
}

/// The models in them.
fn models() -> Result<Vec<(u32, Model)>, ExperimentError> {
    Ok(model_files()?.into_iter().map(|(window, file)| (window, file.into_model())).collect())
}

/// How our models are trained.
pub fn training() -> Training {
    Training {
        max_depth: 3,
        min_leaf: 1,
        is_balanced: true,
        features: vec![Feature::DownlinkPackets, Feature::UplinkSize, Feature::DownlinkSize],
    }
}

/// Seconds in words.
fn seconds(millis: u32) -> String {
    format!("{} s", f64::from(millis) / 1000.0)
}

const WITHOUT_DATA: &str = "Rows of real flows are missing: --data or CAUSEWAY_DATA names no folder with cloud-gaming/ and captures/.";
const SYNTHETIC: &str = "Synthetic flows have frame sizes, frame gaps and packet sizes as measured of three games (medians of 13 flows each), drawn from a \
seed. They show times and rounding. They say nothing of accuracy.";
const FEW: &str = "39 gaming flows of one platform are few: one flow is 2.6 points of recall. The features are averages of whole flows, not of windows.";
