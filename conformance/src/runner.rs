//! Runs a case against a data plane: the state machine of N4 and the packets, on a manual clock.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU8;

use causeway_dataplane::{
    EchoConfig, EthernetNetwork, ForwardingPolicy, GtpuEndpoint, HostReachability, Ingress, N6Endpoint,
    Network, Routing, SliceLimit, Topology,
};
use causeway_model::{NewEnd, PolicyName, Redirect, Url};
use causeway_types::{DualIp, NetworkInstance, Span, Time};

use crate::CaseError;
use crate::backends::Backend;
use crate::capture::Datagram;
use crate::case::{Case, Fragments, Step};
use crate::literal::{number, octets};
use crate::packet::user_packet;
use crate::script::Input;
use crate::setup::{EchoSetup, Setup};
use crate::upf::Upf;

/// The UPF's address on N3 and N4.
pub(crate) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The UPF's other address.
pub(crate) const UPF_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 21);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
/// The UPF's end of tunnels over N6.
const N6: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 6);
const N6_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 6);
/// The UDP port of it.
pub(crate) const N6_PORT: u16 = 4500;
pub(crate) const PFCP_PORT: u16 = 8805;
pub(crate) const GTPU_PORT: u16 = 2152;

/// An Ethernet network.
pub(crate) const LAN: &str = "lan";
/// An Ethernet network that floods frames to unknown stations.
pub(crate) const WIRE: &str = "wire";

/// When every case begins.
pub(crate) const START_TIME: Time = Time::from_secs(1_700_000_000);

/// What a case saw.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Transcript {
    /// What the UPF sent and did, step by step.
    pub text: String,
    /// The PFCP and GTP-U datagrams that it sent.
    pub datagrams: Vec<Datagram>,
    /// What happened to it.
    pub inputs: Vec<Input>,
    /// For each PFCP datagram that it sent, in order: what N4 said before it about the same message that `upf.pfcp.accelerate` leaves to
    /// the control thread, with all that follows; `None`: the packet thread sends it.
    pub sent_behind: Vec<Option<&'static str>>,
    /// After each PFCP datagram that came: how many sessions there were, and how many of them in cold storage, if the data plane has one.
    pub places: Vec<(u64, u64)>,
}

