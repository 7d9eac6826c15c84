//! Names of networks.

use std::fmt;

use super::text::{Fqdn, fmt_octets, is_labels};
use crate::{Ie, IeError};

macro_rules! network_name_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        ///
        /// Some SMFs send plain text, others length-prefixed labels. Octets that consist entirely of labels are
        /// decoded as such; both forms of a name are equal, without regard to case.
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

            /// An owned copy.
            pub fn to_owned(&self) -> causeway_types::NetworkInstance {
                match self.0 {
                    NetworkName::Octets(octets) => {
                        causeway_types::NetworkInstance::new(&String::from_utf8_lossy(octets))
                    }
                    NetworkName::Labels(name) => causeway_types::NetworkInstance::new(&name.to_string()),
                }
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

    // Input:  "internet" in the form of free5GC and in that of Open5GS.
    // Output: the same name; each is encoded in its original form.
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
