//! Decoding of fields.

macro_rules! slot {
    (req) => {
        $crate::slot::Single::new()
    };
    (con) => {
        $crate::slot::Single::new()
    };
    (opt) => {
        $crate::slot::Single::new()
    };
    ($many:ident) => {
        $crate::slot::Repeated::new()
    };
}

/// The field still accepts IEs; if not, a later field of the same type may.
macro_rules! open {
    (req $slot:ident) => {
        $slot.is_open()
    };
    (con $slot:ident) => {
        $slot.is_open()
    };
    (opt $slot:ident) => {
        $slot.is_open()
    };
    ($many:ident $slot:ident) => {
        true
    };
}

macro_rules! take {
    (req $ty:ty, $slot:ident, $ie:expr, $rest:expr, $ignored:expr) => {
        $slot.take($ie, $crate::Presence::Mandatory, $ignored)
    };
    (con $ty:ty, $slot:ident, $ie:expr, $rest:expr, $ignored:expr) => {
        $slot.take($ie, $crate::Presence::Conditional, $ignored)
    };
    (opt $ty:ty, $slot:ident, $ie:expr, $rest:expr, $ignored:expr) => {
        $slot.take($ie, $crate::Presence::Optional, $ignored)
    };
    ($many:ident $ty:ty, $slot:ident, $ie:expr, $rest:expr, $ignored:expr) => {
        $slot.take::<$ty>($ie, $rest, $crate::structure::presence!($many), $ignored)
    };
}

macro_rules! finish {
    (req $ty:ty, $slot:ident, $tag:expr) => {
        $slot.value.ok_or_else(|| $crate::slot::missing($tag))?
    };
    (con $ty:ty, $slot:ident, $tag:expr) => {
        $slot.value
    };
    (opt $ty:ty, $slot:ident, $tag:expr) => {
        $slot.value
    };
    (req_many $ty:ty, $slot:ident, $tag:expr) => {
        $slot.required($tag)?.view::<$ty>($tag)
    };
    ($many:ident $ty:ty, $slot:ident, $tag:expr) => {
        $slot.view::<$ty>($tag)
    };
}

/// Walks the IEs of a group like its decoder, without keeping values: a repeated group is checked before it is
/// decoded, and its structure is large.
macro_rules! checker {
    ($name:ident<$lt:lifetime> $value:ident $( $(#[$fmeta:meta])* $kind:ident $field:ident : $ty:ty $(= $tag:literal)?, )*) => {
        $( let mut $field = false; )*
        for ie in $crate::RawIes::new($value) {
            let ie = ie?;
            match ie.ie_type {
                $(
                    Self::$field if $crate::structure::repeated!($kind) || !$field => {
                        $field |= $crate::slot::check::<$ty>(ie, $crate::structure::presence!($kind))?;
                    }
                )*
                _ => {}
            }
        }
        $( $crate::structure::demand!($kind $field, $crate::structure::tag!($ty $(, $tag)?)); )*
    };
}

/// Requires a mandatory IE.
macro_rules! demand {
    (req $field:ident, $tag:expr) => {
        if !$field {
            return Err($crate::slot::missing($tag));
        }
    };
    (req_many $field:ident, $tag:expr) => {
        if !$field {
            return Err($crate::slot::missing($tag));
        }
    };
    ($kind:ident $field:ident, $tag:expr) => {};
}

pub(crate) use {checker, demand, finish, open, slot, take};
