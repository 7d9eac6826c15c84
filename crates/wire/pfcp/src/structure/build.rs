//! Encoding of fields, and constructors from mandatory fields.

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

/// `new` takes the mandatory fields and leaves the rest absent.
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
            /// A structure with the mandatory IEs only.
            pub fn new($($args)+) -> Self {
                Self { $($init)* other: Default::default() }
            }
        }
    };
}

pub(crate) use {constructor, emit};
