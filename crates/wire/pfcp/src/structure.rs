//! Messages and grouped IEs from one declaration: the structure, its decoder, encoder and description.

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

        #[allow(non_upper_case_globals)] // named as the fields are, to be matched on
        impl<$lt> $name<$lt> {
            $( const $field: u16 = $crate::structure::tag!($ty $(, $tag)?); )*

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
                let mut nulls = false;
                $( let mut $field = $crate::structure::slot!($kind); )*
                let mut ies = $crate::RawIes::new(group);
                loop {
                    let _rest = ies.rest();
                    let Some(ie) = ies.next() else { break };
                    let ie = ie?;
                    nulls |= ie.value.is_empty();
                    match ie.ie_type {
                        $(
                            Self::$field if $crate::structure::open!($kind $field) => {
                                $crate::structure::take!($kind $ty, $field, ie, _rest, &mut ignored)?;
                            }
                        )*
                        _ => {}
                    }
                }
                Ok(Self {
                    $( $field: $crate::structure::finish!(
                        $kind $ty, $field, $crate::structure::tag!($ty $(, $tag)?)
                    ), )*
                    other: $crate::Others::wire(group, Self::FIELDS, ignored, nulls),
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
            const NULL_IS_VALUE: bool = !$crate::field::any_mandatory($name::<$lt>::FIELDS);

            fn decode(value: &$lt [u8]) -> Result<Self, $crate::IeError> {
                Self::from_ies(value)
            }

            fn check(value: &$lt [u8]) -> Result<(), $crate::IeError> {
                $crate::structure::checker!($name<$lt> value $($fields)*);
                Ok(())
            }

            fn encode(&self, out: &mut Vec<u8>) {
                self.write_ies(out);
            }
        }
    };
}

/// Walks the IEs of a group as its decoder does, and keeps nothing: a repeated group is checked before it is
/// decoded, and is a large structure.
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

/// A mandatory IE was there.
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

/// The field still takes IEs; if not, a later field of the same type may.
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
    checker, constructor, demand, emit, field_doc, field_type, finish, group, open, presence, repeated, slot,
    structure, tag, take,
};
