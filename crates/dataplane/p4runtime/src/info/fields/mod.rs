//! The fields of a P4Info (`p4.config.v1`): their names, numbers and types.

mod types;

use types::{DATA_TYPE, TYPE_INFO};

/// A field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) number: u32,
    pub(super) kind: Kind,
}

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Number,
    Bool,
    Text,
    Octets,
    Enum(&'static [(&'static str, u64)]),
    Message(&'static &'static [Field]),
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Bool => "true or false",
            Self::Text | Self::Octets => "string",
            Self::Enum(_) => "name of the enumeration",
            Self::Message(_) => "message",
        }
    }
}

const fn is(name: &'static str, number: u32, kind: Kind) -> Field {
    Field { name, number, kind }
}

use Kind::{Bool, Enum, Message, Number, Octets, Text};

static EMPTY: &[Field] = &[];

/// The top-level message.
pub(super) static P4_INFO: &[Field] = &[
    is("pkg_info", 1, Message(&PKG_INFO)),
    is("tables", 2, Message(&TABLE)),
    is("actions", 3, Message(&ACTION)),
    is("action_profiles", 4, Message(&ACTION_PROFILE)),
    is("counters", 5, Message(&COUNTER)),
    is("direct_counters", 6, Message(&DIRECT_COUNTER)),
    is("meters", 7, Message(&METER)),
    is("direct_meters", 8, Message(&DIRECT_METER)),
    is("controller_packet_metadata", 9, Message(&PACKET_METADATA)),
    is("value_sets", 10, Message(&VALUE_SET)),
    is("registers", 11, Message(&REGISTER)),
    is("digests", 12, Message(&DIGEST)),
    is("type_info", 200, Message(&TYPE_INFO)),
];

static DOC: &[Field] = &[is("brief", 1, Text), is("description", 2, Text)];
static LOCATION: &[Field] = &[is("file", 1, Text), is("line", 2, Number), is("column", 3, Number)];
static NAMED_TYPE: &[Field] = &[is("name", 1, Text)];

static EXPRESSION: &[Field] =
    &[is("string_value", 1, Text), is("int64_value", 2, Number), is("bool_value", 3, Bool)];
static EXPRESSIONS: &[Field] = &[is("expressions", 1, Message(&EXPRESSION))];
static PAIR: &[Field] = &[is("key", 1, Text), is("value", 2, Message(&EXPRESSION))];
static PAIRS: &[Field] = &[is("kv_pairs", 1, Message(&PAIR))];
static STRUCTURED: &[Field] = &[
    is("name", 1, Text),
    is("expression_list", 2, Message(&EXPRESSIONS)),
    is("kv_pair_list", 3, Message(&PAIRS)),
    is("source_location", 4, Message(&LOCATION)),
];

static PLATFORM: &[Field] = &[
    is("multicast_group_table_size", 1, Number),
    is("multicast_group_table_total_replicas", 2, Number),
    is("multicast_group_table_max_replicas_per_entry", 3, Number),
];
static PKG_INFO: &[Field] = &[
    is("name", 1, Text),
    is("version", 2, Text),
    is("doc", 3, Message(&DOC)),
    is("annotations", 4, Text),
    is("arch", 5, Text),
    is("organization", 6, Text),
    is("contact", 7, Text),
    is("url", 8, Text),
    is("structured_annotations", 9, Message(&STRUCTURED)),
    is("annotation_locations", 10, Message(&LOCATION)),
    is("platform_properties", 11, Message(&PLATFORM)),
];

static PREAMBLE: &[Field] = &[
    is("id", 1, Number),
    is("name", 2, Text),
    is("alias", 3, Text),
    is("annotations", 4, Text),
    is("doc", 5, Message(&DOC)),
    is("structured_annotations", 6, Message(&STRUCTURED)),
    is("annotation_locations", 7, Message(&LOCATION)),
];

const MATCH_TYPE: Kind =
    Enum(&[("UNSPECIFIED", 0), ("EXACT", 2), ("LPM", 3), ("TERNARY", 4), ("RANGE", 5), ("OPTIONAL", 6)]);
