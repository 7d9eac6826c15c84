//! PFCP messages written by hand: trees of IEs with literals as leaves.

use std::collections::BTreeMap;
use std::fmt;

use causeway_pfcp::MessageType;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use crate::case::Fragments;
use crate::literal::{number, octets};
use crate::variables::Variables;
use crate::{CaseError, edit, format};

/// A PFCP message to send.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageSpec {
    /// Its name, for example `Session Establishment Request`, or its number.
    #[serde(rename = "type")]
    pub(crate) message_type: String,
    /// The SEID in the header; none for node messages.
    #[serde(default)]
    seid: Option<String>,
    /// The message priority, 0 to 15; a header without one unless it is given.
    #[serde(default)]
    priority: Option<u8>,
    /// The sequence number or a variable; one more than the last request's unless said otherwise.
    #[serde(default)]
    pub(crate) sequence: Option<String>,
    /// The fragment that the IEs start from.
    #[serde(default)]
    base: Option<String>,
    /// IEs behind those of the fragment.
    #[serde(default)]
    ies: IeTree,
    /// Paths of IEs to take out.
    #[serde(default)]
    remove: Vec<String>,
    /// IEs to give another value, by path.
    #[serde(default)]
    set: BTreeMap<String, IeValue>,
    /// IEs to put at the end of groups, by path.
    #[serde(default)]
    add: BTreeMap<String, IeTree>,
}

/// IEs in the order of the wire.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct IeTree(pub(crate) Vec<IeNode>);

/// One IE.
#[derive(Clone, Debug)]
pub(crate) struct IeNode {
    /// Its name in TS 29.244, or its number; `vendor N/TYPE` for an IE of an enterprise.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: IeValue,
}

/// The value of an IE.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum IeValue {
    /// Octets by hand.
    Literal(String),
    /// IEs inside.
    Group(IeTree),
}

impl MessageSpec {
    /// The datagram.
    pub(crate) fn octets(
        &self,
        sequence: u32,
        fragments: &Fragments,
        variables: &Variables,
    ) -> Result<Vec<u8>, CaseError> {
        let mut body = Vec::new();
        self.tree(fragments)?.write(variables, &mut body)?;
        let message_type = message_type(&self.message_type)?;
        let flags = 0x20 | u8::from(self.seid.is_some()) | u8::from(self.priority.is_some()) << 1;
        let mut out = vec![flags, message_type, 0, 0];
        if let Some(seid) = &self.seid {
            out.extend(number(seid, variables)?.to_be_bytes());
        }
        out.extend(&sequence.to_be_bytes()[1..]);
        out.push(self.priority.unwrap_or(0) << 4);
        out.extend(body);
        let length = u16::try_from(out.len() - 4).unwrap_or(u16::MAX);
        out[2..4].copy_from_slice(&length.to_be_bytes());
        Ok(out)
    }

    fn tree(&self, fragments: &Fragments) -> Result<IeTree, CaseError> {
        let mut tree = match &self.base {
            None => IeTree::default(),
            Some(name) => fragments.named(name)?,
        };
        for (path, ies) in &self.add {
            edit::add(&mut tree, path, ies.0.clone())?;
        }
        tree.0.extend(self.ies.0.iter().cloned());
        for (path, value) in &self.set {
            edit::set(&mut tree, path, value.clone())?;
        }
        for path in &self.remove {
            edit::remove(&mut tree, path)?;
        }
        Ok(tree)
    }
}

impl IeTree {
    fn write(&self, variables: &Variables, out: &mut Vec<u8>) -> Result<(), CaseError> {
        for ie in &self.0 {
            let mut value = Vec::new();
            let (ie_type, enterprise) = ie_type(&ie.name)?;
            if let Some(enterprise) = enterprise {
                value.extend(enterprise.to_be_bytes());
            }
            match &ie.value {
                IeValue::Literal(literal) => value.extend(octets(literal, variables)?),
                IeValue::Group(inner) => inner.write(variables, &mut value)?,
            }
            out.extend(ie_type.to_be_bytes());
            out.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
            out.extend(value);
        }
        Ok(())
    }
}

/// The type of an IE, and its enterprise if it is of a vendor.
fn ie_type(name: &str) -> Result<(u16, Option<u16>), CaseError> {
    let unknown = || CaseError::Unknown { what: "IE", name: name.to_owned() };
    if let Some(vendor) = name.strip_prefix("vendor ") {
        let (enterprise, ie_type) = vendor.split_once('/').ok_or_else(unknown)?;
        let ie_type: u16 = ie_type.parse().map_err(|_| unknown())?;
        return Ok((ie_type | 0x8000, Some(enterprise.parse().map_err(|_| unknown())?)));
    }
    let by_name = causeway_pfcp::ALL.iter().find(|info| info.name == name).map(|info| info.ie_type);
    by_name.or_else(|| name.parse().ok()).map(|ie_type| (ie_type, None)).ok_or_else(unknown)
}

fn message_type(name: &str) -> Result<u8, CaseError> {
    let by_name = MessageType::ALL.iter().find(|known| format::message_name(**known) == name);
    by_name
        .map(|known| known.code())
        .or_else(|| name.parse().ok())
        .ok_or_else(|| CaseError::Unknown { what: "message", name: name.to_owned() })
}

impl<'de> Deserialize<'de> for IeNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(IeVisitor)
    }
}

struct IeVisitor;

impl<'de> Visitor<'de> for IeVisitor {
    type Value = IeNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one IE: its name, and a literal or a list of IEs")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IeNode, A::Error> {
        let missing = || de::Error::custom("an IE needs a name");
        let (name, value) = map.next_entry()?.ok_or_else(missing)?;
        match map.next_key::<String>()? {
            None => Ok(IeNode { name, value }),
            Some(second) => Err(de::Error::custom(format!("`{second}` must be a list item of its own"))),
        }
    }
}
