//! Interfaces and networks.

use std::fmt;

use causeway_types::Interface;

use super::leaf::code_ies;
use super::text::{Fqdn, fmt_octets, is_labels};
use crate::{Ie, IeError};

code_ies! {
    /// Where packets of a PDR come from (clause 8.2.2).
    SourceInterface & 0x0f = 20, "Source Interface" {
        /// From the radio network: uplink.
        Access = 0;
        /// From the core: downlink.
        Core = 1;
        /// SGi-LAN or N6-LAN.
        SgiLan = 2;
        /// The CP function.
        CpFunction = 3;
        /// 5G VN internal.
        VnInternal = 4;
    }

    /// Where packets of a FAR go to (clause 8.2.24).
    DestinationInterface & 0x0f = 42, "Destination Interface" {
        /// Towards the radio network: downlink.
        Access = 0;
        /// Towards the core: uplink.
        Core = 1;
        /// SGi-LAN or N6-LAN.
        SgiLan = 2;
        /// The CP function.
        CpFunction = 3;
        /// Lawful interception function.
        LiFunction = 4;
        /// 5G VN internal.
        VnInternal = 5;
    }

    /// The reference point behind an interface (clause 8.2.118).
    InterfaceType & 0x3f = 160, "3GPP Interface Type" {
        /// S1-U.
        S1U = 0;
        /// S5-U or S8-U.
        S5S8U = 1;
        /// S4-U.
        S4U = 2;
        /// S11-U.
        S11U = 3;
        /// S12.
        S12 = 4;
        /// Gn-U or Gp-U.
        GnGpU = 5;
        /// S2a-U.
        S2aU = 6;
        /// S2b-U.
        S2bU = 7;
        /// eNodeB, downlink data forwarding.
        EnbDlForwarding = 8;
        /// eNodeB, uplink data forwarding.
        EnbUlForwarding = 9;
        /// SGW or UPF, downlink data forwarding.
        UpfDlForwarding = 10;
        /// N3, 3GPP access.
        N3 = 11;
        /// N3, trusted non-3GPP access.
        N3Trusted = 12;
        /// N3, untrusted non-3GPP access.
        N3Untrusted = 13;
        /// N3, data forwarding.
        N3Forwarding = 14;
        /// N9.
        N9 = 15;
        /// SGi.
        Sgi = 16;
        /// N6.
        N6 = 17;
        /// N19.
        N19 = 18;
        /// S8-U.
        S8U = 19;
        /// Gp-U.
        GpU = 20;
        /// N9, roaming.
        N9Roaming = 21;
        /// Iu-U.
        IuU = 22;
        /// N9, data forwarding.
        N9Forwarding = 23;
        /// Sxa-U.
        SxaU = 24;
        /// Sxb-U.
        SxbU = 25;
        /// Sxc-U.
        SxcU = 26;
        /// N4-U.
        N4U = 27;
        /// SGW or UPF, uplink data forwarding.
        UpfUlForwarding = 28;
        /// N6mb or Nmb9.
        N6mb = 29;
        /// N3mb.
        N3mb = 30;
        /// N19mb.
        N19mb = 31;
    }
}

impl SourceInterface {
    /// `None` for spare codes.
    pub const fn interface(self) -> Option<Interface> {
        match self {
            Self::Access => Some(Interface::Access),
            Self::Core => Some(Interface::Core),
            Self::SgiLan => Some(Interface::SgiLan),
            Self::CpFunction => Some(Interface::CpFunction),
            Self::VnInternal => Some(Interface::VnInternal),
            Self::Spare(_) => None,
        }
    }
}

impl From<Interface> for SourceInterface {
    fn from(interface: Interface) -> Self {
        match interface {
            Interface::Access => Self::Access,
            Interface::Core => Self::Core,
            Interface::SgiLan => Self::SgiLan,
            Interface::CpFunction => Self::CpFunction,
            Interface::VnInternal => Self::VnInternal,
        }
    }
}

impl DestinationInterface {
    /// `None` for lawful interception and spare codes.
    pub const fn interface(self) -> Option<Interface> {
        match self {
            Self::Access => Some(Interface::Access),
            Self::Core => Some(Interface::Core),
            Self::SgiLan => Some(Interface::SgiLan),
            Self::CpFunction => Some(Interface::CpFunction),
            Self::VnInternal => Some(Interface::VnInternal),
            Self::LiFunction | Self::Spare(_) => None,
        }
    }
}

