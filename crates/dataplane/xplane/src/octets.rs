//! Octets of records in external memory, in network byte order.

/// Writes fields one after the other.
#[derive(Debug)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// For a record of at most so many octets: it allocates once.
    pub(crate) fn of_size(size: usize) -> Self {
        Self(Vec::with_capacity(size))
    }

    pub(crate) fn bytes(&mut self, octets: &[u8]) -> &mut Self {
        self.0.extend_from_slice(octets);
        self
    }

    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes(&[value])
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    /// The record with zeroes up to its size.
    pub(crate) fn finish(mut self, size: usize) -> Vec<u8> {
        debug_assert!(self.0.len() <= size, "{} octets in a record of {size}", self.0.len());
        self.0.resize(size, 0);
        self.0
    }
}

/// Reads fields one after the other; `None` behind the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(octets: &'a [u8]) -> Self {
        Self(octets)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.first_chunk().copied()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[octet]| octet)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}
