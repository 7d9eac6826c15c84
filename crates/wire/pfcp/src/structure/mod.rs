//! Messages and grouped IEs from one declaration: the structure, its decoder, encoder and description.

mod build;
mod field;
mod read;

/// Declares a structure of IEs.
///
/// Each field is one of
/// - `req`: mandatory, `T`;
/// - `con`: conditional, `Option<T>`; an incorrect value refuses the message;
/// - `opt`: optional, `Option<T>`; an incorrect value counts as absent;
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
            /// IEs without a field, and null lengths.
            pub other: $crate::Others<$lt>,
        }

        #[allow(non_upper_case_globals)] // variables have the names of the fields, for matching
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

pub(crate) use build::{constructor, emit};
pub(crate) use field::{field_doc, field_type, presence, repeated, tag};
pub(crate) use read::{checker, demand, finish, open, slot, take};
pub(crate) use {group, structure};
