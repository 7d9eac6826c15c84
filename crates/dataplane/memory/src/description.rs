//! What a memory server says of itself when a connection is set up.

use causeway_packet::roce::Rkey;
use causeway_packet::roce::management::REPLY_PRIVATE;

use crate::{Place, Rights};

/// The service identifier of a memory server, one of those that are administered locally (IBA Annex A3).
pub const SERVICE: u64 = 0x0200_0000_0000_12b7;

/// The start of the private data: name and version of this description.
const MAGIC: [u8; 8] = *b"CWYMEM\0\x01";

/// The run of a memory server: another number after each restart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Incarnation(pub u64);

/// A memory server and its region, in the private data of its reply to a request for a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Description {
    /// The run of the server.
    pub incarnation: Incarnation,
    /// The key of the region.
    pub rkey: Rkey,
    /// What the key permits.
    pub rights: Rights,
    /// Virtual address of the first octet.
    pub base: u64,
    /// Octets.
    pub length: u64,
    /// The longest read, octets.
    pub max_length: u32,
}

impl Description {
    /// The place so many octets after the start of the region.
    pub const fn place(&self, offset: u64) -> Place {
        Place { rkey: self.rkey, address: self.base.wrapping_add(offset) }
    }

    /// `None` if these are not the private data of a memory server.
    pub(crate) fn parse(private: &[u8; REPLY_PRIVATE]) -> Option<Self> {
        let rest = private.strip_prefix(&MAGIC)?;
        let (incarnation, rest) = rest.split_first_chunk()?;
        let (rkey, rest) = rest.split_first_chunk()?;
        let ([rights], rest) = rest.split_first_chunk::<1>()?;
        let (base, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (max_length, _) = rest.split_first_chunk()?;
        Some(Self {
            incarnation: Incarnation(u64::from_be_bytes(*incarnation)),
            rkey: Rkey(u32::from_be_bytes(*rkey)),
            rights: Rights::from_bits(*rights)?,
            base: u64::from_be_bytes(*base),
            length: u64::from_be_bytes(*length),
            max_length: u32::from_be_bytes(*max_length),
        })
    }

    pub(crate) fn private(&self) -> [u8; REPLY_PRIVATE] {
        let mut private = [0; REPLY_PRIVATE];
        let octets = MAGIC
            .into_iter()
            .chain(self.incarnation.0.to_be_bytes())
            .chain(self.rkey.0.to_be_bytes())
            .chain([self.rights.bits()])
            .chain(self.base.to_be_bytes())
            .chain(self.length.to_be_bytes())
            .chain(self.max_length.to_be_bytes());
        private.iter_mut().zip(octets).for_each(|(place, octet)| *place = octet);
        private
    }
}
