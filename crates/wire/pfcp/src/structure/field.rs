//! The types of fields: Rust type, IE type, and repetition.

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

pub(crate) use {field_doc, field_type, presence, repeated, tag};
