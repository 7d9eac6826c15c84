//! Settings of the UPF under test.

use std::path::Path;
use std::sync::Arc;

use causeway_class_model::ModelFile;
use causeway_dataplane::{Firewall, FirewallAction, SliceLimit};
use causeway_model::TrafficClasses;
use causeway_n4::{Config, OverloadControl};
use causeway_rules::AddressPool;
use causeway_types::{Bitrate, IpNet, SNssai, Span};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::catalogue::catalogue;
use crate::runner::internet;

/// Settings of the UPF under test. What is not given is as usual.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Setup {
    /// How many sessions fit.
    pub max_sessions: Option<u32>,
    /// How many MAC addresses one session may have.
    pub macs: Option<usize>,
    /// How many MAC addresses all sessions together may have.
    pub macs_in_all: Option<usize>,
    /// How many packets one session may buffer.
    pub buffer_packets: Option<usize>,
    /// How many octets one session may buffer.
    pub buffer_octets: Option<usize>,
    /// How many packets all sessions may buffer together.
    pub buffer_packets_in_all: Option<usize>,
    /// How many octets all sessions may buffer together.
    pub buffer_octets_in_all: Option<usize>,
    /// How many milliseconds a packet may wait; 0: for ever.
    pub buffer_ms: Option<u64>,
    /// The oldest packet goes when there is no room, not the newest.
    pub drop_oldest: bool,
    /// After how many milliseconds the SMF is told again of packets that go on coming.
    pub notify_again_ms: Option<u64>,
    /// Start with the association of the first SMF set up.
    pub unassociated: bool,
    /// The largest outer packet on N3, octets.
    pub n3_mtu: Option<u32>,
    /// The largest packet on N6, octets.
    pub n6_mtu: Option<u32>,
    /// Packets keep their hop limit.
    pub keep_ttl: bool,
    /// The UPF answers Router Solicitations itself.
    pub router_advertisement: bool,
    /// GTP-U peers are asked for a sign of life.
    pub echo: Option<EchoSetup>,
    /// SMFs that support it are asked to send less when N4 is nearly full.
    pub overload_control: Option<OverloadSetup>,
    /// Hosts that may set up associations; none: any may.
    #[serde(deserialize_with = "prefixes")]
    pub allow: Vec<IpNet>,
    /// UE addresses that the UPF may give out, a prefix each, all in the data network; they are named `pool-1`,
    /// `pool-2` and so on.
    #[serde(deserialize_with = "prefixes")]
    pub ue_pools: Vec<IpNet>,
    /// Addresses of the machine that the UPF runs on, beside its own.
    #[serde(deserialize_with = "prefixes")]
    pub host: Vec<IpNet>,
    /// Those of them, and of its own, that UEs may reach.
    #[serde(deserialize_with = "prefixes")]
    pub reachable: Vec<IpNet>,
    /// Network slices that are limited as a whole.
    pub slices: Vec<SliceSetup>,
    /// The firewall for the packets of all sessions; without one, all pass.
    #[serde(deserialize_with = "firewall")]
    pub firewall: Option<Arc<Firewall>>,
    /// The model of application classes, a file of `conformance/models` by its name; without one there are no classes.
    #[serde(deserialize_with = "class_model")]
    pub class_model: Option<Arc<TrafficClasses>>,
}

/// A firewall.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct FirewallSetup {
    /// Uplink packets that no rule matches are dropped.
    deny_uplink: bool,
    /// The same for downlink packets.
    deny_downlink: bool,
    /// The rules, as text, in the order in which they are tried.
    rules: Vec<String>,
}

/// The limit of a network slice.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SliceSetup {
    /// Slice/Service Type.
    pub sst: u8,
    /// Slice Differentiator.
    pub sd: u32,
    /// From all UEs, kbit/s.
    #[serde(default)]
    pub uplink_kbps: Option<u64>,
    /// Towards all UEs, kbit/s.
    #[serde(default)]
    pub downlink_kbps: Option<u64>,
}

impl From<&SliceSetup> for SliceLimit {
    fn from(asked: &SliceSetup) -> Self {
        Self {
            slice: SNssai { sst: asked.sst, sd: asked.sd },
            uplink: asked.uplink_kbps.and_then(Bitrate::from_kbps),
            downlink: asked.downlink_kbps.and_then(Bitrate::from_kbps),
        }
    }
}

/// When GTP-U peers are asked for a sign of life.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EchoSetup {
    /// Seconds from one request to the next.
    pub interval: u64,
    /// T3-RESPONSE, seconds.
    pub timeout: u64,
    /// Repetitions.
    pub retries: u8,
}

/// When SMFs are asked to send less.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverloadSetup {
    /// How full N4 may be before it counts as overloaded, percent.
    pub mark: u8,
    /// Period of Validity, seconds.
    pub validity: u64,
}

impl From<OverloadSetup> for OverloadControl {
    fn from(OverloadSetup { mark, validity }: OverloadSetup) -> Self {
        Self { mark, validity: Span::from_secs(validity) }
    }
}

impl Setup {
    /// Changes the settings of N4 to these.
    pub(crate) fn apply(&self, config: &mut Config) {
        config.allow.clone_from(&self.allow);
        config.overload_control = self.overload_control.map(OverloadControl::from);
        config.address_pools = self.ue_pools.iter().enumerate().map(address_pool).collect();
        config.catalogue = catalogue(self.class_model.clone());
    }
}

/// The first address of a pool is the gateway's.
fn address_pool((at, range): (usize, &IpNet)) -> AddressPool {
    AddressPool {
        network: internet(),
        range: *range,
        name: Some(format!("pool-{}", at + 1)),
        reserved: range.hosts().next().map(IpNet::from).into_iter().collect(),
    }
}

fn firewall<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<Firewall>>, D::Error> {
    let setup = FirewallSetup::deserialize(deserializer)?;
    let rules = setup.rules.iter().map(|text| text.parse().map_err(D::Error::custom));
    let default = |deny| if deny { FirewallAction::Deny } else { FirewallAction::Permit };
    Firewall::new(rules.collect::<Result<_, _>>()?, default(setup.deny_uplink), default(setup.deny_downlink))
        .map(|firewall| Some(Arc::new(firewall)))
        .map_err(|count| D::Error::custom(format!("{count} rules are too many")))
}

fn class_model<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<TrafficClasses>>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(&name);
    let wrong = |why: String| D::Error::custom(format!("{}: {why}", path.display()));
    let octets = std::fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    let file = ModelFile::decode(&octets).map_err(|error| wrong(error.to_string()))?;
    let classes = TrafficClasses::new(file.model()).map_err(|error| wrong(error.to_string()))?;
    Ok(Some(Arc::new(classes)))
}

fn prefixes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}
