//! Reads the fields of an IE from the left, never past its end.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::IeError;

/// The rest of the value of an IE. Every read fails with an invalid length if the rest is too short.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(value: &'a [u8]) -> Self {
        Self { rest: value }
    }

    pub(crate) fn take(&mut self, octets: usize) -> Result<&'a [u8], IeError> {
        let (taken, rest) = self.rest.split_at_checked(octets).ok_or_else(IeError::length)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], IeError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(IeError::length)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// `count` arrays of `N` octets.
    pub(crate) fn arrays<const N: usize>(&mut self, count: usize) -> Result<&'a [[u8; N]], IeError> {
        Ok(self.take(count * N)?.as_chunks().0)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, IeError> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, IeError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u24(&mut self) -> Result<u32, IeError> {
        let [a, b, c] = self.array()?;
        Ok(u32::from_be_bytes([0, a, b, c]))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, IeError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(crate) fn u40(&mut self) -> Result<u64, IeError> {
        let [a, b, c, d, e] = self.array()?;
        Ok(u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, IeError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    pub(crate) fn ipv4(&mut self) -> Result<Ipv4Addr, IeError> {
        Ok(self.array::<4>()?.into())
    }

    pub(crate) fn ipv6(&mut self) -> Result<Ipv6Addr, IeError> {
        Ok(self.array::<16>()?.into())
    }

    /// A field after a length of one octet.
    pub(crate) fn counted8(&mut self) -> Result<&'a [u8], IeError> {
        let length = self.u8()?;
        self.take(length.into())
    }

    /// A field after a length of two octets.
    pub(crate) fn counted16(&mut self) -> Result<&'a [u8], IeError> {
        let length = self.u16()?;
        self.take(length.into())
    }

    /// A field that is present only if a flag is set.
    pub(crate) fn when<T>(
        &mut self,
        present: bool,
        read: impl FnOnce(&mut Self) -> Result<T, IeError>,
    ) -> Result<Option<T>, IeError> {
        present.then(|| read(self)).transpose()
    }

    /// The rest.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) const fn remaining(&self) -> usize {
        self.rest.len()
    }
}

/// Writes the fields that [`Reader`] reads.
pub(crate) trait Put {
    fn put(&mut self, octets: &[u8]);

    fn put_u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    fn put_u16(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }

    /// The low 24 bits.
    fn put_u24(&mut self, value: u32) {
        self.put(&value.to_be_bytes()[1..]);
    }

    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    /// The low 40 bits.
    fn put_u40(&mut self, value: u64) {
        self.put(&value.to_be_bytes()[3..]);
    }

    fn put_u64(&mut self, value: u64) {
        self.put(&value.to_be_bytes());
    }

    /// At most 255 octets; longer fields are truncated.
    fn put_counted8(&mut self, octets: &[u8]) {
        let octets = octets.get(..usize::from(u8::MAX)).unwrap_or(octets);
        self.put_u8(octets.len() as u8);
        self.put(octets);
    }

    /// At most 65535 octets; longer fields are truncated.
    fn put_counted16(&mut self, octets: &[u8]) {
        let octets = octets.get(..usize::from(u16::MAX)).unwrap_or(octets);
        self.put_u16(octets.len() as u16);
        self.put(octets);
    }
}

impl Put for Vec<u8> {
    fn put(&mut self, octets: &[u8]) {
        self.extend_from_slice(octets);
    }
}
