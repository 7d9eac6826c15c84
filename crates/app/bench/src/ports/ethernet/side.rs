//! A port under test with the gNB that sends to it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use causeway_lab::netns::{Namespace, receive_on, run_program};
use causeway_packet::{BATCH, Batch, Frame, Meta};
use causeway_ports::{Port, wait};

use super::kinds::{Kind, gnb};
use crate::BenchError;
use crate::kit::{CpuTimer, Samples, Summary};
use crate::namespaces::BenchNamespaces;

/// Batches in a burst: fewer frames than any ring or socket buffer holds.
const BURST: usize = 8;

/// Frames in a burst.
pub(super) const FRAMES: usize = BURST * BATCH;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
/// An unused address.
const NOBODY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 77);
const UPF_MAC: &str = "02:00:00:00:00:01";
/// An unused Ethernet address: interfaces drop frames to it.
const NOBODY_MAC: &str = "02:00:00:00:ff:ff";

/// A port under test with the gNB that sends to it. Without a port what the gNB sends is dropped.
pub(super) struct Side {
    gnb: Box<dyn Port>,
    port: Option<(Box<dyn Port>, String)>,
    meta: Meta,
    batch: Batch,
    samples: Samples,
    lost: u64,
}

impl Side {
    /// Makes two namespaces with a cable, and opens the ports there. What comes back to the gNB is for `far_core`.
    pub(super) fn open(
        kind: Option<&Kind>,
        far_core: usize,
        nets: &BenchNamespaces,
    ) -> Result<Self, BenchError> {
        let (upf, far) = (nets.namespace("n3upf")?, nets.namespace("n3gnb")?);
        cable(&upf, &far)?;
        receive_on(&far, "n3", far_core)?;
        let gnb = far.enter(|| gnb(GNB))?;
        let port = match kind {
            Some((_, open)) => Some(upf.enter(|| open("n3", UPF))?),
            None => None,
        };
        let to = if port.is_some() { UPF } else { NOBODY };
        let meta = Meta::Gtpu { local: GNB.into(), peer: SocketAddr::from((to, 2152)), tos: 0, hops: None };
        Ok(Self { gnb, port, meta, batch: Batch::new(), samples: Samples::default(), lost: 0 })
    }

    /// How the port works.
    pub(super) fn how(&self) -> &str {
        self.port.as_ref().map_or("", |(_, how)| how)
    }

    /// One burst there and back.
    pub(super) fn step(&mut self, octets: usize, counted: bool) -> Result<(), BenchError> {
        let data = vec![0x30; octets];
        let frames = [Frame { meta: self.meta, data: &data }; BATCH];
        let timer = CpuTimer::start();
        let mut sent = 0;
        for _ in 0..BURST {
            sent += self.gnb.send(&frames)?;
        }
        let back = self.pass(sent)?;
        let elapsed = timer.elapsed();
        if counted {
            self.samples.add(elapsed.as_nanos() as f64 / sent.max(1) as f64);
            self.lost += if self.port.is_some() { (FRAMES - back) as u64 } else { 0 };
        }
        Ok(())
    }

    /// Sends back what arrives, until that is as much as was sent or nothing more comes.
    fn pass(&mut self, sent: usize) -> Result<usize, BenchError> {
        let Some((port, _)) = &mut self.port else { return Ok(0) };
        let mut back = 0;
        let end = Instant::now() + Duration::from_millis(200);
        while back < sent && Instant::now() < end {
            wait([&**port], None, Some(Duration::from_millis(20)))
                .map_err(BenchError::io("wait for packets"))?;
            if port.receive(&mut self.batch)? > 0 {
                back += port.send(&self.batch.as_frames())?;
            }
        }
        Ok(back)
    }

    /// What was measured since the last time, and how many frames were lost.
    pub(super) fn take(&mut self) -> (Option<Summary>, u64) {
        (std::mem::take(&mut self.samples).summary(), std::mem::take(&mut self.lost))
    }
}

/// Packets from the port under test have no receiver.
fn cable(upf: &Namespace, far: &Namespace) -> Result<(), BenchError> {
    let (near_end, far_end) = (upf.name(), far.name());
    let pair =
        format!("link add n3 netns {near_end} address {UPF_MAC} type veth peer name n3 netns {far_end}");
    run_program("ip", pair.split(' '), "")?;
    let neighbour = |address: Ipv4Addr, mac: &str| {
        format!("neighbour replace {address} lladdr {mac} dev n3 nud permanent\n")
    };
    upf.ip(format!("address add {UPF}/24 dev n3\nlink set n3 up\n{}", neighbour(GNB, NOBODY_MAC)))?;
    let known = neighbour(UPF, UPF_MAC) + &neighbour(NOBODY, NOBODY_MAC);
    Ok(far.ip(format!("address add {GNB}/24 dev n3\nlink set n3 up\n{known}"))?)
}