static MATCH_FIELD: &[Field] = &[
    is("id", 1, Number),
    is("name", 2, Text),
    is("annotations", 3, Text),
    is("bitwidth", 4, Number),
    is("match_type", 5, MATCH_TYPE),
    is("doc", 6, Message(&DOC)),
    is("other_match_type", 7, Text),
    is("type_name", 8, Message(&NAMED_TYPE)),
    is("structured_annotations", 9, Message(&STRUCTURED)),
    is("annotation_locations", 10, Message(&LOCATION)),
];
static ACTION_REF: &[Field] = &[
    is("id", 1, Number),
    is("annotations", 2, Text),
    is(
        "scope",
        3,
        Enum(&[("TABLE_AND_DEFAULT", 0), ("TABLE_ONLY", 1), ("DEFAULT_ONLY", 2), ("GROUP_ACTION", 3)]),
    ),
    is("structured_annotations", 4, Message(&STRUCTURED)),
    is("annotation_locations", 5, Message(&LOCATION)),
];
static ARGUMENT: &[Field] = &[is("param_id", 2, Number), is("value", 3, Octets)];
static ACTION_CALL: &[Field] = &[is("action_id", 1, Number), is("arguments", 4, Message(&ARGUMENT))];
static TABLE: &[Field] = &[
    is("preamble", 1, Message(&PREAMBLE)),
    is("match_fields", 2, Message(&MATCH_FIELD)),
    is("action_refs", 3, Message(&ACTION_REF)),
    is("const_default_action_id", 4, Number),
    is("initial_default_action", 5, Message(&ACTION_CALL)),
    is("implementation_id", 6, Number),
    is("direct_resource_ids", 7, Number),
    is("size", 8, Number),
    is("idle_timeout_behavior", 9, Enum(&[("NO_TIMEOUT", 0), ("NOTIFY_CONTROL", 1)])),
    is("is_const_table", 10, Bool),
    is("has_initial_entries", 11, Bool),
];

static PARAM: &[Field] = &[
    is("id", 1, Number),
    is("name", 2, Text),
    is("annotations", 3, Text),
    is("bitwidth", 4, Number),
    is("doc", 5, Message(&DOC)),
    is("type_name", 6, Message(&NAMED_TYPE)),
    is("structured_annotations", 7, Message(&STRUCTURED)),
    is("annotation_locations", 8, Message(&LOCATION)),
];
static ACTION: &[Field] = &[is("preamble", 1, Message(&PREAMBLE)), is("params", 2, Message(&PARAM))];

static SUM_OF_MEMBERS: &[Field] = &[is("max_member_weight", 1, Number)];
static ACTION_PROFILE: &[Field] = &[
    is("preamble", 1, Message(&PREAMBLE)),
    is("table_ids", 2, Number),
    is("with_selector", 3, Bool),
    is("size", 4, Number),
    is("max_group_size", 5, Number),
    is("sum_of_weights", 6, Message(&EMPTY)),
    is("sum_of_members", 7, Message(&SUM_OF_MEMBERS)),
    is("weights_disallowed", 8, Bool),
];

static COUNTER_SPEC: &[Field] =
    &[is("unit", 1, Enum(&[("UNSPECIFIED", 0), ("BYTES", 1), ("PACKETS", 2), ("BOTH", 3)]))];
static COUNTER: &[Field] = &[
    is("preamble", 1, Message(&PREAMBLE)),
    is("spec", 2, Message(&COUNTER_SPEC)),
    is("size", 3, Number),
    is("index_type_name", 4, Message(&NAMED_TYPE)),
];
static DIRECT_COUNTER: &[Field] = &[
    is("preamble", 1, Message(&PREAMBLE)),
    is("spec", 2, Message(&COUNTER_SPEC)),
    is("direct_table_id", 3, Number),
];
static METER_SPEC: &[Field] = &[
    is("unit", 1, Enum(&[("UNSPECIFIED", 0), ("BYTES", 1), ("PACKETS", 2)])),
    is(
        "type",
        2,
        Enum(&[("TWO_RATE_THREE_COLOR", 0), ("SINGLE_RATE_THREE_COLOR", 1), ("SINGLE_RATE_TWO_COLOR", 2)]),
    ),
];
static METER: &[Field] = &[
    is("preamble", 1, Message(&PREAMBLE)),
    is("spec", 2, Message(&METER_SPEC)),
    is("size", 3, Number),
    is("index_type_name", 4, Message(&NAMED_TYPE)),
];
static DIRECT_METER: &[Field] = &[
    is("preamble", 1, Message(&PREAMBLE)),
    is("spec", 2, Message(&METER_SPEC)),
    is("direct_table_id", 3, Number),
];

static METADATA: &[Field] = &[
    is("id", 1, Number),
    is("name", 2, Text),
    is("annotations", 3, Text),
    is("bitwidth", 4, Number),
    is("type_name", 5, Message(&NAMED_TYPE)),
    is("structured_annotations", 6, Message(&STRUCTURED)),
    is("annotation_locations", 7, Message(&LOCATION)),
];
static PACKET_METADATA: &[Field] =
    &[is("preamble", 1, Message(&PREAMBLE)), is("metadata", 2, Message(&METADATA))];
static VALUE_SET: &[Field] =
    &[is("preamble", 1, Message(&PREAMBLE)), is("match", 2, Message(&MATCH_FIELD)), is("size", 3, Number)];
static REGISTER: &[Field] = &[
    is("preamble", 1, Message(&PREAMBLE)),
    is("type_spec", 2, Message(&DATA_TYPE)),
    is("size", 3, Number),
    is("index_type_name", 4, Message(&NAMED_TYPE)),
];
static DIGEST: &[Field] = &[is("preamble", 1, Message(&PREAMBLE)), is("type_spec", 2, Message(&DATA_TYPE))];
