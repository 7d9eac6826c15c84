//! The IEs of a message or group, each at the place that the class has for its type.

use super::{Misfit, Order};

/// Octets of type and length.
const HEAD: usize = 4;

/// The IEs of a message or group that are not read yet.
#[derive(Clone, Copy)]
struct Ies<'a> {
    rest: &'a [u8],
}

impl<'a> Ies<'a> {
    /// The next IE: its type and value.
    ///
    /// # Errors
    /// Its length exceeds what contains it.
    fn next(&mut self) -> Result<Option<(u16, &'a [u8])>, Misfit> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let Some([t1, t0, high, low]) = self.rest.first_chunk() else { return Err(Misfit::Length) };
        let end = HEAD + usize::from(u16::from_be_bytes([*high, *low]));
        let value = self.rest.get(HEAD..end).ok_or(Misfit::Length)?;
        self.rest = self.rest.get(end..).unwrap_or_default();
        Ok(Some((u16::from_be_bytes([*t1, *t0]), value)))
    }
}

/// The values of the IEs of a message or group, at the places of their types. A type has as many places as IEs of it may
/// be there.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a, const N: usize> {
    types: &'static [u16; N],
    values: [Option<&'a [u8]>; N],
}

impl<'a, const N: usize> Fields<'a, N> {
    /// Reads all IEs.
    ///
    /// # Errors
    /// A wrong length; an IE that has no place, or whose places are taken; with [`Order::Standard`], one that is
    /// behind another whose place is later.
    pub(super) fn read(octets: &'a [u8], types: &'static [u16; N], order: Order) -> Result<Self, Misfit> {
        let mut ies = Ies { rest: octets };
        let mut values = [None; N];
        let mut from = 0;
        while let Some((ie, value)) = ies.next()? {
            let mut places = types.iter().zip(&mut values).enumerate().skip(from);
            match places.find(|(_, (of, place))| **of == ie && place.is_none()) {
                Some((at, (_, place))) => {
                    *place = Some(value);
                    if order == Order::Standard {
                        from = at;
                    }
                }
                None if types.contains(&ie) => return Err(Misfit::Order(ie)),
                None => return Err(Misfit::Excluded(ie)),
            }
        }
        Ok(Self { types, values })
    }

    /// The values of this type, in the order of the message.
    pub(super) fn all(&self, ie: u16) -> impl Iterator<Item = &'a [u8]> + use<'a, N> {
        let of_type = move |(of, value): (&u16, Option<&'a [u8]>)| value.filter(|_| *of == ie);
        self.types.iter().zip(self.values).filter_map(of_type)
    }

    /// The first `M` values of this type.
    ///
    /// # Errors
    /// There are more than `most`, or one is wrong.
    pub(super) fn several<T: Copy, const M: usize>(
        &self,
        ie: u16,
        most: usize,
        read: impl Fn(&'a [u8]) -> Result<T, Misfit>,
    ) -> Result<[Option<T>; M], Misfit> {
        let mut several = [None; M];
        let mut places = several.iter_mut().take(most);
        for value in self.all(ie) {
            *places.next().ok_or(Misfit::Order(ie))? = Some(read(value)?);
        }
        Ok(several)
    }

    /// The value of this type.
    pub(super) fn optional(&self, ie: u16) -> Option<&'a [u8]> {
        self.all(ie).next()
    }

    /// The same; the IE must be there.
    pub(super) fn mandatory(&self, ie: u16) -> Result<&'a [u8], Misfit> {
        self.optional(ie).ok_or(Misfit::Missing(ie))
    }

    /// The value of this type, which has `L` octets.
    pub(super) fn array<const L: usize>(&self, ie: u16) -> Result<Option<[u8; L]>, Misfit> {
        self.optional(ie).map(|value| exactly(ie, value)).transpose()
    }

    /// The same; the IE must be there.
    pub(super) fn mandatory_array<const L: usize>(&self, ie: u16) -> Result<[u8; L], Misfit> {
        exactly(ie, self.mandatory(ie)?)
    }
}

pub(super) fn exactly<const L: usize>(ie: u16, value: &[u8]) -> Result<[u8; L], Misfit> {
    value.try_into().map_err(|_| Misfit::Value(ie))
}
