//! Messages and grouped IEs from one declaration: the structure, its decoder, encoder and description.

use crate::many::is_value;
use crate::{Fault, Ie, IeError, Many, RawIe};

/// What a sender owes the receiver (TS 29.244 clause 7.2.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Presence {
    /// Absent or incorrect: the message is refused.
    Mandatory,
    /// Absent: the reader of the structure judges. Incorrect: the message is refused.
    Conditional,
    /// Absent or incorrect: no error.
    Optional,
}

/// One field of a message or group, for tests, dumps and documentation.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name in the structure.
    pub name: &'static str,
    /// The IE type.
    pub ie_type: u16,
    /// What the sender owes.
    pub presence: Presence,
    /// The IE may be repeated.
    pub repeated: bool,
    /// A null length is a value (an empty group), not a removal.
    pub null_is_value: bool,
    /// The fields inside, if the IE is a group.
    pub fields: &'static [Field],
}

/// One of these fields must be there.
pub(crate) const fn any_mandatory(fields: &[Field]) -> bool {
    let mut at = 0;
    while at < fields.len() {
        if matches!(fields[at].presence, Presence::Mandatory) {
            return true;
        }
        at += 1;
    }
    false
}

/// What was found for a field that is not repeated.
pub(crate) struct Single<T> {
    seen: bool,
    pub(crate) value: Option<T>,
}

impl<T> Single<T> {
    pub(crate) const fn new() -> Self {
        Self { seen: false, value: None }
    }

    /// Decodes the first occurrence. `false` leaves the IE to a later field of the same type.
    pub(crate) fn take<'a>(
        &mut self,
        ie: RawIe<'a>,
        presence: Presence,
        ignored: &mut Option<IeError>,
    ) -> Result<bool, IeError>
    where
        T: Ie<'a>,
    {
        if self.seen {
            return Ok(false);
        }
        self.seen = true;
        self.value = decode(ie, presence, ignored)?;
        Ok(true)
    }
}

/// What was found for a field that may be repeated.
pub(crate) struct Repeated {
    count: usize,
}

impl Repeated {
    pub(crate) const fn new() -> Self {
        Self { count: 0 }
    }

    /// Checks one occurrence.
    pub(crate) fn take<'a, T: Ie<'a>>(
        &mut self,
        ie: RawIe<'a>,
        presence: Presence,
        ignored: &mut Option<IeError>,
    ) -> Result<bool, IeError> {
        let item: Option<T> = decode(ie, presence, ignored)?;
        self.count += usize::from(item.is_some());
        Ok(true)
    }

