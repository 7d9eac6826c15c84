//! The interfaces and networks of traffic.

use std::fmt;
use std::sync::Arc;

/// The interface at which a packet arrives or to which it is sent (TS 29.244 clauses 8.2.2 and 8.2.24).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Interface {
    /// The radio network: N3, or N9 on the access side.
    Access,
    /// The core: N9, or N6, depending on the network instance.
    Core,
    /// N6 to the data network (SGi-LAN / N6-LAN).
    SgiLan,
    /// The SMF, over an N4-u tunnel.
    CpFunction,
    /// 5G VN internal, between sessions of one group.
    VnInternal,
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Access => "access",
            Self::Core => "core",
            Self::SgiLan => "n6-lan",
            Self::CpFunction => "cp-function",
            Self::VnInternal => "5g-vn-internal",
        })
    }
}

/// A network instance by name, for example `internet` (TS 29.244 clause 8.2.4).
///
/// Cheap to clone. Compared without regard to ASCII case, as a DNN is.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NetworkInstance(Arc<str>);

impl NetworkInstance {
    /// Stores the name in lower case.
    pub fn new(name: &str) -> Self {
        match name.bytes().any(|octet| octet.is_ascii_uppercase()) {
            true => Self(name.to_ascii_lowercase().into()),
            false => Self(name.into()),
        }
    }

    /// The name, lower case, labels separated by dots.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for NetworkInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NetworkInstance({:?})", &*self.0)
    }
}

/// Escapes non-printable characters, since peers choose names.
impl fmt::Display for NetworkInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_instance_ignores_case() {
        assert_eq!(NetworkInstance::new("Internet"), NetworkInstance::new("internet"));
    }

    // Input:  names as operators configure them, and one that a peer has chosen to forge a log line.
    // Output: the first unchanged, the other escaped; comparison uses the original.
    #[test]
    fn a_network_instance_is_printed_on_one_line() {
        assert_eq!(NetworkInstance::new("internet.mnc001").to_string(), "internet.mnc001");
        let forged = NetworkInstance::new("x\n\u{1b}[2J\u{202e}");
        assert_eq!(forged.to_string(), "x\\n\\u{1b}[2j\\u{202e}");
        assert_eq!(forged.as_str(), "x\n\u{1b}[2j\u{202e}");
    }
}
