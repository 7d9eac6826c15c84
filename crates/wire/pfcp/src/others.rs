//! IEs without a field in their structure: unknown ones, those of vendors, and null lengths.

use std::fmt;

use crate::{Field, Ie, IeError, RawIe, RawIes};

/// The IEs of a message or group for which its structure has no field, in their order.
///
/// These are unknown and unexpected IEs (which are ignored, clause 7.6.9), IEs of vendors, and known IEs of null
/// length, which request removal in Update groups (clause 5.6.3). Repetitions of an IE that must not be repeated
/// are omitted: only the first counts (clause 7.6.10).
#[derive(Clone, Default)]
pub struct Others<'a>(Content<'a>);

#[derive(Clone)]
enum Content<'a> {
    Wire {
        group: &'a [u8],
        known: &'static [Field],
        ignored: Option<IeError>,
        /// Some IE has a null length.
        nulls: bool,
    },
    List(Vec<RawIe<'a>>),
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Wire { group: &[], known: &[], ignored: None, nulls: false }
    }
}

impl<'a> Others<'a> {
    /// The IEs of `group` that are not `known`; `nulls`: any IE in it has a null length.
    pub(crate) const fn wire(
        group: &'a [u8],
        known: &'static [Field],
        ignored: Option<IeError>,
        nulls: bool,
    ) -> Self {
        Self(Content::Wire { group, known, ignored, nulls })
    }

    /// The IEs in their order.
    pub fn iter(&self) -> impl Iterator<Item = RawIe<'a>> {
        let (group, known, list): (_, _, &[RawIe<'a>]) = match &self.0 {
            Content::Wire { group, known, .. } => (*group, *known, &[]),
            Content::List(list) => (&[][..], &[][..], list),
        };
        let wire = RawIes::new(group).flatten().filter(|ie| !is_taken(ie, known));
        wire.chain(list.iter().copied())
    }

    /// All octets of the message or group, including those of its fields; `None` if it was not decoded.
    pub const fn octets(&self) -> Option<&'a [u8]> {
        match &self.0 {
            Content::Wire { group, .. } if !group.is_empty() => Some(*group),
            _ => None,
        }
    }

    /// There are no such IEs.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// This IE is present with a null length: the provisioned value is to be removed (clause 5.6.3).
    pub fn removes<'t, T: Ie<'t>>(&self) -> bool {
        self.removes_type(T::TYPE)
    }

    /// [`Self::removes`] for an IE type by number.
    pub fn removes_type(&self, ie_type: u16) -> bool {
        let none = matches!(self.0, Content::Wire { nulls: false, .. });
        !none && self.iter().any(|ie| ie.ie_type == ie_type && ie.value.is_empty())
    }

    /// The first optional IE that was treated as absent because its value is incorrect (clause 7.6.8).
    pub const fn ignored(&self) -> Option<&IeError> {
        match &self.0 {
            Content::Wire { ignored, .. } => ignored.as_ref(),
            Content::List(_) => None,
        }
    }

    /// Appends the IEs unchanged.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|ie| ie.write(out));
    }
}

/// The structure has a field for this IE.
fn is_taken(ie: &RawIe<'_>, known: &[Field]) -> bool {
    let field = known.iter().find(|field| field.ie_type == ie.ie_type);
    field.is_some_and(|field| field.null_is_value || !ie.value.is_empty())
}

impl<'a> From<Vec<RawIe<'a>>> for Others<'a> {
    fn from(ies: Vec<RawIe<'a>>) -> Self {
        Self(Content::List(ies))
    }
}

impl<'a> FromIterator<RawIe<'a>> for Others<'a> {
    fn from_iter<I: IntoIterator<Item = RawIe<'a>>>(ies: I) -> Self {
        Vec::from_iter(ies).into()
    }
}

impl PartialEq for Others<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Others<'_> {}

impl fmt::Debug for Others<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