/// Runs a case.
///
/// # Errors
/// [`CaseError`] when the case cannot be understood, or an expectation in it does not hold.
pub fn run(case: &Case, fragments: &Fragments, backend: &dyn Backend) -> Result<Transcript, CaseError> {
    let topology = topology_of(&case.setup);
    let engine = backend.build(topology.clone(), &case.setup);
    let mut run = Run {
        upf: Upf::new(engine, &topology, &case.setup, START_TIME),
        fragments,
        sequence: 0,
        last: Vec::new(),
    };
    if !case.setup.unassociated {
        run.associate()?;
    }
    let mut text = String::new();
    for (at, step) in case.steps.iter().enumerate() {
        let number = at + 1;
        let mut seen = Vec::new();
        for _ in 0..step.times.unwrap_or(1) {
            seen.extend(run.step(step)?);
        }
        check(number, step, &seen)?;
        text.push_str(&format!("step {number}\n"));
        if step.tally {
            seen = tally(&seen);
        }
        seen.iter().flat_map(|line| line.lines()).for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    let (datagrams, inputs) = (run.upf.take_datagrams(), run.upf.take_inputs());
    let (sent_behind, places) = (run.upf.take_sent_behind(), run.upf.take_places());
    Ok(Transcript { text, datagrams, inputs, sent_behind, places })
}

/// Surroundings in which everything that the UPF does unasked may happen, for scripts.
pub fn topology() -> Topology {
    let echo = Some(EchoSetup { interval: 60, timeout: 5, retries: 1 });
    let (n3_mtu, n6_mtu) = (Some(1500), Some(1400));
    topology_of(&Setup { n3_mtu, n6_mtu, router_advertisement: true, echo, ..Setup::default() })
}

/// One GTP-U endpoint on both IP versions; the data network `internet`, where the UPF has the first address of each
/// pool; two Ethernet networks: `lan`, and `wire`, which floods frames to unknown stations.
fn topology_of(setup: &Setup) -> Topology {
    let pools = ["10.45.0.0/16", "2001:db8:45::/48"].into_iter().filter_map(|net| net.parse().ok());
    let gateways = ["10.45.0.1", "2001:db8:45::1"].into_iter().filter_map(|ip| ip.parse().ok());
    let endpoint = GtpuEndpoint::new(DualIp { v4: Some(UPF), v6: Some(UPF_IPV6) });
    let framed = ["172.16.0.0/12", "2001:db8:77::/48"].into_iter().filter_map(|net| net.parse().ok());
    let network = Network { framed_routes: framed.collect(), ..Network::new(internet(), pools.collect()) };
    let usual = Routing::default();
    let echo = setup.echo.map_or(usual.echo, |echo| EchoConfig {
        interval: Span::from_secs(echo.interval),
        timeout: Span::from_secs(echo.timeout),
        retries: echo.retries,
    });
    Topology {
        gtpu: vec![GtpuEndpoint { mtu: setup.n3_mtu.unwrap_or(endpoint.mtu), ..endpoint }],
        networks: vec![
            Network { gateways: gateways.collect(), mtu: setup.n6_mtu.unwrap_or(network.mtu), ..network },
            Network::new(NetworkInstance::new("edge"), Vec::new()),
        ],
        ethernet: vec![link(LAN, false), link(WIRE, true)],
        routing: Routing {
            decrement_ttl: !setup.keep_ttl,
            router_advertisement: setup.router_advertisement,
            echo,
            ..usual
        },
        n6_tunnels: vec![N6Endpoint {
            network: internet(),
            addr: DualIp { v4: Some(N6), v6: Some(N6_IPV6) },
            port: N6_PORT,
        }],
        policies: policies(),
        host: HostReachability { addresses: setup.host.clone(), reachable: setup.reachable.clone() },
        slices: setup.slices.iter().map(SliceLimit::from).collect(),
        firewall: setup.firewall.clone(),
        ..Topology::default()
    }
}

/// The forwarding policies: `void` drops, `gold` marks with DSCP 46 and leads to the network `edge`, `portal` answers HTTP
/// with a URL, `proxy` leads to another address and port.
fn policies() -> Vec<ForwardingPolicy> {
    let policy = |name: &str| ForwardingPolicy::new(PolicyName::new(name.as_bytes()));
    let network = Some(NetworkInstance::new("edge"));
    let portal = Url::new("http://portal.example/").map(Redirect::Http);
    let proxy = NewEnd { v4: Some(Ipv4Addr::new(203, 0, 113, 80)), v6: None, port: Some(8080) };
    vec![
        ForwardingPolicy { drop: true, ..policy("void") },
        ForwardingPolicy { network, dscp: Some(46), ..policy("gold") },
        ForwardingPolicy { redirect: portal, ..policy("portal") },
        ForwardingPolicy { redirect: Some(Redirect::Destination(proxy)), ..policy("proxy") },
    ]
}

fn link(name: &str, flood_unknown: bool) -> EthernetNetwork {
    EthernetNetwork { instance: NetworkInstance::new(name), flood_unknown }
}

pub(crate) fn internet() -> NetworkInstance {
    NetworkInstance::new("internet")
}

fn check(number: usize, step: &Step, seen: &[String]) -> Result<(), CaseError> {
    let text = seen.join("\n");
    let unmet =
        |expected: String| CaseError::ExpectationFailed { step: number, expected, seen: indent(&text) };
    for expected in &step.expect {
        if !text.lines().any(|line| line.contains(expected.as_str())) {
            return Err(unmet(expected.clone()));
        }
    }
    for unexpected in &step.expect_not {
        if text.lines().any(|line| line.contains(unexpected.as_str())) {
            return Err(unmet(format!("no {unexpected}")));
        }
    }
    for (counted, (least, most)) in &step.count {
        let there = text.lines().filter(|line| line.contains(counted.as_str())).count();
        if !(*least..=*most).contains(&there) {
            return Err(unmet(format!("{least} to {most} of {counted}, there are {there}")));
        }
    }
    Ok(())
}

/// Each line once, with how often it was seen, in the order of the first times.
fn tally(seen: &[String]) -> Vec<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for line in seen.iter().flat_map(|line| line.lines()) {
        match counts.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => counts.push((line, 1)),
        }
    }
    counts.into_iter().map(|(line, count)| format!("{count} x {line}")).collect()
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

