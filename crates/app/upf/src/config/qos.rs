//! Rate limits in addition to those of the SMFs.

use causeway_types::{Bitrate, SNssai, Span};
use serde::Serialize;

use super::section::Section;
use super::serialize::{bitrate_if_any, span};
use super::{quantities, values};

/// QoS enforcement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Qos {
    /// The burst size as time at the full rate, for QERs without an averaging window.
    #[serde(serialize_with = "span")]
    pub averaging_window: Span,
    /// Rate limits of whole network slices.
    pub slice: Vec<Slice>,
}

impl Default for Qos {
    fn default() -> Self {
        Self { averaging_window: Span::from_millis(5), slice: Vec::new() }
    }
}

/// The rate limit of all sessions of a network slice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Slice {
    /// Slice/Service Type.
    pub sst: u8,
    /// Slice Differentiator, six hexadecimal digits; `None`: the slice has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd: Option<String>,
    /// The rate from all UEs; `None`: no limit.
    #[serde(serialize_with = "bitrate_if_any", skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Bitrate>,
    /// The rate towards all UEs; `None`: no limit.
    #[serde(serialize_with = "bitrate_if_any", skip_serializing_if = "Option::is_none")]
    pub downlink: Option<Bitrate>,
}

impl Slice {
    /// The identity of the slice.
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
