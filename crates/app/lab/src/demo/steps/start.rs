//! Namespaces, links, captures, the daemon.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use causeway_ports::{FaultInjector, Faults};

use super::cast;
use crate::LabError;
use crate::capture::Capture;
use crate::cleanup::Cleanup;
use crate::demo::config;
use crate::demo::environment::{Captures, DemoEnvironment, LossyLink, Network, Options, Sampler, UES};
use crate::demo::step::Observer;
use crate::netns::Namespace;
use crate::patience::{QUIET, wait_while_changing};
use crate::process::Daemon;
use crate::ran::{Gnb, GnbSite, Ran, UeSite};
use crate::smf::{Smf, UeAddresses};
use crate::timeline::Timeline;
use crate::topology::{GNBS, MEMORY, SMF, Topology, UPF_N4, ue_address, ue_prefix};

/// How long a heartbeat waits for its response while the UPF starts.
const PROBE: Duration = Duration::from_millis(50);

/// MTU of the UEs: an outer IPv4, UDP and GTP-U header with a PDU Session Container fits in front.
const UE_MTU: u32 = 1400;

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let DemoEnvironment { options, cleanup, .. } = stage;
    observer.progress("namespaces");
    let topology = Topology::build(cleanup)?;
    let ipv6 = options.advertises_prefixes() && topology.add_ipv6()?;
    let capture = |name: &str, at: &[_]| Capture::start(&options.out.join(name), at, cleanup);
    let [gnb1, gnb2] = &topology.gnbs;
    let captures = Captures {
        n3: capture("n3.pcap", &[gnb1, gnb2])?,
        n4: capture("n4.pcap", &[&topology.smf])?,
        n6: capture("n6.pcap", &[&topology.dn])?,
    };
    observer.progress("gNBs and UEs");
    let ran = Arc::new(radio_network(&topology, ipv6, options, &stage.timeline)?);
    let DemoEnvironment { options, cleanup, timeline, .. } = stage;
    let memory = if options.has_external_memory() {
        observer.progress("causeway memory-server");
        Some(memory_server(&topology, options, cleanup)?)
    } else {
        None
    };
    observer.progress("causeway run");
    let configuration = options.out.join("upf.yaml");
    std::fs::write(&configuration, config::upf(UE_MTU, options.dataplane.as_deref(), ipv6))
        .map_err(LabError::io("upf.yaml"))?;
    let args = ["run".into(), "--config".into(), configuration.into()];
    let log = options.out.join("causeway.log");
    let daemon = Daemon::start(&topology.upf, &options.program, &args, &log, cleanup)?;
    let smf = Smf::open(&topology.smf, SMF, UPF_N4, timeline.clone())?;
    let answered = wait_for_n4(&smf, &daemon)?;
    let sampler = Sampler::start(&ran, timeline);
    let network = Network { sampler, captures, ran, ues: Vec::new(), smf, daemon, memory, topology, ipv6 };
    stage.before = network.metrics()?;
    let hosts = ["gnb1", "gnb2", "ue", "upf", "dn", "smf", "memory"];
    let hosts = hosts.get(..if network.memory.is_some() { 7 } else { 6 }).unwrap_or_default();
    observer.note("namespaces", hosts.join(", "));
    observer.expect("PFCP Heartbeat Response", format!("{} ms after the start", answered.as_millis()), true);
    observer.summarise(format!(
        "{} namespaces; the UPF responds on N4 after {} ms",
        hosts.len(),
        answered.as_millis()
    ));
    stage.network = Some(network);
    Ok(())
}

fn radio_network(
    topology: &Topology,
    ipv6: bool,
    options: &Options,
    timeline: &Timeline,
) -> Result<Ran, LabError> {
    let sites = topology.gnbs.iter().zip(GNBS).map(|(namespace, address)| GnbSite { namespace, address });
    let gnbs = sites.map(|site| site.open().map(|gnb| with_losses(gnb, options.lossy)));
    let ues = (0..UES).map(|n| {
        let device = device(n);
        let site = ue_site(&topology.ue, &device, n.into());
        UeSite { address: addresses(n, ipv6).ipv4(), ..site }.open()
    });
    Ran::start(gnbs.collect::<Result<_, _>>()?, ues.collect::<Result<_, _>>()?, timeline.clone())
}

/// The memory server on a host of its own, once it serves.
fn memory_server(
    topology: &Topology,
    options: &Options,
    cleanup: &Cleanup,
) -> Result<(Daemon, Namespace), LabError> {
    let host = topology.add_memory(cleanup)?;
    let log = options.out.join("memory-server.log");
    let args = ["memory-server".into(), "--listen".into(), MEMORY.to_string().into()];
    let daemon = Daemon::start(&host, &options.program, &args, &log, cleanup)?;
    let is_ready = |log: &Path| std::fs::read_to_string(log).is_ok_and(|text| text.contains("ready"));
    let look = || Ok::<_, LabError>((is_ready(&log), daemon.exited()?.is_some()));
    if !wait_while_changing(QUIET, look, |(is_ready, has_ended)| *is_ready || *has_ended)?.0 {
        return Err(LabError::Peer(format!("causeway memory-server: {}", daemon.last_output_lines(3))));
    }
    Ok((daemon, host))
}

/// The gNB with a link that loses one packet of ten, if it is to have one.
fn with_losses(gnb: Gnb, lossy: Option<LossyLink>) -> Gnb {
    let losses = |link| Faults { drop: if lossy == Some(link) { 0.1 } else { 0.0 }, ..Faults::default() };
    if lossy.is_none() {
        return gnb;
    }
    let (down, up) = (losses(LossyLink::N3Downlink), losses(LossyLink::N3Uplink));
    Gnb { port: Box::new(FaultInjector::new(gnb.port, down, up, 1)), ..gnb }
}

/// What the session of the `n`th UE has, counted from zero.
pub(super) fn addresses(n: u8, ipv6: bool) -> UeAddresses {
    match usize::from(n) {
        cast::DUAL_STACK if ipv6 => UeAddresses::Ipv4v6(ue_address(n), ue_prefix(n)),
        cast::IPV6_ONLY if ipv6 => UeAddresses::Ipv6(ue_prefix(n)),
        _ => UeAddresses::Ipv4(ue_address(n)),
    }
}

/// The place of a UE, counted from zero, without its IPv4 address.
pub(super) fn ue_site<'a>(namespace: &'a Namespace, device: &'a str, ue: usize) -> UeSite<'a> {
    let table = u8::try_from(ue).unwrap_or(0).saturating_add(1);
    UeSite { namespace, device, address: None, mtu: UE_MTU, table }
}

/// The device of the `n`th UE, counted from zero.
pub(super) fn device(n: u8) -> String {
    format!("ue{}", n + 1)
}

/// Sends heartbeats until one has a response. Returns the time until then.
fn wait_for_n4(smf: &Smf, daemon: &Daemon) -> Result<Duration, LabError> {
    let (start, mut patience) = (Instant::now(), QUIET);
    loop {
        match smf.probe(PROBE) {
            Ok(()) => return Ok(start.elapsed()),
            Err(error) if patience.is_zero() => return Err(error),
            Err(_) => patience = patience.saturating_sub(PROBE),
        }
        if let Some(status) = daemon.exited()? {
            return Err(LabError::Peer(format!(
                "causeway run ended: {status}. {}",
                daemon.last_output_lines(3)
            )));
        }
    }
}
