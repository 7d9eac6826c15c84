//! The thread that moves packets between TUN devices and N3 sockets.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use causeway_packet::{BATCH, Batch, Frame, Meta};
use causeway_ports::{Port, Ready, wait};

use super::outlet::send_all;
use super::state::{Downlink, Uplink};
use super::{GnbId, Shared, UeId};

/// How often packets held back in a handover are looked at, and the longest that a stop takes.
const TICK: Duration = Duration::from_millis(20);

/// Lets the kernel choose the source address.
const ANY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

pub(super) struct Worker {
    shared: Arc<Shared>,
    gnbs: Vec<Box<dyn Port>>,
    ues: Vec<Box<dyn Port>>,
    batch: Batch,
    deliveries: Vec<Delivery>,
}

/// A packet on its way to a UE.
struct Delivery {
    ue: UeId,
    packet: UserPacket,
}

/// Where its octets are.
enum UserPacket {
    /// In a frame of the batch, after so many octets of header.
    InBatch { index: usize, offset: usize },
    /// It was held back in a handover.
    Held(Vec<u8>),
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, gnbs: Vec<Box<dyn Port>>, ues: Vec<Box<dyn Port>>) -> Self {
        Self { shared, gnbs, ues, batch: Batch::new(), deliveries: Vec::with_capacity(BATCH) }
    }

    pub(super) fn run(mut self) {
        let mut turn = Instant::now();
        while !self.shared.lock().stopping {
            let ready = self.wait();
            for index in (0..self.gnbs.len()).filter(|index| ready.port(*index)) {
                self.forward_downlink(GnbId(index));
            }
            let first_ue = self.gnbs.len();
            for index in (0..self.ues.len()).filter(|index| ready.port(first_ue + index)) {
                self.forward_uplink(UeId(index));
            }
            // A turn that took longer was a pause of this thread: packets have waited, nothing is overdue.
            let now = Instant::now();
            self.shared.lock().elapse(now.duration_since(turn).min(TICK));
            turn = now;
            self.release_held();
            self.flush();
            self.shared.changed.notify_all();
        }
    }

    fn wait(&mut self) -> Ready {
        let ports = self.gnbs.iter().chain(&self.ues).map(|port| &**port);
        let ready = wait(ports, Some(&self.shared.waker), Some(TICK)).unwrap_or_default();
        if ready.is_empty() {
            // What the kernel has dropped is looked up when there is time.
            self.gnbs.iter_mut().chain(&mut self.ues).for_each(|port| port.count_losses());
        }
        ready
    }

    /// User packets of one UE into its uplink tunnel.
    fn forward_uplink(&mut self, ue: UeId) {
        let Some(port) = self.ues.get_mut(ue.0) else { return };
        if let Err(error) = port.receive(&mut self.batch) {
            return self.shared.lock().port_lost(&error);
        }
        let mut through = None;
        let mut state = self.shared.lock();
        for index in 0..self.batch.len() {
            let Some(mut frame) = self.batch.frame_mut(index) else { continue };
            let Some(Uplink { gnb, upf, header }) = state.uplink(ue, frame.data()) else { continue };
            if let Some(room) = frame.prepend(header.len()) {
                room.copy_from_slice(&header);
                frame.set_meta(Meta::Gtpu { local: ANY, peer: upf, tos: 0, hops: None });
                through = Some((gnb, header.len()));
            }
        }
        drop(state);
        self.batch.retain(|frame| frame.meta != Meta::Ip);
        let Some((gnb, header)) = through else { return };
        let Some(port) = self.gnbs.get_mut(gnb.0) else { return };
        let frames = self.batch.as_frames();
        let sent = send_all(&mut **port, &frames);
        if sent.frames < frames.len() {
            let lost = frames.get(sent.frames..).unwrap_or_default();
            let octets: usize = lost.iter().map(|frame| frame.data.len().saturating_sub(header)).sum();
            self.shared.lock().not_sent(ue, lost.len() as u64, octets as u64);
        }
        if let Some(error) = sent.port_lost {
            self.shared.lock().port_lost(&error);
        }
    }

    /// What a gNB received: user packets to their UEs, the rest to the state.
    fn forward_downlink(&mut self, gnb: GnbId) {
        let Some(port) = self.gnbs.get_mut(gnb.0) else { return };
        if let Err(error) = port.receive(&mut self.batch) {
            return self.shared.lock().port_lost(&error);
        }
        let mut state = self.shared.lock();
        for index in 0..self.batch.len() {
            let Some(frame) = self.batch.frame(index) else { continue };
            let Meta::Gtpu { peer, .. } = frame.meta else { continue };
            match state.downlink(gnb, peer, frame.data) {
                Downlink::Deliver(ue, offset) => {
                    self.deliveries.push(Delivery { ue, packet: UserPacket::InBatch { index, offset } });
                }
                Downlink::Released(ue) => {
                    let held = state.release_buffered(ue).into_iter();
                    self.deliveries
                        .extend(held.map(|packet| Delivery { ue, packet: UserPacket::Held(packet) }));
                }
                Downlink::Done => {}
            }
        }
        drop(state);
        self.deliver();
    }

    /// Packets whose wait for the End Marker is over.
    fn release_held(&mut self) {
        let mut state = self.shared.lock();
        for ue in (0..state.ues()).map(UeId) {
            let held = state.release_buffered(ue).into_iter();
            self.deliveries.extend(held.map(|packet| Delivery { ue, packet: UserPacket::Held(packet) }));
        }
        drop(state);
        self.deliver();
    }

    /// Writes the deliveries to the devices, those in a row for one UE together.
    fn deliver(&mut self) {
        let Self { deliveries, batch, ues, shared, .. } = self;
        for run in deliveries.chunk_by(|a, b| a.ue == b.ue) {
            let Some(ue) = run.first().map(|delivery| delivery.ue) else { continue };
            let Some(port) = ues.get_mut(ue.0) else { continue };
            for some in run.chunks(BATCH) {
                let frames: Vec<_> = some.iter().map(|delivery| delivery.packet.frame(batch)).collect();
                let sent = send_all(&mut **port, &frames);
                if sent.frames < frames.len() {
                    shared.lock().not_delivered(ue, (frames.len() - sent.frames) as u64);
                }
                if let Some(error) = sent.port_lost {
                    shared.lock().port_lost(&error);
                }
            }
        }
        deliveries.clear();
    }

    /// Sends the messages that wait in the state.
    fn flush(&mut self) {
        let outbox = std::mem::take(&mut self.shared.lock().outbox);
        for (gnb, peer, data) in outbox {
            let Some(port) = self.gnbs.get_mut(gnb.0) else { continue };
            let meta = Meta::Gtpu { local: unspecified(peer), peer, tos: 0, hops: None };
            // A message that is lost shows in the response that does not come; the port has counted why.
            let sent = send_all(&mut **port, &[Frame { meta, data: &data }]);
            if let Some(error) = sent.port_lost {
                self.shared.lock().port_lost(&error);
            }
        }
    }
}

impl UserPacket {
    fn frame<'a>(&'a self, batch: &'a Batch) -> Frame<'a> {
        let data = match self {
            Self::InBatch { index, offset } => {
                batch.data(*index).and_then(|data| data.get(*offset..)).unwrap_or_default()
            }
            Self::Held(packet) => packet,
        };
        Frame { meta: Meta::Ip, data }
    }
}

fn unspecified(peer: SocketAddr) -> IpAddr {
    if peer.is_ipv4() { ANY } else { std::net::Ipv6Addr::UNSPECIFIED.into() }
}
