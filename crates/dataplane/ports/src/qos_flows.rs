//! A wrapper that counts the octets of a GTP-U port by QoS flow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use causeway_packet::gtpu::{Message, Packet};
use causeway_packet::{Batch, Frame};
use causeway_types::Qfi;

use crate::port::forward_to_port;
use crate::{Port, PortError};

/// The number of QFIs.
const QFIS: usize = 64;

/// Octets of GTP-U messages with user data, by the QFI in their PDU Session Container. Readable from any thread.
#[derive(Debug)]
pub struct QosFlowOctets {
    received: [AtomicU64; QFIS],
    sent: [AtomicU64; QFIS],
}

impl Default for QosFlowOctets {
    fn default() -> Self {
        let zero = || [(); QFIS].map(|()| AtomicU64::new(0));
        Self { received: zero(), sent: zero() }
    }
}

impl QosFlowOctets {
    /// Octets received with a QFI, from the GTP-U header on.
    pub fn received(&self, qfi: Qfi) -> u64 {
        read(&self.received, qfi)
    }

    /// Octets sent with a QFI.
    pub fn sent(&self, qfi: Qfi) -> u64 {
        read(&self.sent, qfi)
    }
}

fn read(counts: &[AtomicU64; QFIS], qfi: Qfi) -> u64 {
    counts.get(usize::from(qfi.value())).map_or(0, |count| count.load(Ordering::Relaxed))
}

/// One thread writes.
fn count<'a>(counts: &[AtomicU64; QFIS], frames: impl Iterator<Item = Frame<'a>>) {
    for frame in frames {
        if let Some(count) = qfi_of(frame.data).and_then(|qfi| counts.get(usize::from(qfi.value()))) {
            count.store(count.load(Ordering::Relaxed) + frame.data.len() as u64, Ordering::Relaxed);
        }
    }
}

/// The QFI of user data; `None`: it has none, or this is another message.
fn qfi_of(message: &[u8]) -> Option<Qfi> {
    let packet = Packet::parse(message).ok().filter(|packet| matches!(packet.message, Message::GPdu(_)))?;
    packet.extensions.pdu_session().map(|session| session.qfi())
}

/// A GTP-U port that counts octets by QFI. It reads the header of each packet once more.
///
/// Frames to send are counted before the port accepts them, including those that it then drops.
pub struct QosFlowPort<P> {
    inner: P,
    octets: Arc<QosFlowOctets>,
}

impl<P: Port> QosFlowPort<P> {
    /// Counts the frames of `inner`.
    pub const fn new(inner: P, octets: Arc<QosFlowOctets>) -> Self {
        Self { inner, octets }
    }
}

impl<P: Port> Port for QosFlowPort<P> {
    forward_to_port!(self, self.inner);

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        let received = self.inner.receive(batch)?;
        count(&self.octets.received, batch.frames());
        Ok(received)
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        count(&self.octets.sent, frames.iter().copied());
        self.inner.send(frames)
    }

    fn send_from(&mut self, batch: &mut Batch, frames: &[usize]) -> Result<usize, PortError> {
        count(&self.octets.sent, frames.iter().filter_map(|index| batch.frame(*index)));
        self.inner.send_from(batch, frames)
    }

    fn has_pending(&self) -> bool {
        self.inner.has_pending()
    }
}

#[cfg(test)]
mod tests {
    use causeway_packet::Meta;
    use causeway_packet::gtpu::prefix;
    use causeway_types::Teid;

    use super::*;
    use crate::memory::pair;

    // Input:  received: user data of QFI 9 twice and of QFI 63, user data without a QFI, an Echo Request with octets that look like one,
    //         and random octets; sent: QFI 5, and a received packet of QFI 63.
    // Output: the octets of the former, under their QFI and direction, and of nothing else.
    #[test]
    fn octets_are_counted_by_qfi() {
        let (near, mut far) = pair("n3", "gnb").unwrap();
        let octets = Arc::<QosFlowOctets>::default();
        let mut port = QosFlowPort::new(near, Arc::clone(&octets));
        let teid = Teid::new(7).unwrap();
        let of = |qfi| prefix::uplink(teid, Qfi::from_low_bits(qfi), 100).unwrap().to_vec();
        let user = |qfi| [of(qfi), vec![0x45; 100]].concat();
        let without = [prefix::without_extensions(teid, 100).unwrap().to_vec(), vec![0x45; 100]].concat();
        let mut echo = user(9);
        echo[1] = 1;
        let meta = Meta::Gtpu {
            local: [192, 0, 2, 1].into(),
            peer: ([192, 0, 2, 9], 2152).into(),
            tos: 0,
            hops: None,
        };
        for message in [user(9), user(9), user(63), without, echo, vec![0x34; 9], Vec::new()] {
            far.push(meta, &message);
        }
        let mut batch = Batch::new();
        assert_eq!(port.receive(&mut batch).unwrap(), 7);
        let sent = user(5);
        port.send(&[Frame { meta, data: &sent }]).unwrap();
        port.send_from(&mut batch, &[2]).unwrap();
        let all = |count: fn(&QosFlowOctets, Qfi) -> u64| -> Vec<(u8, u64)> {
            (0..64)
                .map(|qfi| (qfi, count(&octets, Qfi::from_low_bits(qfi))))
                .filter(|(_, n)| *n > 0)
                .collect()
        };
        assert_eq!(all(QosFlowOctets::received), [(9, 232), (63, 116)]);
        assert_eq!(all(QosFlowOctets::sent), [(5, 116), (63, 116)]);
    }
}
