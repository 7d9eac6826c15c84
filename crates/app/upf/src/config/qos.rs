//! How much traffic may pass, beside what the SMFs say.

use causeway_types::{Bitrate, SNssai, Span};
use serde::Serialize;

use super::section::Section;
use super::serialize::{bitrate_if_any, span};
use super::{quantities, values};

/// QoS enforcement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Qos {
    /// How much may come at once after a pause, as time at the full rate, where no averaging window is given.
    #[serde(serialize_with = "span")]
    pub averaging_window: Span,
    /// Network slices that are limited as a whole.
    pub slice: Vec<Slice>,
}

impl Default for Qos {
    fn default() -> Self {
        Self { averaging_window: Span::from_millis(5), slice: Vec::new() }
    }
}

/// The limit of all sessions of a network slice together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Slice {
    /// Slice/Service Type.
    pub sst: u8,
    /// Slice Differentiator, six hexadecimal digits; `None`: the slice has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd: Option<String>,
    /// From all UEs; `None` limits nothing.
    #[serde(serialize_with = "bitrate_if_any", skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Bitrate>,
    /// Towards all UEs; `None` limits nothing.
    #[serde(serialize_with = "bitrate_if_any", skip_serializing_if = "Option::is_none")]
    pub downlink: Option<Bitrate>,
}

impl Slice {
    /// Its identity.
    pub fn id(&self) -> SNssai {
        let sd = self.sd.as_ref().and_then(|digits| u32::from_str_radix(digits, 16).ok());
        SNssai { sst: self.sst, sd: sd.unwrap_or(SNssai::NO_SD) }
    }
}

pub(super) fn qos(qos: &mut Section<'_>) -> Qos {
    let default = Qos::default();
    Qos {
        averaging_window: qos
            .value("averaging_window", quantities::positive_span)
            .unwrap_or(default.averaging_window),
        slice: qos.list("slice", slice).unwrap_or_default(),
    }
}

fn slice(slice: &mut Section<'_>) -> Slice {
    let what = "give the Slice/Service Type, for example 1";
    Slice {
        sst: slice.required("sst", what, values::number(0..=255)).unwrap_or_default(),
        sd: slice.value("sd", values::slice_differentiator),
        uplink: slice.value("uplink", quantities::bitrate),
        downlink: slice.value("downlink", quantities::bitrate),
    }
}
