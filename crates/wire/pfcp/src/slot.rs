//! The state of a field during decoding.

use crate::many::is_value;
use crate::{Fault, Ie, IeError, Many, Presence, RawIe};

/// The state of a field that is not repeated.
pub(crate) struct Single<T> {
    seen: bool,
    pub(crate) value: Option<T>,
}

impl<T> Single<T> {
    pub(crate) const fn new() -> Self {
        Self { seen: false, value: None }
    }

    /// The field is still empty.
    pub(crate) const fn is_open(&self) -> bool {
        !self.seen
    }

    /// Decodes the first occurrence.
    pub(crate) fn take<'a>(
        &mut self,
        ie: RawIe<'a>,
        presence: Presence,
        ignored: &mut Option<IeError>,
    ) -> Result<(), IeError>
    where
        T: Ie<'a>,
    {
        if !is_removal::<T>(ie, presence) {
            self.seen = true;
            self.value = decode(ie, presence, ignored)?;
        }
        Ok(())
    }
}

/// The state of a field that may be repeated.
pub(crate) struct Repeated<'a> {
    count: usize,
    /// The group from the first usable occurrence on.
    group: &'a [u8],
}

impl<'a> Repeated<'a> {
    pub(crate) const fn new() -> Self {
        Self { count: 0, group: &[] }
    }

    /// Checks one occurrence, which is at the start of the rest of the group.
    pub(crate) fn take<T: Ie<'a>>(
        &mut self,
        ie: RawIe<'a>,
        rest: &'a [u8],
        presence: Presence,
        ignored: &mut Option<IeError>,
    ) -> Result<(), IeError> {
        if is_removal::<T>(ie, presence) {
            return Ok(());
        }
        if let Err(error) = T::check(ie.value) {
            ignored.get_or_insert(judge(error.at(ie.ie_type), presence)?);
            return Ok(());
        }
        if self.count == 0 {
            self.group = rest;
        }
        self.count += 1;
        Ok(())
    }

    pub(crate) fn view<T: Ie<'a>>(&self, ie_type: u16) -> Many<'a, T> {
        Many::wire(self.group, ie_type, self.count)
    }

    /// Requires at least one occurrence.
    pub(crate) fn required(self, ie_type: u16) -> Result<Self, IeError> {
        if self.count == 0 { Err(missing(ie_type)) } else { Ok(self) }
    }
}

pub(crate) fn missing(ie_type: u16) -> IeError {
    IeError::new(Fault::MandatoryMissing).at(ie_type)
}

/// A null length, which removes the provisioned value (clause 5.6.3) and is left to [`crate::Others`].
fn is_removal<'a, T: Ie<'a>>(ie: RawIe<'a>, presence: Presence) -> bool {
    presence != Presence::Mandatory && !is_value::<T>(ie.value)
}

/// Decodes an IE and applies its presence requirement to a failure.
fn decode<'a, T: Ie<'a>>(
    ie: RawIe<'a>,
    presence: Presence,
    ignored: &mut Option<IeError>,
) -> Result<Option<T>, IeError> {
    match T::decode(ie.value) {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            ignored.get_or_insert(judge(error.at(ie.ie_type), presence)?);
            Ok(None)
        }
    }
}

/// Checks an IE of a group like decoding. `false`: it is a removal.
pub(crate) fn check<'a, T: Ie<'a>>(ie: RawIe<'a>, presence: Presence) -> Result<bool, IeError> {
    if is_removal::<T>(ie, presence) {
        return Ok(false);
    }
    match T::check(ie.value) {
        Ok(()) => Ok(true),
        Err(error) => judge(error.at(ie.ie_type), presence).map(|_| true),
    }
}

/// The effect of a failure: the IE is ignored, or the message refused (clauses 7.2.3.2, 7.6.7 and 7.6.8).
fn judge(mut error: IeError, presence: Presence) -> Result<IeError, IeError> {
    match presence {
        Presence::Optional if error.fault != Fault::InvalidLength => return Ok(error),
        Presence::Conditional if error.fault == Fault::MandatoryMissing => {
            error.fault = Fault::ConditionalMissing;
        }
        _ => {}
    }
    Err(error)
}
