//! The IEs, one type each (TS 29.244 clause 8.2), grouped by subject.

use crate::raw::write_tlv;
use crate::{Field, IeError};

/// The type and the coding of an IE.
///
/// Octets beyond the known fields are ignored when decoding, since a later release may have added them
/// (clause 8.1.2), and spare bits are dropped.
pub trait Ie<'a>: Sized {
    /// The IE type (Table 8.1.2-1).
    const TYPE: u16;
    /// The name in the specification.
    const NAME: &'static str;
    /// The fields inside, if this is a grouped IE.
    const FIELDS: &'static [Field] = &[];
    /// A null length is a value: nothing in this group is mandatory.
    const NULL_IS_VALUE: bool = false;

    /// Decodes the value, without type and length.
    ///
    /// # Errors
    /// An [`IeError`] without this IE's own type; the caller adds it with [`IeError::at`].
    fn decode(value: &'a [u8]) -> Result<Self, IeError>;

    /// Checks whether [`Ie::decode`] would succeed, without the value.
    ///
    /// # Errors
    /// Those of [`Ie::decode`].
    fn check(value: &'a [u8]) -> Result<(), IeError> {
        Self::decode(value).map(drop)
    }

    /// Appends the value, without type and length.
    fn encode(&self, out: &mut Vec<u8>);

    /// Appends type, length and value.
    fn write(&self, out: &mut Vec<u8>) {
        self.write_as(Self::TYPE, out);
    }

    /// [`Self::write`] with another type, for IEs with one coding and several types.
    fn write_as(&self, ie_type: u16, out: &mut Vec<u8>) {
        write_tlv(ie_type, out, |out| self.encode(out));
    }
}

mod addr;
mod atsss;
mod buffering;
mod cause;
mod csid;
mod detected;
mod ethernet;
mod feature;
mod filter;
mod forwarding;
mod identity;
mod interface;
mod l2tp;
pub(crate) mod leaf;
mod marking;
mod monitoring;
mod multicast;
mod network;
mod node;
mod outer_header;
mod qos;
mod rate;
pub(crate) mod text;
mod time;
mod tsc;
mod tunnel;
mod usage;
mod volume;

pub use addr::*;
pub use atsss::*;
pub use buffering::*;
pub use cause::*;
pub use csid::*;
pub use detected::*;
pub use ethernet::*;
pub use feature::*;
pub use filter::*;
pub use forwarding::*;
pub use identity::*;
pub use interface::*;
pub use l2tp::*;
pub use marking::*;
pub use monitoring::*;
pub use multicast::*;
pub use network::*;
pub use node::*;
pub use outer_header::*;
pub use qos::*;
pub use rate::*;
pub use text::{Fqdn, Octets};
pub use time::*;
pub use tsc::*;
pub use tunnel::*;
pub use usage::*;
pub use volume::*;