    pub(crate) fn view<'a, T: Ie<'a>>(&self, group: &'a [u8], ie_type: u16) -> Many<'a, T> {
        Many::wire(group, ie_type, self.count)
    }

    /// At least one, or the IE is missing.
    pub(crate) fn required(self, ie_type: u16) -> Result<Self, IeError> {
        if self.count == 0 { Err(missing(ie_type)) } else { Ok(self) }
    }
}

pub(crate) fn missing(ie_type: u16) -> IeError {
    IeError::new(Fault::MandatoryMissing).at(ie_type)
}

/// Decodes an IE and judges a failure by its presence requirement (clauses 7.2.3.2, 7.6.7 and 7.6.8).
fn decode<'a, T: Ie<'a>>(
    ie: RawIe<'a>,
    presence: Presence,
    ignored: &mut Option<IeError>,
) -> Result<Option<T>, IeError> {
    if presence != Presence::Mandatory && !is_value::<T>(ie.value) {
        return Ok(None);
    }
    let mut error = match T::decode(ie.value) {
        Ok(value) => return Ok(Some(value)),
        Err(error) => error.at(ie.ie_type),
    };
    match presence {
        Presence::Optional if error.fault != Fault::InvalidLength => {
            ignored.get_or_insert(error);
            return Ok(None);
        }
        Presence::Conditional if error.fault == Fault::MandatoryMissing => {
            error.fault = Fault::ConditionalMissing;
        }
        _ => {}
    }
    Err(error)
}

/// Declares a structure of IEs.
///
/// Each field is one of
/// - `req`: mandatory, `T`;
/// - `con`: conditional, `Option<T>`; an incorrect value refuses the message;
/// - `opt`: optional, `Option<T>`; an incorrect value is as good as none;
/// - `req_many`, `many`, `opt_many`: the same for repeated IEs, `Many<T>`.
///
/// `= N` after the type gives the field another IE type than the type's own.
macro_rules! structure {
    (
        $(#[$meta:meta])*
        $name:ident<$lt:lifetime> {
            $( $(#[$fmeta:meta])* $kind:ident $field:ident : $ty:ty $(= $tag:literal)?, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $name<$lt> {
            $(
                $(#[$fmeta])*
                #[doc = $crate::structure::field_doc!($kind $ty)]
                pub $field: $crate::structure::field_type!($kind $lt $ty),
            )*
            /// What this structure does not know, and null lengths.
            pub other: $crate::Others<$lt>,
        }

        impl<$lt> $name<$lt> {
            /// The fields, in the order of the specification.
            pub const FIELDS: &'static [$crate::Field] = &[$(
                $crate::Field {
                    name: stringify!($field),
                    ie_type: $crate::structure::tag!($ty $(, $tag)?),
                    presence: $crate::structure::presence!($kind),
                    repeated: $crate::structure::repeated!($kind),
                    null_is_value: <$ty as $crate::Ie<$lt>>::NULL_IS_VALUE,
                    fields: <$ty as $crate::Ie<$lt>>::FIELDS,
                },
            )*];

            /// Walks the IEs once, in any order.
            pub(crate) fn from_ies(group: &$lt [u8]) -> Result<Self, $crate::IeError> {
                #[allow(unused_mut)]
                let mut ignored = None;
                $( let mut $field = $crate::structure::slot!($kind); )*
                for ie in $crate::RawIes::new(group) {
                    let _ie = ie?;
                    $(
                        if _ie.ie_type == $crate::structure::tag!($ty $(, $tag)?)
                            && $crate::structure::take!($kind $ty, $field, _ie, &mut ignored)?
                        {
                            continue;
                        }
                    )*
                }
                Ok(Self {
                    $( $field: $crate::structure::finish!(
                        $kind $ty, $field, group, $crate::structure::tag!($ty $(, $tag)?)
                    ), )*
                    other: $crate::Others::wire(group, Self::FIELDS, ignored),
                })
            }

            /// Appends the IEs, in the order of the specification.
            pub(crate) fn write_ies(&self, out: &mut Vec<u8>) {
                $(
                    $crate::structure::emit!(
                        $kind self.$field, $crate::structure::tag!($ty $(, $tag)?), out
                    );
                )*
                self.other.write(out);
            }
        }

        $crate::structure::constructor!($name $lt [] [] $( $kind $field : $ty; )*);
    };
}

/// A grouped IE: [`structure!`] with an IE type and a name.
macro_rules! group {
    ($(#[$meta:meta])* $name:ident<$lt:lifetime> = $type:literal, $label:literal { $($fields:tt)* }) => {
        $crate::structure::structure! {
            $(#[$meta])*
            $name<$lt> { $($fields)* }
        }

        impl<$lt> $crate::Ie<$lt> for $name<$lt> {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;
            const FIELDS: &'static [$crate::Field] = $name::<$lt>::FIELDS;
            const NULL_IS_VALUE: bool = !$crate::structure::any_mandatory($name::<$lt>::FIELDS);

            fn decode(value: &$lt [u8]) -> Result<Self, $crate::IeError> {
                Self::from_ies(value)
            }

            fn encode(&self, out: &mut Vec<u8>) {
                self.write_ies(out);
            }
        }
    };
}

macro_rules! field_type {
    (req $lt:lifetime $ty:ty) => { $ty };
    (con $lt:lifetime $ty:ty) => { Option<$ty> };
    (opt $lt:lifetime $ty:ty) => { Option<$ty> };
    ($many:ident $lt:lifetime $ty:ty) => { $crate::Many<$lt, $ty> };
}

macro_rules! field_doc {
    (req $ty:ty) => {
        concat!("`", stringify!($ty), "`, mandatory.")
    };
    (con $ty:ty) => {
        concat!("`", stringify!($ty), "`, conditional.")
    };
    (opt $ty:ty) => {
        concat!("`", stringify!($ty), "`, optional.")
    };
    (req_many $ty:ty) => {
        concat!("`", stringify!($ty), "`, mandatory, may be repeated.")
    };
    (many $ty:ty) => {
        concat!("`", stringify!($ty), "`, conditional, may be repeated.")
    };
    (opt_many $ty:ty) => {
        concat!("`", stringify!($ty), "`, optional, may be repeated.")
    };
}

macro_rules! tag {
    ($ty:ty) => {
        <$ty as $crate::Ie<'_>>::TYPE
    };
    ($ty:ty, $tag:literal) => {
        $tag
    };
}

macro_rules! presence {
    (req) => {
        $crate::Presence::Mandatory
    };
    (req_many) => {
        $crate::Presence::Mandatory
    };
    (con) => {
        $crate::Presence::Conditional
    };
    (many) => {
        $crate::Presence::Conditional
    };
    (opt) => {
        $crate::Presence::Optional
    };
    (opt_many) => {
        $crate::Presence::Optional
    };
}

macro_rules! repeated {
    (req) => {
        false
    };
    (con) => {
        false
    };
    (opt) => {
        false
    };
    ($many:ident) => {
        true
    };
}

macro_rules! slot {
    (req) => {
        $crate::structure::Single::new()
    };
    (con) => {
        $crate::structure::Single::new()
    };
    (opt) => {
        $crate::structure::Single::new()
    };
    ($many:ident) => {
        $crate::structure::Repeated::new()
    };
}

macro_rules! take {
    (req $ty:ty, $slot:ident, $ie:expr, $ignored:expr) => {
        $slot.take($ie, $crate::Presence::Mandatory, $ignored)
    };
    (con $ty:ty, $slot:ident, $ie:expr, $ignored:expr) => {
        $slot.take($ie, $crate::Presence::Conditional, $ignored)
    };
    (opt $ty:ty, $slot:ident, $ie:expr, $ignored:expr) => {
        $slot.take($ie, $crate::Presence::Optional, $ignored)
    };
    ($many:ident $ty:ty, $slot:ident, $ie:expr, $ignored:expr) => {
        $slot.take::<$ty>($ie, $crate::structure::presence!($many), $ignored)
    };
}

macro_rules! finish {
    (req $ty:ty, $slot:ident, $group:ident, $tag:expr) => {
        $slot.value.ok_or_else(|| $crate::structure::missing($tag))?
    };
    (con $ty:ty, $slot:ident, $group:ident, $tag:expr) => {
        $slot.value
    };
    (opt $ty:ty, $slot:ident, $group:ident, $tag:expr) => {
        $slot.value
    };
    (req_many $ty:ty, $slot:ident, $group:ident, $tag:expr) => {
        $slot.required($tag)?.view::<$ty>($group, $tag)
    };
    ($many:ident $ty:ty, $slot:ident, $group:ident, $tag:expr) => {
        $slot.view::<$ty>($group, $tag)
    };
}

macro_rules! emit {
    (req $value:expr, $tag:expr, $out:ident) => {
        $crate::Ie::write_as(&$value, $tag, $out)
    };
    (con $value:expr, $tag:expr, $out:ident) => {
        $value.iter().for_each(|value| $crate::Ie::write_as(value, $tag, $out))
    };
    (opt $value:expr, $tag:expr, $out:ident) => {
        $value.iter().for_each(|value| $crate::Ie::write_as(value, $tag, $out))
    };
    ($many:ident $value:expr, $tag:expr, $out:ident) => {
        $value.iter().for_each(|value| $crate::Ie::write_as(&value, $tag, $out))
    };
}

/// `new` takes what is mandatory and leaves the rest absent.
macro_rules! constructor {
    ($name:ident $lt:lifetime [$($args:tt)*] [$($init:tt)*] req $field:ident : $ty:ty; $($rest:tt)*) => {
        $crate::structure::constructor!(
            $name $lt [$($args)* $field: $ty,] [$($init)* $field: $field,] $($rest)*
        );
    };
    ($name:ident $lt:lifetime [$($args:tt)*] [$($init:tt)*] req_many $field:ident : $ty:ty; $($rest:tt)*) => {
        $crate::structure::constructor!(
            $name $lt [$($args)* $field: impl Into<$crate::Many<$lt, $ty>>,]
            [$($init)* $field: $field.into(),] $($rest)*
        );
    };
    ($name:ident $lt:lifetime [$($args:tt)*] [$($init:tt)*] $kind:ident $field:ident : $ty:ty; $($rest:tt)*) => {
        $crate::structure::constructor!(
            $name $lt [$($args)*] [$($init)* $field: Default::default(),] $($rest)*
        );
    };
    ($name:ident $lt:lifetime [] [$($init:tt)*]) => {
        impl<$lt> Default for $name<$lt> {
            fn default() -> Self {
                Self { $($init)* other: Default::default() }
            }
        }
    };
    ($name:ident $lt:lifetime [$($args:tt)+] [$($init:tt)*]) => {
        impl<$lt> $name<$lt> {
            /// With the mandatory IEs, and without any other.
            pub fn new($($args)+) -> Self {
                Self { $($init)* other: Default::default() }
            }
        }
    };
}

pub(crate) use {
    constructor, emit, field_doc, field_type, finish, group, presence, repeated, slot, structure, tag, take,
};
