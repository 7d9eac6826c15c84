//! Types of data (`p4types`): headers, enumerations and others.

use super::Kind::{Message, Number, Octets, Text};
use super::{EMPTY, Field, LOCATION, NAMED_TYPE, STRUCTURED, is};

static WIDTH: &[Field] = &[is("bitwidth", 1, Number)];
static VARBIT: &[Field] = &[is("max_bitwidth", 1, Number)];
static BITSTRING: &[Field] = &[
    is("bit", 1, Message(&WIDTH)),
    is("int", 2, Message(&WIDTH)),
    is("varbit", 3, Message(&VARBIT)),
    is("annotations", 4, Text),
    is("annotation_locations", 5, Message(&LOCATION)),
    is("structured_annotations", 6, Message(&STRUCTURED)),
];
static TUPLE: &[Field] = &[is("members", 1, Message(&DATA_TYPE))];
static HEADER_STACK: &[Field] = &[is("header", 1, Message(&NAMED_TYPE)), is("size", 2, Number)];
static UNION_STACK: &[Field] = &[is("header_union", 1, Message(&NAMED_TYPE)), is("size", 2, Number)];
pub(super) static DATA_TYPE: &[Field] = &[
    is("bitstring", 1, Message(&BITSTRING)),
    is("bool", 2, Message(&EMPTY)),
    is("tuple", 3, Message(&TUPLE)),
    is("struct", 4, Message(&NAMED_TYPE)),
    is("header", 5, Message(&NAMED_TYPE)),
    is("header_union", 6, Message(&NAMED_TYPE)),
    is("header_stack", 7, Message(&HEADER_STACK)),
    is("header_union_stack", 8, Message(&UNION_STACK)),
    is("enum", 9, Message(&NAMED_TYPE)),
    is("error", 10, Message(&EMPTY)),
    is("serializable_enum", 11, Message(&NAMED_TYPE)),
    is("new_type", 12, Message(&NAMED_TYPE)),
];

/// The common part of struct-like types: members and annotations.
macro_rules! members {
    ($name:ident, $member:ident: $($field:expr),+) => {
        static $member: &[Field] = &[$($field),+];
        static $name: &[Field] = &[
            is("members", 1, Message(&$member)),
            is("annotations", 2, Text),
            is("annotation_locations", 3, Message(&LOCATION)),
            is("structured_annotations", 4, Message(&STRUCTURED)),
        ];
    };
}

members!(STRUCT, STRUCT_MEMBER: is("name", 1, Text), is("type_spec", 2, Message(&DATA_TYPE)));
members!(HEADER, HEADER_MEMBER: is("name", 1, Text), is("type_spec", 2, Message(&BITSTRING)));
members!(UNION, UNION_MEMBER: is("name", 1, Text), is("header", 2, Message(&NAMED_TYPE)));

static ENUM_MEMBER: &[Field] = &[
    is("name", 1, Text),
    is("annotations", 2, Text),
    is("structured_annotations", 3, Message(&STRUCTURED)),
    is("annotation_locations", 4, Message(&LOCATION)),
];
static ENUM: &[Field] = &[
    is("members", 1, Message(&ENUM_MEMBER)),
    is("annotations", 2, Text),
    is("structured_annotations", 3, Message(&STRUCTURED)),
    is("annotation_locations", 4, Message(&LOCATION)),
];
static VALUED_MEMBER: &[Field] = &[
    is("name", 1, Text),
    is("value", 2, Octets),
    is("annotations", 3, Text),
    is("structured_annotations", 4, Message(&STRUCTURED)),
    is("annotation_locations", 5, Message(&LOCATION)),
];
static VALUED_ENUM: &[Field] = &[
    is("underlying_type", 1, Message(&WIDTH)),
    is("members", 2, Message(&VALUED_MEMBER)),
    is("annotations", 3, Text),
    is("structured_annotations", 4, Message(&STRUCTURED)),
    is("annotation_locations", 5, Message(&LOCATION)),
];
static ERROR_TYPE: &[Field] = &[is("members", 1, Text)];
static TRANSLATION: &[Field] =
    &[is("uri", 1, Text), is("sdn_bitwidth", 2, Number), is("sdn_string", 3, Message(&EMPTY))];
static NEW_TYPE: &[Field] = &[
    is("original_type", 1, Message(&DATA_TYPE)),
    is("translated_type", 2, Message(&TRANSLATION)),
    is("annotations", 3, Text),
    is("structured_annotations", 4, Message(&STRUCTURED)),
    is("annotation_locations", 5, Message(&LOCATION)),
];

/// An entry of a map.
macro_rules! row {
    ($name:ident, $value:ident) => {
        static $name: &[Field] = &[is("key", 1, Text), is("value", 2, Message(&$value))];
    };
}

row!(STRUCTS, STRUCT);
row!(HEADERS, HEADER);
row!(UNIONS, UNION);
row!(ENUMS, ENUM);
row!(VALUED_ENUMS, VALUED_ENUM);
row!(NEW_TYPES, NEW_TYPE);
pub(super) static TYPE_INFO: &[Field] = &[
    is("structs", 1, Message(&STRUCTS)),
    is("headers", 2, Message(&HEADERS)),
    is("header_unions", 3, Message(&UNIONS)),
    is("enums", 4, Message(&ENUMS)),
    is("error", 5, Message(&ERROR_TYPE)),
    is("serializable_enums", 6, Message(&VALUED_ENUMS)),
    is("new_types", 7, Message(&NEW_TYPES)),
];
