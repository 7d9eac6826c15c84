//! A model of a switch with in-process ports, and its topology.

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::{Network, Topology};
use causeway_p4::names::table;
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::{IpNet, Span};

use super::config::{Config, Hop, Route};
use super::segments::{Segment, SegmentOf};
use crate::driver::Program;
use crate::model::upf::{UnknownProgram, Upf};
use crate::model::{self, Model, Timing};

/// The ports of the switch: tunnels, the data network, the controller.
pub(super) const N3: u16 = 1;
pub(super) const N6: u16 = 2;
pub(super) const CPU: u16 = 510;
const SOFTWARE: u16 = 3;

/// The way to data networks.
const HOP: Hop = Hop { port: N6, source: [2, 0, 0, 0, 0, 1], neighbour: [2, 0, 0, 0, 0, 2] };

/// Data networks in segments; further ones are not served.
const MOST_SEGMENTS: u32 = 253;

/// Octets that a queue of the model holds.
const QUEUE: u64 = 1 << 20;

/// Entries of the source guard, and of numbers of UEs, for single UEs. The program has 64, for pools; here TEIDs do not
/// follow addresses.
const GUARD_ROWS: usize = 1 << 16;

/// The model, its program, and the configuration of a backend over it.
pub(super) fn parts(
    program: &Program,
    topology: Topology,
    limits: Limits,
) -> Result<(Model<Upf>, Program, Config), UnknownProgram> {
    let program = with_guards(program);
    let mut pipeline = Upf::new(&program, CPU, addresses(&topology))?;
    pipeline.set_underlay(vec![UNDERLAY]);
    let timing = Timing::INSTANT;
    let model = model::Config { timing, cpu_port: CPU, port_rate: None, queue_room: QUEUE };
    let bounds = pipeline.bounds();
    let model = Model::new(program.clone(), pipeline, model).with_bounds(bounds);
    let config = local_config(&program, topology, limits);
    Ok((model, program, config))
}

/// A model of a switch in front of a software data plane, for [`Switch::with_software`](super::Switch::with_software).
#[derive(Debug)]
pub struct LocalSwitch {
    /// The model.
    pub model: Model<Upf>,
    /// Its program.
    pub program: Program,
    /// The configuration of a backend that moves rules between both.
    pub config: Config,
}

impl LocalSwitch {
    /// The port on which the model sends the packets that it does not forward.
    pub const SOFTWARE_PORT: u16 = SOFTWARE;

    /// A model with profile `hip4-hybrid-vxlan`, whose requests take this time.
    ///
    /// # Errors
    /// The model does not run it.
    pub fn in_front_of_software(
        topology: &Topology,
        limits: Limits,
        timing: Timing,
    ) -> Result<Self, UnknownProgram> {
        Self::with_rules(topology, limits, timing, 0)
    }

    /// The same with at least so many entries in each table of rules: more than a switch may hold.
    ///
    /// # Errors
    /// The model does not run it.
    pub fn with_rules(
        topology: &Topology,
        limits: Limits,
        timing: Timing,
        rules: usize,
    ) -> Result<Self, UnknownProgram> {
        let mut program = with_guards(&Program::from(&profiles::HIP4_HYBRID_VXLAN));
        let of_rules: Vec<bool> = program.tables.iter().map(|table| program.has_rules(table)).collect();
        let tables = program.tables.iter_mut().zip(of_rules);
        let larger = tables.filter(|(table, of_rules)| *of_rules && table.name != table::ARMED_RULES);
        larger.for_each(|(table, _)| table.size = table.size.max(rules));
        let guards = program.tables.iter_mut().filter(|table| table.name == table::SOURCE_GUARD);
        guards.for_each(|table| table.size = table.size.max(rules));
        let mut pipeline = Upf::new(&program, CPU, addresses(topology))?.with_software(SOFTWARE)?;
        pipeline.set_underlay(vec![UNDERLAY]);
        let model = model::Config { timing, cpu_port: CPU, port_rate: None, queue_room: QUEUE };
        let model = Model::new(program.clone(), pipeline, model);
        let config = local_config(&program, topology.clone(), limits).moving_rules();
        Ok(Self { model, program, config })
    }
}

/// The program, with a larger source guard.
pub(super) fn with_guards(program: &Program) -> Program {
    let mut program = program.clone();
    let is_of_ues = |name: &str| {
        matches!(
            name,
            table::SOURCE_GUARD | table::SOURCE_GUARD_IPV6 | table::UE_POOLS | table::UE_POOLS_IPV6
        )
    };
    let guards = program.tables.iter_mut().filter(|table| is_of_ues(&table.name));
    guards.for_each(|table| table.size = table.size.max(GUARD_ROWS));
    program
}

/// The addresses at which GTP-U arrives.
fn addresses(topology: &Topology) -> Vec<Ipv4Addr> {
    topology.gtpu.iter().filter_map(|end| end.addr.v4).collect()
}

/// The configuration of a backend whose switch takes no time.
pub(super) fn local_config(program: &Program, topology: Topology, limits: Limits) -> Config {
    let own = addresses(&topology).first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED);
    Config {
        drain: Span::ZERO,
        pace: None,
        // They are read after each packet.
        drop_read_interval: None,
        retry: Span::ZERO,
        routes: routes(own),
        segments: segments(program, &topology),
        ..Config::new(topology, limits)
    }
}

/// The address of both ends of segments between ports in process and the switch: a dummy, which no host has (RFC 7600). VXLAN arrives there.
pub const UNDERLAY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 0, 8));

/// Several data networks are in segments each, if the program has them: otherwise the switch could not tell their packets apart.
fn segments(program: &Program, topology: &Topology) -> Vec<Segment> {
    let networks = &topology.networks;
    if networks.len() < 2 || program.table_named(table::VXLAN_ARRIVALS).is_none() {
        return Vec::new();
    }
    let segment = |(vni, network): (u32, &Network)| Segment {
        of: SegmentOf::Network(network.instance.clone()),
        vni,
        local: UNDERLAY,
        remote: UNDERLAY,
        mac: HOP.source,
        address: None,
        next_hop: HOP.neighbour,
        hop: HOP,
        mtu: network.mtu,
    };
    (1..=MOST_SEGMENTS).zip(networks).map(segment).collect()
}

/// All tunnels use one port, all other packets the other. MAC addresses have no effect.
fn routes(own: Ipv4Addr) -> Vec<Route> {
    let everything = |v6: bool| {
        let any: IpAddr = match v6 {
            true => std::net::Ipv6Addr::UNSPECIFIED.into(),
            false => Ipv4Addr::UNSPECIFIED.into(),
        };
        IpNet::new(any, 0).ok()
    };
    let n3 = Hop { port: N3, ..HOP };
    let tunnels = everything(false).map(|to| Route::Tunnel { to, hop: n3, local: own });
    let networks = [false, true].into_iter().filter_map(everything);
    tunnels.into_iter().chain(networks.map(|to| Route::Network { to, hop: HOP })).collect()
}
