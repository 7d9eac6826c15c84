//! The identities of a user, which no rule depends on.

use causeway_pfcp::{Ie, Octets, UserId};

/// The identities of a user that an SMF sent (User ID, TS 29.244 clause 8.2.101), as text. Characters that are not
/// printed are escaped, since peers choose them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UserIdentities {
    /// IMSI, in digits.
    pub imsi: Option<String>,
    /// IMEI, in digits.
    pub imei: Option<String>,
    /// MSISDN, in digits.
    pub msisdn: Option<String>,
    /// Network access identifier.
    pub nai: Option<String>,
    /// SUPI that is a Global Cable or Line Identifier.
    pub supi: Option<String>,
    /// GPSI that is an External Identifier.
    pub gpsi: Option<String>,
    /// PEI that is a MAC address or an extended unique identifier.
    pub pei: Option<String>,
}

impl UserIdentities {
    /// Those in the value of a User ID IE; `None`: there is none, or it is malformed.
    pub(crate) fn decode(value: &[u8]) -> Option<Self> {
        if value.is_empty() {
            return None;
        }
        let user = UserId::decode(value).ok()?;
        Some(Self {
            imsi: user.imsi.map(digits),
            imei: user.imei.map(digits),
            msisdn: user.msisdn.map(digits),
            nai: user.nai.map(text),
            supi: user.supi.map(text),
            gpsi: user.gpsi.map(text),
            pei: user.pei.map(text),
        })
    }

    /// One of the identities is this text.
    pub fn contains(&self, identity: &str) -> bool {
        let Self { imsi, imei, msisdn, nai, supi, gpsi, pei } = self;
        [imsi, imei, msisdn, nai, supi, gpsi, pei].into_iter().flatten().any(|held| held == identity)
    }
}

/// TBCD digits (TS 29.002): two in each octet, the lower four bits first; 15 fills the last octet.
fn digits(octets: Octets<'_>) -> String {
    let halves = octets.0.iter().flat_map(|octet| [octet & 0x0f, octet >> 4]);
    halves.filter(|half| *half != 0x0f).filter_map(|half| char::from_digit(half.into(), 16)).collect()
}

fn text(octets: Octets<'_>) -> String {
    String::from_utf8_lossy(octets.0).escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a User ID with an IMSI of 15 digits and an NAI with a line break; an empty value; a truncated one.
    // Output: the digits, and the escaped text; nothing for the others.
    #[test]
    fn identities_are_read_as_text() {
        let imsi = [0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0xf7];
        let value = [&[0b1001, 8][..], &imsi, &[4], b"a@\nb"].concat();
        let user = UserIdentities::decode(&value).unwrap();
        assert_eq!(user.imsi.as_deref(), Some("001010000000007"));
        assert_eq!(user.nai.as_deref(), Some("a@\\nb"));
        assert!(user.contains("001010000000007") && !user.contains("00101"));
        assert_eq!(UserIdentities::decode(&[]), None);
        assert_eq!(UserIdentities::decode(&value[..5]), None);
    }
}
