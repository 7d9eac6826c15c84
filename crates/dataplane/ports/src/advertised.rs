//! A GTP-U port whose addresses peers know under other names.

use std::net::IpAddr;

use arrayvec::ArrayVec;
use causeway_packet::{BATCH, Batch, Frame, Meta};

use crate::port::forward_to_port;
use crate::{Port, PortError};

/// A port behind address translation: peers send to advertised addresses, which something on the way translates to the
/// local ones of the port, and back.
///
/// To its user the local address of a frame is the advertised one, when it is received and when it is sent: the address
/// in F-TEIDs. The port below has the local one. An address that is not translated stays as it is.
pub struct AdvertisedPort<P> {
    inner: P,
    /// The local address, and the advertised one.
    addresses: Vec<(IpAddr, IpAddr)>,
}

impl<P: Port> AdvertisedPort<P> {
    /// The port `inner`, with pairs of a local address and the one that is advertised instead.
    pub fn new(inner: P, addresses: Vec<(IpAddr, IpAddr)>) -> Self {
        Self { inner, addresses }
    }

    fn advertised(&self, local: IpAddr) -> Option<IpAddr> {
        self.addresses.iter().find(|(known, _)| *known == local).map(|(_, advertised)| *advertised)
    }

    fn local(&self, advertised: IpAddr) -> Option<IpAddr> {
        self.addresses.iter().find(|(_, known)| *known == advertised).map(|(local, _)| *local)
    }
}

impl<P: Port> Port for AdvertisedPort<P> {
    forward_to_port!(self, self.inner);

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        let count = self.inner.receive(batch)?;
        for index in 0..batch.len() {
            if let Some(mut frame) = batch.frame_mut(index)
                && let Meta::Gtpu { local, .. } = frame.meta_mut()
                && let Some(advertised) = self.advertised(*local)
            {
                *local = advertised;
            }
        }
        Ok(count)
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        let mut sent = 0;
        for some in frames.chunks(BATCH) {
            let mut translated: ArrayVec<Frame<'_>, BATCH> = some.iter().copied().collect();
            for frame in &mut translated {
                if let Meta::Gtpu { local, .. } = &mut frame.meta
                    && let Some(own) = self.local(*local)
                {
                    *local = own;
                }
            }
            sent += self.inner.send(&translated)?;
        }
        Ok(sent)
    }

    fn send_from(&mut self, batch: &mut Batch, frames: &[usize]) -> Result<usize, PortError> {
        for index in frames {
            if let Some(mut frame) = batch.frame_mut(*index)
                && let Meta::Gtpu { local, .. } = frame.meta_mut()
                && let Some(own) = self.local(*local)
            {
                *local = own;
            }
        }
        self.inner.send_from(batch, frames)
    }

    fn has_pending(&self) -> bool {
        self.inner.has_pending()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;

    // Input:  frames from and to an advertised address, and from an address that is not translated.
    // Output: the user sees the advertised address, the port below the local one; the other address stays.
    #[test]
    fn addresses_are_translated_in_both_directions() {
        let (near, mut far) = memory::pair("near", "far").unwrap();
        let [local, advertised, other] =
            ["10.0.0.7", "198.51.100.7", "10.0.0.8"].map(|ip| ip.parse().unwrap());
        let mut port = AdvertisedPort::new(near, vec![(local, advertised)]);
        let meta = |local| Meta::Gtpu { local, peer: ([192, 0, 2, 9], 2152).into(), tos: 0, hops: None };
        let frame = |local, data| Frame { meta: meta(local), data };
        assert_eq!(far.send(&[frame(local, &[1]), frame(other, &[2])]).unwrap(), 2);
        let mut batch = Batch::new();
        assert_eq!(port.receive(&mut batch).unwrap(), 2);
        let metas: Vec<Meta> = batch.frames().map(|frame| frame.meta).collect();
        assert_eq!(metas, [meta(advertised), meta(other)]);
        assert_eq!(port.send(&[frame(advertised, &[3]), frame(other, &[4])]).unwrap(), 2);
        assert_eq!(far.pop(), Some((meta(local), vec![3])));
        assert_eq!(far.pop(), Some((meta(other), vec![4])));
        assert_eq!((port.name(), port.has_pending()), ("near", false));
        assert_eq!(port.send_from(&mut batch, &[1, 0]).unwrap(), 2);
        assert_eq!(far.pop(), Some((meta(other), vec![2])));
        assert_eq!(far.pop(), Some((meta(local), vec![1])));
    }
}
