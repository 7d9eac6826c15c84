//! TCP headers (RFC 9293): view and builder.

use std::net::IpAddr;

use bitflags::bitflags;

use crate::checksum::Checksum;
use crate::reader::Reader;
use crate::{BuildError, IpProtocol, Layer, ParseError};

/// Octets of a header without options.
const MIN_HEADER: usize = 20;
/// Maximum octets of options.
const MAX_OPTIONS: usize = 40;

bitflags! {
    /// The control bits.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
    pub struct TcpFlags: u8 {
        /// No more data from the sender.
        const FIN = 0x01;
        /// Synchronize sequence numbers.
        const SYN = 0x02;
        /// Reset the connection.
        const RST = 0x04;
        /// Push.
        const PSH = 0x08;
        /// The acknowledgment number is valid.
        const ACK = 0x10;
        /// The urgent pointer is valid.
        const URG = 0x20;
        /// ECN echo.
        const ECE = 0x40;
        /// Congestion window reduced.
        const CWR = 0x80;
    }
}

/// A TCP segment with a validated header length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tcp<'a> {
    fixed: &'a [u8; MIN_HEADER],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// Checks the data offset.
    ///
    /// # Errors
    /// [`ParseError`] of [`Layer::Tcp`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Tcp, bytes);
        let fixed = reader.array::<MIN_HEADER>()?;
        let found = usize::from(fixed[12] >> 4) * 4;
        let options_len = found.checked_sub(MIN_HEADER).ok_or(ParseError::LengthTooSmall {
            layer: Layer::Tcp,
            found,
            minimum: MIN_HEADER,
        })?;
        Ok(Self { fixed, options: reader.take(options_len)?, payload: reader.rest() })
    }

    /// Source port.
    pub const fn src_port(&self) -> u16 {
        u16::from_be_bytes([self.fixed[0], self.fixed[1]])
    }

    /// Destination port.
    pub const fn dst_port(&self) -> u16 {
        u16::from_be_bytes([self.fixed[2], self.fixed[3]])
    }

    /// Sequence number of the first octet.
    pub const fn sequence(&self) -> u32 {
        u32::from_be_bytes([self.fixed[4], self.fixed[5], self.fixed[6], self.fixed[7]])
    }

    /// Acknowledgment number, valid with [`TcpFlags::ACK`].
    pub const fn acknowledgment(&self) -> u32 {
        u32::from_be_bytes([self.fixed[8], self.fixed[9], self.fixed[10], self.fixed[11]])
    }

    /// Control bits.
    pub const fn flags(&self) -> TcpFlags {
        TcpFlags::from_bits_retain(self.fixed[13])
    }

    /// Window, unscaled.
    pub const fn window(&self) -> u16 {
        u16::from_be_bytes([self.fixed[14], self.fixed[15]])
    }

    /// Urgent pointer, valid with [`TcpFlags::URG`].
    pub const fn urgent(&self) -> u16 {
        u16::from_be_bytes([self.fixed[18], self.fixed[19]])
    }

    /// Options, unparsed; 0 to 40 octets.
    pub const fn options(&self) -> &'a [u8] {
        self.options
    }

    /// Header octets with options, 20 to 60.
    pub const fn header_len(&self) -> usize {
        MIN_HEADER + self.options.len()
    }

    /// The octets after the header.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The checksum with the pseudo header of the two addresses, which are of one family, is valid.
    pub fn checksum_is_valid(&self, src: IpAddr, dst: IpAddr) -> bool {
        let length = self.header_len() + self.payload.len();
        Checksum::new()
            .pseudo(src, dst, IpProtocol::TCP, length)
            .is_some_and(|sum| sum.with(self.fixed).with(self.options).with(self.payload).finish() == 0)
    }

    /// The header's fields, without options.
    pub const fn repr(&self) -> TcpRepr {
        TcpRepr {
            src_port: self.src_port(),
            dst_port: self.dst_port(),
            sequence: self.sequence(),
            acknowledgment: self.acknowledgment(),
            flags: self.flags(),
            window: self.window(),
            urgent: self.urgent(),
        }
    }
}

/// The fields of a TCP header. Data offset and checksum are computed while writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpRepr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window, unscaled.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
}

impl TcpRepr {
    /// Appends the header with options (whole words, at most 40 octets) and the payload.
    ///
    /// # Errors
    /// [`BuildError`] of [`Layer::Tcp`], or [`BuildError::MixedFamilies`]; nothing is appended then.
    pub fn write(
        &self,
        src: IpAddr,
        dst: IpAddr,
        options: &[u8],
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), BuildError> {
        if options.len() > MAX_OPTIONS {
            return Err(BuildError::TooLong { layer: Layer::Tcp, length: options.len(), limit: MAX_OPTIONS });
        }
        if !options.len().is_multiple_of(4) {
            return Err(BuildError::Unaligned { layer: Layer::Tcp, length: options.len() });
        }
        let mut header = self.unsummed(MIN_HEADER + options.len());
        let sum = Checksum::new()
            .pseudo(src, dst, IpProtocol::TCP, header.len() + options.len() + payload.len())
            .ok_or(BuildError::MixedFamilies)?;
        [header[16], header[17]] = sum.with(&header).with(options).with(payload).finish().to_be_bytes();
        for part in [&header, options, payload] {
            out.extend_from_slice(part);
        }
        Ok(())
    }

    fn unsummed(&self, header_len: usize) -> [u8; MIN_HEADER] {
        let [s0, s1] = self.src_port.to_be_bytes();
        let [d0, d1] = self.dst_port.to_be_bytes();
        let [q0, q1, q2, q3] = self.sequence.to_be_bytes();
        let [a0, a1, a2, a3] = self.acknowledgment.to_be_bytes();
        let [w0, w1] = self.window.to_be_bytes();
        let [u0, u1] = self.urgent.to_be_bytes();
        #[rustfmt::skip]
        let header = [
            s0, s1, d0, d1,
            q0, q1, q2, q3,
            a0, a1, a2, a3,
            (header_len << 2) as u8, self.flags.bits(), w0, w1,
            0, 0, u0, u1,
        ];
        header
    }
}
