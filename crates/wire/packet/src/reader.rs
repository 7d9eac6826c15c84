//! Reads octets in order; an error names the layer whose octets are too few.

use crate::{Layer, ParseError};

/// The unread octets of one layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    layer: Layer,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(layer: Layer, bytes: &'a [u8]) -> Self {
        Self { layer, rest: bytes }
    }

    /// The unread octets.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `count` octets.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], ParseError> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or_else(|| self.truncated(count))?;
        self.rest = rest;
        Ok(head)
    }

    /// The next `N` octets, as an array.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], ParseError> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.truncated(N))?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ParseError> {
        self.array().map(|&[octet]| octet)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ParseError> {
        self.array().map(|octets| u16::from_be_bytes(*octets))
    }

    pub(crate) fn u24(&mut self) -> Result<u32, ParseError> {
        self.array().map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ParseError> {
        self.array().map(|octets| u32::from_be_bytes(*octets))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, ParseError> {
        self.array().map(|octets| u64::from_be_bytes(*octets))
    }

    const fn truncated(&self, need: usize) -> ParseError {
        ParseError::Truncated { layer: self.layer, need, have: self.rest.len() }
    }
}
