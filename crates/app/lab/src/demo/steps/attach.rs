//! The association, ten sessions, ten UEs.

use std::collections::HashSet;
use std::time::Instant;

use causeway_types::{Bitrate, NetworkInstance, Qfi};

use super::cast;
use crate::LabError;
use crate::demo::config::DNN;
use crate::demo::environment::{DemoEnvironment, Network, UES, Ue};
use crate::demo::step::Observer;
use crate::patience::QUIET;
use crate::ran::{Bearer, GnbId, UeId};
use crate::smf::{Downlink, SessionPlan};
use crate::topology::UPF_N3;

/// The QoS flow of every UE.
pub(super) const QFI: u8 = 9;

/// The volume threshold of the UE of the volume step, in octets.
pub(super) const THRESHOLD: u64 = 100_000;

/// A threshold that no other UE reaches.
const UNREACHED_THRESHOLD: u64 = 1 << 40;

/// 10 Gbit/s: present and enforced, but above the rates of the demo.
const MBR_KBPS: u64 = 10_000_000;

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let network = stage.network()?;
    let association = network.smf.associate()?;
    observer.note("UPF", association.node);
    observer.note("UP function features", association.features);
    let start = Instant::now();
    for n in 0..UES {
        observer.progress(format!("{n} of {UES} UEs"));
        let ue = attach_one(network, n)?;
        network.ues.push(ue);
    }
    let took = start.elapsed();
    let distinct: HashSet<_> = network.ues.iter().map(|ue| ue.session.uplink.teid).collect();
    let here = network.ues.iter().all(|ue| ue.session.uplink.addr.contains(UPF_N3.into()));
    observer.expect("uplink tunnels chosen by the UPF", distinct.len(), distinct.len() == usize::from(UES));
    observer.expect("their address", UPF_N3, here);
    let sessions = network.metrics()?.sum(super::SESSIONS, &[]);
    observer.expect("sessions in /metrics", sessions, sessions == f64::from(UES));
    for gnb in [GnbId(0), GnbId(1)] {
        let echo = network.ran.echo(gnb, UPF_N3.into(), QUIET)?;
        observer.expect(
            &format!("GTP-U Echo from gNB {}", gnb.0 + 1),
            format!("answered in {echo:.1?}"),
            true,
        );
    }
    observer.summarise(format!("{UES} sessions up in {} ms; GTP-U Echo answered", took.as_millis()));
    Ok(())
}

/// Session, tunnel, and the tunnel in the UPF: the result of registration and PDU session establishment.
fn attach_one(network: &Network, n: u8) -> Result<Ue, LabError> {
    let wrong = |what: &str| LabError::Missing(what.into());
    let qfi = Qfi::new(QFI).ok_or_else(|| wrong("a legal QFI"))?;
    let paying = usize::from(n) == cast::PAYS;
    let plan = SessionPlan {
        ue: super::start::addresses(n, network.ipv6),
        dnn: NetworkInstance::new(DNN),
        qfi,
        mbr: Bitrate::from_kbps(MBR_KBPS).ok_or_else(|| wrong("a legal MBR"))?,
        volume_threshold: if paying { THRESHOLD } else { UNREACHED_THRESHOLD },
    };
    let session = network.smf.establish(&plan)?;
    let (id, gnb) = (UeId(n.into()), GnbId(0));
    let bearer = Bearer { uplink: session.uplink, qfi };
    let downlink = network.ran.connect(id, gnb, bearer).ok_or_else(|| wrong("the gNB"))?;
    network.smf.set_downlink(&session, Downlink::Forward(downlink))?;
    let device = super::start::device(n);
    Ok(Ue { id, device, addresses: plan.ue, session, gnb, downlink, reported: Default::default() })
}
