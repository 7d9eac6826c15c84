//! The keys of VXLAN segments.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use causeway_packet::vxlan::{PORT, Vni};
use causeway_ports::vxlan::Segment;
use causeway_types::MacAddr;
use serde::Serialize;

use super::check::Problems;
use super::enums::{GtpuMode, N6Mode};
use super::model::{DEFAULT_ADDRESS, Upf};
use super::problem::Problem;
use super::section::Section;
use super::serialize::shown;
use super::values;

/// A VXLAN segment: a data network, or the network of gNBs, of one tenant (RFC 7348).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct VxlanSegment {
    /// Its name, to which `dev` of a UE address pool or of a GTP-U address refers.
    pub name: String,
    /// Its number.
    #[serde(serialize_with = "shown")]
    pub vni: Vni,
    /// The address of this end (VTEP) in the underlay.
    pub local: IpAddr,
    /// The address of the other end.
    pub remote: IpAddr,
    /// The MAC address of this end in the segment.
    #[serde(serialize_with = "shown")]
    pub mac: MacAddr,
    /// The MAC address that frames are sent to.
    #[serde(serialize_with = "shown")]
    pub next_hop: MacAddr,
    /// The address of this end in the segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Ipv4Addr>,
    /// The IPv6 address of this end in the segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address6: Option<Ipv6Addr>,
}

/// Placeholders: a list item with an error is not used.
const NO_MAC: MacAddr = MacAddr([0, 0, 0x5e, 0, 0x53, 0]);

/// Reads one item of the list.
pub(super) fn segment(segment: &mut Section<'_>) -> VxlanSegment {
    let name = "give a name, to which `dev` of a session or GTP-U server refers";
    let local = "give the address of this host in the underlay";
    let remote = "give the address of the other end in the underlay";
    let mac = "give a MAC address for this end, for example 02:00:00:00:00:01";
    let next_hop = "give the MAC address of the next router in the segment";
    VxlanSegment {
        name: segment.required("name", name, values::device).unwrap_or_default(),
        vni: segment
            .required("vni", "give the VXLAN Network Identifier, 0 to 16777215", vni)
            .unwrap_or_default(),
        local: segment.required("local", local, values::own_address).unwrap_or(DEFAULT_ADDRESS),
        remote: segment.required("remote", remote, values::address).unwrap_or(DEFAULT_ADDRESS),
        mac: segment.required("mac", mac, values::mac).unwrap_or(NO_MAC),
        next_hop: segment.required("next_hop", next_hop, values::mac).unwrap_or(NO_MAC),
        address: segment.value("address", |text: &str| {
            text.parse().map_err(|_| values::wrong(text, "an IPv4 address, for example 172.16.5.1"))
        }),
        address6: segment.value("address6", |text: &str| {
            text.parse().map_err(|_| values::wrong(text, "an IPv6 address, for example 2001:db8:5::1"))
        }),
    }
}

fn vni(text: &str) -> Result<Vni, Problem> {
    text.parse().map_err(|()| values::wrong(text, "a number from 0 to 16777215"))
}

impl VxlanSegment {
    /// In the form of its port.
    pub(crate) fn segment(&self) -> Segment {
        Segment {
            vni: self.vni,
            remote: SocketAddr::new(self.remote, PORT),
            mac: self.mac,
            remote_mac: self.next_hop,
            address: self.address,
            address6: self.address6,
        }
    }
}

impl Upf {
    /// The VXLAN segment with this name.
    pub(crate) fn vxlan_segment(&self, name: &str) -> Option<&VxlanSegment> {
        self.vxlan.iter().find(|segment| segment.name == name)
    }
}

/// Segments are unique, and each is the device of one data network, or of GTP-U.
pub(super) fn check(upf: &Upf, found: &mut Problems) {
    for (n, segment) in upf.vxlan.iter().enumerate() {
        let key = |name: &str| format!("upf.vxlan[{n}].{name}");
        let earlier = || upf.vxlan[..n].iter();
        if let Some(m) = earlier().position(|other| other.name == segment.name) {
            let (dev, first) = (segment.name.clone(), format!("upf.vxlan[{m}].name"));
            found.push((key("name"), Problem::DuplicateDevice { dev, first }));
        }
        if let Some(m) = earlier().position(|other| (other.vni, other.local) == (segment.vni, segment.local))
        {
            let first = format!("upf.vxlan[{m}].vni");
            found.push((key("vni"), Problem::DuplicateVni { vni: segment.vni, local: segment.local, first }));
        }
        if segment.local.is_ipv4() != segment.remote.is_ipv4() {
            found.push((
                key("remote"),
                Problem::VxlanFamilies { remote: segment.remote, local: segment.local },
            ));
        }
    }
    let is_vxlan = upf.gtpu.mode == GtpuMode::Vxlan;
    let n3 = upf.gtpu.server.iter().enumerate().filter(|_| is_vxlan);
    for (n, _) in n3.clone().filter(|(_, server)| server.address.is_none()) {
        let what = "mode vxlan needs the address of the UPF in the segment";
        found.push((format!("upf.gtpu.server[{n}].address"), Problem::Missing(what)));
    }
    let n3 = n3.filter_map(|(n, server)| Some((format!("upf.gtpu.server[{n}].dev"), server.dev.as_deref()?)));
    let n3: Vec<(String, &str)> = n3.collect();
    let n6 = upf.session.iter().enumerate().filter(|(_, session)| session.mode == N6Mode::Vxlan);
    for (key, dev) in n6.map(|(n, session)| (format!("upf.session[{n}].dev"), session.dev.as_str())) {
        if let Some((first, _)) = n3.iter().find(|(_, other)| *other == dev) {
            let (dev, first) = (dev.to_owned(), first.clone());
            found.push((key.clone(), Problem::DuplicateDevice { dev, first }));
        }
        unknown(upf, key, dev, found);
    }
    n3.into_iter().for_each(|(key, dev)| unknown(upf, key, dev, found));
}

fn unknown(upf: &Upf, key: String, dev: &str, found: &mut Problems) {
    if upf.vxlan_segment(dev).is_none() {
        found.push((key, Problem::NoSuchSegment { dev: dev.to_owned() }));
    }
}
