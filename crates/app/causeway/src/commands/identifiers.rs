//! Identifiers on the command line.

use std::net::IpAddr;

use causeway_upf::management::views::SessionPage;
use thiserror::Error;

use crate::client::Client;
use crate::management::CommandError;

/// A text that is not the identifier that is expected.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum InvalidIdentifier {
    #[error("expected a SEID, for example 42 or 0x2a")]
    Seid,
    #[error("expected an F-SEID, for example 0x51 or 0x51@192.0.2.21")]
    CpSeid,
    #[error("expected a TEID that is not zero, for example 0x1a2b3c4d")]
    Teid,
    #[error("expected a number from 1 on")]
    Count,
    #[error("expected an address of a UE or a SEID of the UPF, for example 10.45.0.2 or 0x2a")]
    Session,
}

/// A number in decimal or, after `0x`, hexadecimal.
fn parsed(text: &str) -> Option<u64> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    let is_plain = digits.bytes().all(|octet| octet.is_ascii_hexdigit());
    if is_plain { u64::from_str_radix(digits, radix).ok() } else { None }
}

/// A number that is not zero.
pub(crate) fn count(text: &str) -> Result<u64, InvalidIdentifier> {
    text.parse().ok().filter(|count| *count > 0).ok_or(InvalidIdentifier::Count)
}

/// A SEID of the UPF.
pub(super) fn seid(text: &str) -> Result<String, InvalidIdentifier> {
    parsed(text).map(|seid| format!("{seid:#x}")).ok_or(InvalidIdentifier::Seid)
}

/// A SEID of an SMF, with or without its address.
pub(super) fn cp_seid(text: &str) -> Result<String, InvalidIdentifier> {
    let (seid, address) = text.split_once('@').map_or((text, None), |(seid, at)| (seid, Some(at)));
    let is_right = parsed(seid).is_some() && address.is_none_or(|at| at.parse::<IpAddr>().is_ok());
    if is_right { Ok(text.to_owned()) } else { Err(InvalidIdentifier::CpSeid) }
}

/// A TEID.
pub(super) fn teid(text: &str) -> Result<String, InvalidIdentifier> {
    let teid = parsed(text).and_then(|teid| u32::try_from(teid).ok()).filter(|teid| *teid != 0);
    teid.map(|teid| format!("{teid:#x}")).ok_or(InvalidIdentifier::Teid)
}

/// Which session is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SessionName {
    /// That of this UE.
    Ue(IpAddr),
    /// That with this SEID of the UPF.
    Seid(String),
}

impl SessionName {
    /// The SEID of the session; that of a UE is asked for.
    pub(super) fn seid(&self, client: &Client) -> Result<String, CommandError> {
        let ue = match self {
            Self::Seid(seid) => return Ok(seid.clone()),
            Self::Ue(ue) => ue.to_string(),
        };
        let page: SessionPage = client.get("/api/v1/sessions", &[("ue", ue.clone())])?;
        match page.sessions.as_slice() {
            [] => Err(CommandError::NoSession(format!("the UE address {ue}"))),
            [one] => Ok(one.seid.clone()),
            _ => Err(CommandError::SeveralSessions(ue)),
        }
    }
}

/// A session by its UE or SEID.
pub(super) fn session(text: &str) -> Result<SessionName, InvalidIdentifier> {
    if let Ok(ue) = text.parse() {
        return Ok(SessionName::Ue(ue));
    }
    seid(text).map(SessionName::Seid).map_err(|_| InvalidIdentifier::Session)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  identifiers in decimal and hexadecimal, and texts that are none.
    // Output: hexadecimal ones; errors.
    #[test]
    fn identifiers_are_read() {
        assert_eq!(
            [seid("42"), seid("0x2a"), teid("0xFFFFFFFF")],
            ["0x2a", "0x2a", "0xffffffff"].map(|x| Ok(x.into()))
        );
        assert_eq!(cp_seid("0x51@2001:db8::1"), Ok("0x51@2001:db8::1".into()));
        for wrong in ["", "0x", "x", "-1", "+1", "0x+1", "18446744073709551616"] {
            assert_eq!(seid(wrong), Err(InvalidIdentifier::Seid), "{wrong}");
        }
        for wrong in ["0", "0x100000000"] {
            assert_eq!(teid(wrong), Err(InvalidIdentifier::Teid), "{wrong}");
        }
        for wrong in ["x@192.0.2.1", "1@", "1@host"] {
            assert_eq!(cp_seid(wrong), Err(InvalidIdentifier::CpSeid), "{wrong}");
        }
        assert_eq!(session("10.45.0.2"), Ok(SessionName::Ue([10, 45, 0, 2].into())));
        assert_eq!(session("0x2a"), Ok(SessionName::Seid("0x2a".into())));
        assert_eq!(session("ue"), Err(InvalidIdentifier::Session));
    }
}