struct Run<'f> {
    upf: Upf,
    fragments: &'f Fragments,
    /// The sequence number of the SMF's last request.
    sequence: u32,
    /// The last datagram that a step built.
    last: Vec<u8>,
}

impl Run<'_> {
    fn associate(&mut self) -> Result<(), CaseError> {
        let spec = "{type: Association Setup Request, base: association}";
        let spec = serde_yaml_ng::from_str(spec)
            .map_err(|source| CaseError::Yaml { path: "association".into(), source })?;
        let step = Step { smf: Some(spec), ..Step::default() };
        self.step(&step).map(drop)
    }

    fn step(&mut self, step: &Step) -> Result<Vec<String>, CaseError> {
        let smf = SocketAddr::new(step.from.unwrap_or(IpAddr::V4(SMF)), PFCP_PORT);
        if let Some(wait) = step.wait_ms {
            self.upf.wait(Span::from_millis(wait));
        }
        if let Some(wait) = step.wait_us {
            self.upf.wait(Span::from_micros(wait));
        }
        if let Some(seconds) = step.wall_clock_s {
            self.upf.set_wall_clock(seconds);
        }
        if let Some(spec) = &step.smf {
            let sequence = match &spec.sequence {
                Some(word) => number(word, &self.upf.variables)? as u32,
                None => {
                    self.sequence += 1;
                    self.sequence
                }
            };
            self.last = spec.octets(sequence, self.fragments, &self.upf.variables)?;
            self.upf.pfcp(smf, &self.last);
        }
        if step.smf_again {
            self.upf.pfcp(smf, &self.last);
        }
        if let Some(raw) = &step.smf_raw {
            let bytes = octets(raw, &self.upf.variables)?;
            self.upf.pfcp(smf, &bytes);
        }
        self.packets(step)?;
        if step.counters {
            self.upf.show_counters();
        }
        Ok(self.upf.take_sent())
    }

    fn packets(&mut self, step: &Step) -> Result<(), CaseError> {
        let peer = step.peer.unwrap_or(IpAddr::V4(GNB));
        let local = if peer.is_ipv4() { IpAddr::V4(UPF) } else { UPF_IPV6.into() };
        let gtpu = Ingress::Gtpu {
            local,
            peer: SocketAddr::new(peer, GTPU_PORT),
            tos: step.outer_tos,
            hops: step.outer_ttl.and_then(NonZeroU8::new),
        };
        let from_gnb = match (&step.gnb, &step.gnb_raw) {
            (Some(spec), _) => Some(spec.octets(&self.upf.variables)?),
            (None, Some(raw)) => Some(octets(raw, &self.upf.variables)?),
            (None, None) => None,
        };
        if let Some(bytes) = from_gnb {
            self.upf.packet(&gtpu, &bytes);
        }
        if let Some(text) = &step.dn {
            let bytes = user_packet(text, &self.upf.variables)?;
            let ingress = match &step.network {
                Some(name) => Ingress::Ethernet { network: NetworkInstance::new(name) },
                None => Ingress::Ip { network: internet() },
            };
            self.upf.packet(&ingress, &bytes);
        }
        Ok(())
    }
}
