//! Declarations of IEs with one of the common codings.

/// One unsigned or signed integer in network byte order.
macro_rules! integer_ies {
    ($( $(#[$meta:meta])* $name:ident($raw:ty) = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $raw);

        impl From<$raw> for $name {
            fn from(raw: $raw) -> Self {
                Self(raw)
            }
        }

        $crate::ie::leaf::integer_impl!($name($raw) = $type, $label);
    )*};
}

/// [`crate::Ie`] for a public tuple struct around an integer.
macro_rules! integer_impl {
    ($name:ident($raw:ty) = $type:literal, $label:literal) => {
        impl<'a> $crate::Ie<'a> for $name {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, $crate::IeError> {
                let octets = $crate::read::Reader::new(value).array()?;
                Ok(Self(<$raw>::from_be_bytes(octets)))
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.0.to_be_bytes());
            }
        }
    };
}

/// A point in time, in seconds since 1900.
macro_rules! time_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub causeway_types::NtpSeconds);

        impl From<causeway_types::NtpSeconds> for $name {
            fn from(seconds: causeway_types::NtpSeconds) -> Self {
                Self(seconds)
            }
        }

        impl<'a> $crate::Ie<'a> for $name {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, $crate::IeError> {
                let seconds = $crate::read::Reader::new(value).u32()?;
                Ok(Self(causeway_types::NtpSeconds(seconds)))
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.0.0.to_be_bytes());
            }
        }
    )*};
}

/// A string of octets that fills the IE.
macro_rules! octets_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name<'a>(pub &'a [u8]);

        impl<'a> $name<'a> {
            /// As text, if it is UTF-8.
            pub fn as_str(&self) -> Option<&'a str> {
                std::str::from_utf8(self.0).ok()
            }
        }

        impl<'a> From<&'a str> for $name<'a> {
            fn from(text: &'a str) -> Self {
                Self(text.as_bytes())
            }
        }

        impl std::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "("))?;
                $crate::ie::text::fmt_octets(self.0, f)?;
                f.write_str(")")
            }
        }

        impl<'a> $crate::Ie<'a> for $name<'a> {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, $crate::IeError> {
                if value.is_empty() { Err($crate::IeError::length()) } else { Ok(Self(value)) }
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(self.0);
            }
        }
    )*};
}

/// The coding of named bits that `causeway-types` defines: as [`flags_ies`].
macro_rules! flags_codec_ies {
    ($( $name:ident($raw:ty; $octets:literal) = $type:literal, $label:literal; )*) => {$(
        impl<'a> $crate::Ie<'a> for $name {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, $crate::IeError> {
                let bits = $crate::ie::leaf::bits(value)?;
                Ok(Self::from_bits_truncate(bits as $raw))
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.bits().to_le_bytes()[..$octets]);
            }
        }
    )*};
}

/// Named bits, bit 1 of octet 5 first: at least `$min` octets on the wire, `$octets` when sent.
macro_rules! flags_ies {
    ($(
        $(#[$meta:meta])*
        $name:ident($raw:ty; $octets:literal) = $type:literal, $label:literal {
            $( $(#[$fmeta:ident $($fargs:tt)*])* $flag:ident = $bit:expr; )*
        }
    )*) => {$(
        bitflags::bitflags! {
            $(#[$meta])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
            pub struct $name: $raw {
                $( $(#[$fmeta $($fargs)*])* const $flag = 1 << $bit; )*
            }
        }

        $crate::ie::leaf::flags_codec_ies! { $name($raw; $octets) = $type, $label; }
    )*};
}

/// A code in the low bits of one octet; unknown codes are kept.
macro_rules! code_ies {
    ($(
        $(#[$meta:meta])*
        $name:ident & $mask:literal = $type:literal, $label:literal {
            $( $(#[$cmeta:meta])* $code:ident = $value:literal; )*
        }
    )*) => {$(
        $crate::ie::leaf::code! {
            $(#[$meta])*
            $name { $( $(#[$cmeta])* $code = $value; )* }
        }

        impl<'a> $crate::Ie<'a> for $name {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, $crate::IeError> {
                Ok(Self::from_code($crate::read::Reader::new(value).u8()? & $mask))
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.push(self.code() & $mask);
            }
        }
    )*};
}

/// An enumeration with a `Spare` variant for codes that Release 17 does not define.
macro_rules! code {
    (
        $(#[$meta:meta])*
        $name:ident { $( $(#[$cmeta:meta])* $code:ident = $value:literal; )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $( $(#[$cmeta])* $code, )*
            /// A code without a meaning in Release 17.
            Spare(u8),
        }

        impl $name {
            /// From the number on the wire.
            pub const fn from_code(code: u8) -> Self {
                match code {
                    $( $value => Self::$code, )*
                    spare => Self::Spare(spare),
                }
            }

            /// The number on the wire.
            pub const fn code(self) -> u8 {
                match self {
                    $( Self::$code => $value, )*
                    Self::Spare(code) => code,
                }
            }
        }
    };
}

/// The first octets, at least one, the first one lowest.
pub(crate) fn bits(value: &[u8]) -> Result<u64, crate::IeError> {
    if value.is_empty() {
        return Err(crate::IeError::length());
    }
    let mut octets = [0; 8];
    octets.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
    Ok(u64::from_le_bytes(octets))
}

pub(crate) use {
    code, code_ies, flags_codec_ies, flags_ies, integer_ies, integer_impl, octets_ies, time_ies,
};
