//! Namespaces, links, captures, the daemon.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::LabError;
use crate::capture::Capture;
use crate::demo::config;
use crate::demo::environment::{Captures, DemoEnvironment, Network, Sampler, UES};
use crate::demo::step::Observer;
use crate::process::Daemon;
use crate::ran::{GnbSite, Ran, UeSite};
use crate::smf::Smf;
use crate::topology::{GNBS, SMF, Topology, UPF_N4, ue_address};

/// The time limit for the first response of the UPF after its start.
const START: Duration = Duration::from_secs(10);

/// MTU of the UEs: an outer IPv4, UDP and GTP-U header with a PDU Session Container fits in front.
const UE_MTU: u32 = 1400;

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let DemoEnvironment { options, cleanup, .. } = stage;
    observer.progress("namespaces");
    let topology = Topology::build(cleanup)?;
    let capture = |name: &str, at: &[_]| Capture::start(&options.out.join(name), at, cleanup);
    let [gnb1, gnb2] = &topology.gnbs;
    let captures = Captures {
        n3: capture("n3.pcap", &[gnb1, gnb2])?,
        n4: capture("n4.pcap", &[&topology.smf])?,
        n6: capture("n6.pcap", &[&topology.dn])?,
    };
    observer.progress("gNBs and UEs");
    let ran = Arc::new(radio_network(&topology, stage)?);
    let DemoEnvironment { options, cleanup, timeline, .. } = stage;
    observer.progress("causeway run");
    let configuration = options.out.join("upf.yaml");
    std::fs::write(&configuration, config::upf(UE_MTU, options.dataplane.as_deref()))
        .map_err(LabError::io("upf.yaml"))?;
    let args = ["run".into(), "--config".into(), configuration.into()];
    let log = options.out.join("causeway.log");
    let daemon = Daemon::start(&topology.upf, &options.program, &args, &log, cleanup)?;
    let smf = Smf::open(&topology.smf, SMF, UPF_N4, timeline.clone())?;
    let answered = wait_for_n4(&smf, &daemon)?;
    let sampler = Sampler::start(&ran, timeline);
    let network = Network { sampler, captures, ran, ues: Vec::new(), smf, daemon, topology };
    stage.before = network.metrics()?;
    observer.note("namespaces", "gnb1, gnb2, ue, upf, dn, smf");
    observer.expect("PFCP Heartbeat Response", format!("{} ms after the start", answered.as_millis()), true);
    observer.summarise(format!("6 namespaces; the UPF responds on N4 after {} ms", answered.as_millis()));
    stage.network = Some(network);
    Ok(())
}

fn radio_network(topology: &Topology, stage: &DemoEnvironment) -> Result<Ran, LabError> {
    let sites = topology.gnbs.iter().zip(GNBS).map(|(namespace, address)| GnbSite { namespace, address });
    let gnbs = sites.map(|site| site.open()).collect::<Result<_, _>>()?;
    let ues = (0..UES).map(|n| {
        let device = device(n);
        let (namespace, address) = (&topology.ue, ue_address(n));
        UeSite { namespace, device: &device, address, mtu: UE_MTU, table: n + 1 }.open()
    });
    Ran::start(gnbs, ues.collect::<Result<_, _>>()?, stage.timeline.clone())
}

/// The device of the `n`th UE, counted from zero.
pub(super) fn device(n: u8) -> String {
    format!("ue{}", n + 1)
}

/// Sends heartbeats until one has a response. Returns the time until then.
fn wait_for_n4(smf: &Smf, daemon: &Daemon) -> Result<Duration, LabError> {
    let start = Instant::now();
    loop {
        match smf.probe(Duration::from_millis(50)) {
            Ok(()) => return Ok(start.elapsed()),
            Err(error) if start.elapsed() >= START => return Err(error),
            Err(_) => {}
        }
        if let Some(status) = daemon.exited()? {
            return Err(LabError::Peer(format!(
                "causeway run ended: {status}. {}",
                daemon.last_output_lines(3)
            )));
        }
    }
}