impl From<Interface> for DestinationInterface {
    fn from(interface: Interface) -> Self {
        match interface {
            Interface::Access => Self::Access,
            Interface::Core => Self::Core,
            Interface::SgiLan => Self::SgiLan,
            Interface::CpFunction => Self::CpFunction,
            Interface::VnInternal => Self::VnInternal,
        }
    }
}

macro_rules! network_name_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        ///
        /// Some SMFs write plain text, others length-prefixed labels. Octets that are labels from the
        /// first to the last are read as such; both forms of a name are equal, without regard to case.
        #[derive(Clone, Copy)]
        pub struct $name<'a>(NetworkName<'a>);

        impl<'a> $name<'a> {
            /// Plain text, to be sent.
            pub const fn text(name: &'a str) -> Self {
                Self(NetworkName::Octets(name.as_bytes()))
            }

            /// Dot-separated labels, to be sent length-prefixed.
            pub const fn labels(name: &'a str) -> Self {
                Self(NetworkName::Labels(Fqdn::new(name)))
            }

            /// Detached from the datagram.
            pub fn to_owned(&self) -> causeway_types::NetworkInstance {
                causeway_types::NetworkInstance::new(&self.to_string())
            }
        }

        impl<'a> From<&'a causeway_types::NetworkInstance> for $name<'a> {
            fn from(name: &'a causeway_types::NetworkInstance) -> Self {
                Self::text(name.as_str())
            }
        }

        impl PartialEq for $name<'_> {
            fn eq(&self, other: &Self) -> bool {
                self.to_string().eq_ignore_ascii_case(&other.to_string())
            }
        }

        impl Eq for $name<'_> {}

        impl fmt::Display for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.0)
            }
        }

        impl<'a> Ie<'a> for $name<'a> {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, IeError> {
                NetworkName::decode(value).map(Self)
            }

            fn encode(&self, out: &mut Vec<u8>) {
                self.0.encode(out);
            }
        }
    )*};
}

network_name_ies! {
    /// Network Instance (clause 8.2.4).
    NetworkInstance = 22, "Network Instance";
    /// APN or DNN, in full (clause 8.2.117).
    Dnn = 159, "APN/DNN";
}

/// The two forms of a network name.
#[derive(Clone, Copy)]
enum NetworkName<'a> {
    Octets(&'a [u8]),
    Labels(Fqdn<'a>),
}

impl<'a> NetworkName<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        match value {
            [] => Err(IeError::length()),
            labels if is_labels(labels) => Fqdn::from_labels(labels).map(Self::Labels),
            text => Ok(Self::Octets(text)),
        }
    }

    fn encode(self, out: &mut Vec<u8>) {
        match self {
            Self::Octets(octets) => out.extend_from_slice(octets),
            Self::Labels(name) => name.write(out),
        }
    }
}

impl fmt::Display for NetworkName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Octets(octets) => f.write_str(&String::from_utf8_lossy(octets)),
            Self::Labels(name) => fmt::Display::fmt(name, f),
        }
    }
}

impl fmt::Debug for NetworkName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Octets(octets) => fmt_octets(octets, f),
            Self::Labels(name) => write!(f, "labels {name:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  "internet" as free5GC writes it and as Open5GS writes it.
    // Output: the same name; each is sent back in the form it came in.
    #[test]
    fn plain_text_and_labels_are_the_same_network() {
        let text = NetworkInstance::decode(b"internet").unwrap();
        let labels = NetworkInstance::decode(b"\x08Internet").unwrap();
        assert_eq!(text, labels);
        assert_eq!(text.to_owned(), labels.to_owned());
        assert_eq!(labels.to_owned().as_str(), "internet");
        let mut out = Vec::new();
        labels.encode(&mut out);
        assert_eq!(out, b"\x08Internet");
    }

    #[test]
    fn labels_that_do_not_fill_the_ie_are_text() {
        let name = NetworkInstance::decode(b"\x08inter").unwrap();
        assert_eq!(name.to_string(), "\u{8}inter");
        assert_eq!(NetworkInstance::decode(b"").unwrap_err(), IeError::length());
    }
}
