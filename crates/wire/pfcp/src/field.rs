//! The description of a structure of IEs, as data.

/// The presence requirement of an IE (TS 29.244 clause 7.2.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Presence {
    /// Absent or incorrect: the message is refused.
    Mandatory,
    /// Absent: the reader of the structure decides. Incorrect: the message is refused.
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
    /// The presence requirement.
    pub presence: Presence,
    /// The IE may be repeated.
    pub repeated: bool,
    /// A null length is a value (an empty group), not a removal.
    pub null_is_value: bool,
    /// The fields inside, if the IE is a group.
    pub fields: &'static [Field],
}

/// At least one of these fields is mandatory.
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
