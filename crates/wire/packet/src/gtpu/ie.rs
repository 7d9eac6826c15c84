//! GTP-U information elements (TS 29.281 clause 8).

use crate::reader::Reader;
use crate::{Layer, ParseError};

pub(super) const RECOVERY: u8 = 14;
pub(super) const TEID_DATA_I: u8 = 16;
pub(super) const PEER_ADDRESS: u8 = 133;
pub(super) const EXTENSION_HEADER_TYPES: u8 = 141;

/// One information element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ie<'a> {
    pub(super) kind: u8,
    pub(super) value: &'a [u8],
}

/// The value of the first element of a type. Walks all of them, so that a malformed one is always an error.
pub(super) fn find(kind: u8, body: &[u8]) -> Result<Option<&[u8]>, ParseError> {
    let mut found = None;
    let mut reader = Reader::new(Layer::GtpuIe, body);
    while !reader.rest().is_empty() {
        let ie = next(&mut reader)?;
        if ie.kind == kind && found.is_none() {
            found = Some(ie.value);
        }
    }
    Ok(found)
}

/// Checks that all elements are well-formed; none is required.
pub(super) fn walk(body: &[u8]) -> Result<(), ParseError> {
    find(RECOVERY, body).map(drop)
}

/// The same as [`find`], for a required element.
pub(super) fn require(kind: u8, body: &[u8]) -> Result<&[u8], ParseError> {
    find(kind, body)?.ok_or(ParseError::MissingIe(kind))
}

fn next<'a>(reader: &mut Reader<'a>) -> Result<Ie<'a>, ParseError> {
    let kind = reader.u8()?;
    let length = match kind {
        0..=127 => tv_length(kind)?,
        // The only TLV whose length field is a single octet (TS 29.281 clause 8.5).
        EXTENSION_HEADER_TYPES => usize::from(reader.u8()?),
        _ => usize::from(reader.u16()?),
    };
    Ok(Ie { kind, value: reader.take(length)? })
}

/// Octets of the value of a TV element, which has no length on the wire (TS 29.060 table 37).
const fn tv_length(kind: u8) -> Result<usize, ParseError> {
    Ok(match kind {
        1 | 8 | 11 | 13..=15 | 19..=21 | 23 | 24 | 29 => 1,
        25..=28 => 2,
        12 => 3,
        4 | 5 | TEID_DATA_I | 17 | 127 => 4,
        18 => 5,
        3 => 6,
        2 => 8,
        22 => 9,
        9 => 28,
        _ => return Err(ParseError::UnknownTv(kind)),
    })
}
