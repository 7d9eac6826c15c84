//! The thread that moves packets between TUN devices and N3 sockets.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::{Port, wait};

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
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, gnbs: Vec<Box<dyn Port>>, ues: Vec<Box<dyn Port>>) -> Self {
        Self { shared, gnbs, ues, batch: Batch::new() }
    }

    pub(super) fn run(mut self) {
        while !self.shared.lock().stopping {
            let ports = self.gnbs.iter().chain(&self.ues).map(|port| &**port);
            let ready = wait(ports, Some(&self.shared.waker), Some(TICK)).unwrap_or_default();
            for index in (0..self.gnbs.len()).filter(|index| ready.port(*index)) {
                self.forward_downlink(GnbId(index));
            }
            let first_ue = self.gnbs.len();
            for index in (0..self.ues.len()).filter(|index| ready.port(first_ue + index)) {
                self.forward_uplink(UeId(index));
            }
            for index in 0..self.ues.len() {
                self.deliver_buffered(UeId(index));
            }
            self.flush();
            self.shared.changed.notify_all();
        }
    }

    /// User packets of one UE into its uplink tunnel.
    fn forward_uplink(&mut self, ue: UeId) {
        let Some(port) = self.ues.get_mut(ue.0) else { return };
        // A device that is lost shows in the packets that do not arrive.
        let _ = port.receive(&mut self.batch);
        let mut through = None;
        let mut state = self.shared.lock();
        for index in 0..self.batch.len() {
            let Some(mut frame) = self.batch.frame_mut(index) else { continue };
            let octets = frame.data().len();
            let Some(Uplink { gnb, upf, header }) = state.uplink(ue, octets) else { continue };
            if let Some(room) = frame.prepend(header.len()) {
                room.copy_from_slice(&header);
                frame.set_meta(Meta::Gtpu { local: ANY, peer: upf, tos: 0, hops: None });
                through = Some(gnb);
            }
        }
        drop(state);
        self.batch.retain(|frame| frame.meta != Meta::Ip);
        if let Some(port) = through.and_then(|gnb| self.gnbs.get_mut(gnb.0)) {
            let _ = port.send(&self.batch.as_frames());
        }
    }

    /// What a gNB received: user packets to their UEs, the rest to the state.
    fn forward_downlink(&mut self, gnb: GnbId) {
        let Some(port) = self.gnbs.get_mut(gnb.0) else { return };
        let _ = port.receive(&mut self.batch);
        for index in 0..self.batch.len() {
            let Some(frame) = self.batch.frame(index) else { continue };
            let Meta::Gtpu { peer, .. } = frame.meta else { continue };
            // One statement, so that the lock is not held while packets are sent.
            let fate = self.shared.lock().downlink(gnb, peer, frame.data);
            match fate {
                Downlink::Deliver(ue, offset) => {
                    deliver(&mut self.ues, ue, frame.data.get(offset..).unwrap_or_default());
                }
                Downlink::Released(ue) => self.deliver_buffered(ue),
                Downlink::Done => {}
            }
        }
    }

    fn deliver_buffered(&mut self, ue: UeId) {
        let packets = self.shared.lock().release_buffered(ue, Instant::now());
        packets.iter().for_each(|packet| deliver(&mut self.ues, ue, packet));
    }

    /// Sends the messages that wait in the state.
    fn flush(&mut self) {
        let outbox = std::mem::take(&mut self.shared.lock().outbox);
        for (gnb, peer, data) in outbox {
            if let Some(port) = self.gnbs.get_mut(gnb.0) {
                let meta = Meta::Gtpu { local: unspecified(peer), peer, tos: 0, hops: None };
                let _ = port.send(&[Frame { meta, data: &data }]);
            }
        }
    }
}

fn unspecified(peer: SocketAddr) -> IpAddr {
    if peer.is_ipv4() { ANY } else { std::net::Ipv6Addr::UNSPECIFIED.into() }
}

fn deliver(ues: &mut [Box<dyn Port>], ue: UeId, packet: &[u8]) {
    if let Some(port) = ues.get_mut(ue.0) {
        let _ = port.send(&[Frame { meta: Meta::Ip, data: packet }]);
    }
}
