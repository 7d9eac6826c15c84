//! The data networks of Ethernet frames.

use serde::Serialize;

use super::check::Problems;
use super::enums::UnknownStations;
use super::model::Upf;
use super::problem::Problem;
use super::section::Section;
use super::values;

/// A data network of Ethernet frames, behind a TAP device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EthernetNetwork {
    /// The data network, which is also its network instance.
    pub dnn: String,
    /// The TAP device.
    pub dev: String,
    /// The bridge to which the device is added; `None`: no bridge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bridge: Option<String>,
    /// The MTU of the TAP device, in octets of a frame's payload.
    pub mtu: u32,
    /// The handling of frames to unknown stations.
    pub unknown_stations: UnknownStations,
}

impl EthernetNetwork {
    /// The default TAP device.
    pub const DEFAULT_DEV: &str = "causeway-eth0";
    /// 1500 octets less the Ethernet header with two VLAN tags and the outer headers, rounded down.
    pub const DEFAULT_MTU: u32 = 1400;

    /// A network with this name and the default device.
    pub fn new(dnn: &str) -> Self {
        Self {
            dnn: dnn.to_owned(),
            dev: Self::DEFAULT_DEV.to_owned(),
            bridge: None,
            mtu: Self::DEFAULT_MTU,
            unknown_stations: UnknownStations::default(),
        }
    }
}

/// Reads one item of the list.
pub(super) fn network(section: &mut Section<'_>) -> EthernetNetwork {
    let what = "give the name of the Ethernet network, for example lan";
    let default = EthernetNetwork::new("");
    EthernetNetwork {
        dnn: section.required("dnn", what, values::network).unwrap_or_default(),
        dev: section.value("dev", values::device).unwrap_or(default.dev),
        bridge: section.value("bridge", values::device),
        mtu: section.value("mtu", values::number(576..=9000)).unwrap_or(default.mtu),
        unknown_stations: section.value("unknown_stations", values::word).unwrap_or_default(),
    }
}

/// Networks have unique names and devices.
pub(super) fn check(upf: &Upf, found: &mut Problems) {
    let sessions = upf.session.iter().enumerate();
    let pools = sessions.map(|(n, session)| (format!("upf.session[{n}]"), &session.dnn, &session.dev));
    let links = upf.ethernet.iter().enumerate();
    let links = links.map(|(n, link)| (format!("upf.ethernet[{n}]"), &link.dnn, &link.dev));
    let all: Vec<_> = pools.chain(links).collect();
    for (n, (key, dnn, dev)) in all.iter().enumerate().skip(upf.session.len()) {
        let earlier = || all.iter().take(n);
        if let Some((first, ..)) = earlier().find(|(_, other, _)| other == dnn) {
            let (dnn, first) = ((*dnn).clone(), format!("{first}.dnn"));
            found.push((format!("{key}.dnn"), Problem::DuplicateNetwork { dnn, first }));
        }
        if let Some((first, ..)) = earlier().find(|(_, _, other)| other == dev) {
            let (dev, first) = ((*dev).clone(), format!("{first}.dev"));
            found.push((format!("{key}.dev"), Problem::DuplicateDevice { dev, first }));
        }
    }
}
