//! All IE types of Release 17, by number (Table 8.1.2-1).

use std::fmt;

use crate::{Field, Ie, IeError};

/// An IE type, with functions for its values.
#[derive(Clone, Copy)]
pub struct IeInfo {
    /// The IE type.
    pub ie_type: u16,
    /// The name in the specification.
    pub name: &'static str,
    /// The fields inside, if the IE is a group.
    pub fields: &'static [Field],
    show: Show,
    again: Again,
}

/// Writes the decoded value.
type Show = fn(&[u8], &mut dyn fmt::Write) -> Result<(), IeError>;
/// Decodes a value and encodes it.
type Again = fn(&[u8], &mut Vec<u8>) -> Result<(), IeError>;

impl IeInfo {
    /// Writes the `Debug` form of the decoded value.
    ///
    /// # Errors
    /// The value cannot be decoded.
    pub fn show(&self, value: &[u8], out: &mut dyn fmt::Write) -> Result<(), IeError> {
        (self.show)(value, out)
    }

    /// Decodes a value and appends its encoding, which is the value without spare bits and unknown octets.
    ///
    /// # Errors
    /// The value cannot be decoded.
    pub fn encode_again(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), IeError> {
        (self.again)(value, out)
    }
}

impl fmt::Debug for IeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.ie_type)
    }
}

mod list;

pub use list::ALL;

/// The description of an IE type.
pub fn ie_info(ie_type: u16) -> Option<&'static IeInfo> {
    let at = ALL.binary_search_by_key(&ie_type, |info| info.ie_type).ok()?;
    ALL.get(at)
}

/// The name of an IE type.
pub fn ie_name(ie_type: u16) -> Option<&'static str> {
    ie_info(ie_type).map(|info| info.name)
}

fn show_value<'a, T: Ie<'a> + fmt::Debug>(value: &'a [u8], out: &mut dyn fmt::Write) -> Result<(), IeError> {
    let value = T::decode(value)?;
    // The error of a failing writer is lost; the writer of the dump never fails.
    let _ = write!(out, "{value:?}");
    Ok(())
}

macro_rules! registry {
    ($( $ie:ident $(= $ie_type:literal, $name:literal)?; )*) => {
        /// Every IE type, in ascending order.
        pub const ALL: &[IeInfo] = &[$(
            IeInfo {
                ie_type: $crate::registry::registry!(@or <$ie as Ie>::TYPE $(, $ie_type)?),
                name: $crate::registry::registry!(@or <$ie as Ie>::NAME $(, $name)?),
                fields: <$ie as Ie>::FIELDS,
                show: |value, out| show_value::<$ie>(value, out),
                again: |value, out| {
                    <$ie as Ie>::decode(value)?.encode(out);
                    Ok(())
                },
            },
        )*];
    };
    (@or $own:expr) => { $own };
    (@or $own:expr, $given:literal) => { $given };
}

pub(crate) use registry;
