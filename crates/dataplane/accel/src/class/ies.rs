//! A cursor over IEs in the order of the specification: at each step, the next type decides.

use super::Misfit;

/// Octets of type and length.
const HEAD: usize = 4;

/// The remaining IEs of a message or group.
#[derive(Clone, Copy)]
pub(super) struct Ies<'a> {
    rest: &'a [u8],
}

impl<'a> Ies<'a> {
    pub(super) const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    /// The type of the next IE.
    fn next_type(&self) -> Option<u16> {
        self.rest.first_chunk().map(|octets| u16::from_be_bytes(*octets))
    }

    /// The value of the next IE if it has this type.
    ///
    /// # Errors
    /// Its length exceeds what contains it.
    pub(super) fn optional(&mut self, ie: u16) -> Result<Option<&'a [u8]>, Misfit> {
        if self.next_type() != Some(ie) {
            return Ok(None);
        }
        let Some([_, _, high, low]) = self.rest.first_chunk() else { return Err(Misfit::Length) };
        let end = HEAD + usize::from(u16::from_be_bytes([*high, *low]));
        let value = self.rest.get(HEAD..end).ok_or(Misfit::Length)?;
        self.rest = self.rest.get(end..).unwrap_or_default();
        Ok(Some(value))
    }

    /// The value of the next IE, which must have this type.
    pub(super) fn mandatory(&mut self, ie: u16) -> Result<&'a [u8], Misfit> {
        match self.optional(ie)? {
            Some(value) => Ok(value),
            None if self.rest.is_empty() => Err(Misfit::Missing(ie)),
            None => Err(self.unexpected(&[ie])),
        }
    }

    /// The IEs of a group.
    pub(super) fn group(&mut self, ie: u16) -> Result<Option<Self>, Misfit> {
        Ok(self.optional(ie)?.map(Self::new))
    }

    /// The value of the next IE if it has this type; it must have `N` octets.
    pub(super) fn array<const N: usize>(&mut self, ie: u16) -> Result<Option<[u8; N]>, Misfit> {
        self.optional(ie)?.map(|value| exactly(ie, value)).transpose()
    }

    /// The same; the IE must be there.
    pub(super) fn mandatory_array<const N: usize>(&mut self, ie: u16) -> Result<[u8; N], Misfit> {
        exactly(ie, self.mandatory(ie)?)
    }

    /// Nothing may follow. `known`: the types of the class in this group.
    pub(super) fn finish(self, known: &[u16]) -> Result<(), Misfit> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.unexpected(known)) }
    }

    /// What is wrong with the next IE.
    fn unexpected(&self, known: &[u16]) -> Misfit {
        match self.next_type() {
            None => Misfit::Length,
            Some(ie) if known.contains(&ie) => Misfit::Order(ie),
            Some(ie) => Misfit::Excluded(ie),
        }
    }
}

fn exactly<const N: usize>(ie: u16, value: &[u8]) -> Result<[u8; N], Misfit> {
    value.try_into().map_err(|_| Misfit::Value(ie))
}
