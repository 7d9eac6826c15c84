//! The common part of ports on Ethernet: receive, transmit and counters.

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use arrayvec::ArrayVec;
use causeway_packet::{BATCH, Batch, Frame, MacAddr};
use rustix::event::epoll;
use rustix::io::Errno;

use super::checksum::complete;
use super::egress::{ETHERNET, Egress, NextHopAction};
use super::neighbour_queue::Packet;
use super::receive_filter::AcceptedFrame;
use super::{Device, Header, Received};
use crate::netlink::Table;
use crate::outer::OUTER;
use crate::{Counter, Counters, PortError};

/// A frame to send: its destination, and the headers that the port adds.
pub(super) struct OutgoingPacket {
    pub(super) dst: IpAddr,
    pub(super) outer: ArrayVec<u8, OUTER>,
}

/// An Ethernet interface in use.
pub(crate) struct EthernetInterface<D> {
    pub(super) name: String,
    pub(super) counters: Arc<Counters>,
    pub(crate) device: D,
    egress: Egress,
    /// Ready when the device or the tables have changed.
    readable: OwnedFd,
}

impl<D: Device> EthernetInterface<D> {
    /// Opens the device of the interface of `egress`. `others` are watched with it.
    pub(crate) fn new(
        name: &str,
        egress: Egress,
        device: D,
        others: &[impl AsFd],
    ) -> Result<Self, PortError> {
        let others = others.iter().map(AsFd::as_fd);
        let news = any(device.descriptors().into_iter().chain([egress.as_fd()]).chain(others));
        let news =
            news.map_err(|errno| PortError::system("watching an interface", errno, "CAP_NET_ADMIN"))?;
        Ok(Self { name: name.to_owned(), counters: Arc::default(), device, egress, readable: news })
    }

    pub(super) const fn mtu(&self) -> u32 {
        self.egress.link().mtu
    }

    pub(super) const fn table(&self) -> &Table {
        self.egress.table()
    }

    pub(super) fn poll_fd(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }

    /// Applies the kernel's changes, and sends packets that waited for them. `true` when its tables have changed.
    pub(super) fn refresh(&mut self) -> Result<bool, PortError> {
        let changed = self.egress.refresh()?.ok_or_else(|| PortError::lost(&self.name, Errno::NODEV))?;
        if changed {
            self.device.link_changed();
            let (released, dropped) = self.egress.take_resolved();
            self.counters.add(Counter::NeighbourUnresolved, dropped);
            for packet in released {
                self.send_waiting(packet)?;
            }
        }
        self.counters.add(Counter::NeighbourUnresolved, self.egress.expire());
        Ok(changed)
    }

    /// Fills the batch with the frames that `accept` accepts; each other one counts in its counter.
    pub(super) fn receive(
        &mut self,
        batch: &mut Batch,
        accept: impl for<'a> Fn(&Received<'a>, MacAddr) -> Result<AcceptedFrame<'a>, Counter>,
    ) -> usize {
        let mac = self.egress.mac();
        while !batch.is_full() {
            let Some(received) = self.device.next() else { break };
            match accept(&received, mac).and_then(|accepted| store(batch, &accepted)) {
                Ok(octets) => self.counters.received(1, octets),
                Err(reason) => self.counters.add(reason, 1),
            }
        }
        self.device.finish_receive(&self.counters);
        batch.len()
    }

    /// Sends up to [`BATCH`] frames; each counts in one counter, immediately or when its neighbour is resolved.
    pub(super) fn send(
        &mut self,
        frames: &[Frame<'_>],
        mut outward: impl FnMut(&Frame<'_>, &Table) -> Result<OutgoingPacket, Counter>,
    ) -> Result<usize, PortError> {
        let mut ready = ArrayVec::<(Header, &[u8]), BATCH>::new();
        let mut kept = 0;
        for frame in frames {
            let out = match outward(frame, self.egress.table()) {
                Ok(out) => out,
                Err(reason) => {
                    self.counters.add(reason, 1);
                    continue;
                }
            };
            match self.egress.next_hop_action(out.dst, out.outer.len() + frame.data.len()) {
                NextHopAction::Send(ethernet) => {
                    ready.push((joined(&ethernet, &out.outer), frame.data));
                }
                NextHopAction::Queue(neighbour) => {
                    kept += usize::from(self.enqueue(&out, neighbour, frame.data));
                }
                NextHopAction::Drop(reason) => self.counters.add(reason, 1),
            }
        }
        Ok(self.transmit(&ready)? + kept)
    }

    fn enqueue(&mut self, out: &OutgoingPacket, neighbour: IpAddr, data: &[u8]) -> bool {
        let now = Instant::now();
        let queues = self.egress.may_queue(neighbour, now);
        let mut dropped = !queues;
        if queues {
            let (header, octets) = (out.outer.len(), [&out.outer, data].concat());
            dropped = self.egress.enqueue(Packet { dst: out.dst, neighbour, since: now, header, octets });
        }
        self.counters.add(Counter::NeighbourUnresolved, dropped.into());
        queues
    }

    fn send_waiting(&mut self, packet: Packet) -> Result<(), PortError> {
        let (outer, payload) = packet.octets.split_at_checked(packet.header).unwrap_or_default();
        match self.egress.next_hop_action(packet.dst, packet.octets.len()) {
            NextHopAction::Send(ethernet) => self.transmit(&[(joined(&ethernet, outer), payload)]).map(drop),
            NextHopAction::Queue(_) => {
                self.counters.add(Counter::NeighbourUnresolved, 1);
                Ok(())
            }
            NextHopAction::Drop(reason) => {
                self.counters.add(reason, 1);
                Ok(())
            }
        }
    }

    pub(super) fn count_losses(&mut self) {
        self.device.count_losses(&self.counters);
    }

    fn transmit(&mut self, frames: &[(Header, &[u8])]) -> Result<usize, PortError> {
        self.device.transmit(frames, &self.counters).map_err(|errno| PortError::lost(&self.name, errno))
    }
}

/// The Ethernet header followed by an outer header.
fn joined(ethernet: &[u8; ETHERNET], outer: &[u8]) -> Header {
    let mut header = Header::new();
    // Both fit: that is the maximum length of a header.
    let _ = header.try_extend_from_slice(ethernet).and_then(|()| header.try_extend_from_slice(outer));
    header
}

/// Copies an accepted frame into the batch. Returns its length.
fn store(batch: &mut Batch, accepted: &AcceptedFrame<'_>) -> Result<usize, Counter> {
    if !batch.push(Frame { meta: accepted.meta, data: accepted.data }) {
        return Err(Counter::RxTruncated);
    }
    let last = batch.len().saturating_sub(1);
    if let Some(mut frame) = batch.frame_mut(last).filter(|_| accepted.needs_checksum) {
        complete(frame.data());
    }
    Ok(accepted.data.len())
}

/// A descriptor that is ready when one of these is.
fn any<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>) -> Result<OwnedFd, Errno> {
    let news = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (data, fd) in descriptors.enumerate() {
        epoll::add(&news, fd, epoll::EventData::new_u64(data as u64), epoll::EventFlags::IN)?;
    }
    Ok(news)
}
