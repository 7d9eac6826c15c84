//! VXLAN segments of a data plane, without sockets: what the headers cost.

use std::mem::swap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrayvec::ArrayVec;
use causeway_dataplane::{Exit, QueuedPacket, TransmitQueue};
use causeway_packet::vxlan::{PORT, Vni};
use causeway_packet::{BATCH, Batch, Frame, MacAddr, Meta};
use causeway_ports::vxlan::{Segment, SegmentTraffic, VxlanEndpoint, VxlanPort};
use causeway_ports::{Counters, Port, PortError};

use super::shape;
use crate::BenchError;

const NEAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 101);
const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 102);

/// A carrier whose datagrams are in the batch already that it receives; sending looks at the frames.
struct Carrier {
    /// Where sent datagrams go; `None`: nowhere.
    leaving: Option<Arc<Mutex<Batch>>>,
    counters: Arc<Counters>,
}

fn lock(batch: &Mutex<Batch>) -> MutexGuard<'_, Batch> {
    batch.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Port for Carrier {
    fn name(&self) -> &str {
        "carrier"
    }

    fn mtu(&self) -> u32 {
        1700
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        Ok(batch.len())
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        if let Some(leaving) = &self.leaving {
            let mut leaving = lock(leaving);
            let from = Meta::Gtpu { local: NEAR.into(), peer: (FAR, PORT).into(), tos: 0, hops: None };
            return Ok(frames.iter().filter(|frame| leaving.push(Frame { meta: from, ..**frame })).count());
        }
        std::hint::black_box(frames);
        Ok(frames.len())
    }

    fn send_from(&mut self, batch: &mut Batch, frames: &[usize]) -> Result<usize, PortError> {
        if self.leaving.is_some() {
            return self.send(&batch.as_frames());
        }
        let first = |index: &usize| batch.data(*index)?.first().copied();
        std::hint::black_box(frames.iter().filter_map(first).fold(0, |seen, octet| seen ^ octet));
        Ok(frames.len())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// One segment, with the other end, which builds the datagrams.
struct Side {
    near: VxlanPort,
    far: VxlanPort,
    wire: Arc<Mutex<Batch>>,
}

impl Side {
    fn new(vni: u32, near: SegmentTraffic, far: SegmentTraffic) -> Result<Self, BenchError> {
        let wire = Arc::new(Mutex::new(Batch::new()));
        let end = |leaving: bool| {
            let carrier = Carrier { leaving: leaving.then(|| Arc::clone(&wire)), counters: Arc::default() };
            let address = SocketAddr::new(if leaving { FAR } else { NEAR }.into(), PORT);
            VxlanEndpoint::new(Box::new(carrier), address)
        };
        let macs = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];
        let segment = |remote: Ipv4Addr, [mac, remote_mac]: [MacAddr; 2]| Segment {
            vni: Vni::new(vni).unwrap_or_default(),
            remote: (remote, PORT).into(),
            mac,
            remote_mac,
            address: None,
            address6: None,
        };
        Ok(Self {
            near: end(false).add("near", segment(FAR, macs), near)?,
            far: end(true).add("far", segment(NEAR, [macs[1], macs[0]]), far)?,
            wire,
        })
    }

    /// Packs the frames of a batch into datagrams of the segment, in place.
    fn wrap(&mut self, batch: &mut Batch) -> Result<(), BenchError> {
        lock(&self.wire).clear();
        self.far.send(&batch.as_frames())?;
        swap(batch, &mut *lock(&self.wire));
        Ok(())
    }

    /// Receives the datagrams of a batch, in place.
    fn unwrap(&mut self, batch: &mut Batch) -> Result<(), BenchError> {
        self.near.receive(batch)?;
        Ok(())
    }
}

/// The segments of N6, and of N3 where it is in one, too.
pub(crate) struct Segments {
    n6: Side,
    n3: Option<Side>,
    is_uplink: Vec<bool>,
}

impl Segments {
    /// N6, or N6 and N3, in segments.
    pub(crate) fn new(with_n3: bool) -> Result<Self, BenchError> {
        let gnbs = || (0..shape::GNBS).map(|number| IpAddr::V4(shape::gnb(number))).collect();
        let n3 = || {
            let upf = SegmentTraffic::Gtpu(vec![shape::UPF.into()]);
            Side::new(6, upf, SegmentTraffic::Gtpu(gnbs()))
        };
        Ok(Self {
            n6: Side::new(5, SegmentTraffic::Ip, SegmentTraffic::Ip)?,
            n3: if with_n3 { Some(n3()?) } else { None },
            is_uplink: Vec::new(),
        })
    }

    /// Packs the frames of each batch as they arrive. Not measured.
    pub(crate) fn wrap(&mut self, batches: &mut [Batch]) -> Result<(), BenchError> {
        self.is_uplink.clear();
        for batch in batches {
            let is_uplink = batch.meta(0).is_some_and(|meta| *meta != Meta::Ip);
            self.is_uplink.push(is_uplink);
            match (is_uplink, &mut self.n3) {
                (false, _) => self.n6.wrap(batch)?,
                (true, Some(n3)) => {
                    // The gNB is the sender.
                    for index in 0..batch.len() {
                        if let Some(mut frame) = batch.frame_mut(index)
                            && let Meta::Gtpu { local, peer, tos, hops } = frame.meta()
                        {
                            let meta = Meta::Gtpu { local: peer.ip(), peer: (local, 2152).into(), tos, hops };
                            frame.set_meta(meta);
                        }
                    }
                    n3.wrap(batch)?;
                }
                (true, None) => {}
            }
        }
        Ok(())
    }

    /// Receives the batch with this number.
    pub(crate) fn receive(&mut self, number: usize, batch: &mut Batch) -> Result<(), BenchError> {
        match (self.is_uplink.get(number), &mut self.n3) {
            (Some(false), _) => self.n6.unwrap(batch),
            (_, Some(n3)) => n3.unwrap(batch),
            _ => Ok(()),
        }
    }

    /// Sends what the data plane has queued.
    pub(crate) fn send(&mut self, batch: &mut Batch, queue: &TransmitQueue) -> Result<(), BenchError> {
        let (mut ip, mut gtpu) = (ArrayVec::<usize, BATCH>::new(), ArrayVec::<usize, BATCH>::new());
        for packet in queue.packets() {
            let QueuedPacket::Frame(index, exit) = packet else { continue };
            // A queue has no more frames than the batch.
            let _ = match exit {
                Exit::Network(_) => ip.try_push(*index),
                Exit::Tunnel { .. } => gtpu.try_push(*index),
            };
        }
        if !ip.is_empty() {
            self.n6.near.send_from(batch, &ip)?;
        }
        if let Some(n3) = self.n3.as_mut().filter(|_| !gtpu.is_empty()) {
            n3.near.send_from(batch, &gtpu)?;
        }
        std::hint::black_box(&gtpu);
        Ok(())
    }
}
