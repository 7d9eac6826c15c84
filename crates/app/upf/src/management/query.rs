//! The parameters of requests, as text and as values.

use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use causeway_types::{NetworkInstance, NodeId, Seid, Teid};
use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::IntoParams;

use super::filter::SessionFilter;
use super::refusal::Refusal;

/// Maximum number of sessions on one page.
pub(super) const PAGE: usize = 1000;

/// Maximum length of a text parameter, in octets.
const MAX_TEXT: usize = 255;

/// The query of a request, whose error names the parameter and the known ones.
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(query)| Self(query)).map_err(|rejection| Refusal::Query(rejection.body_text()))
    }
}

/// Filters and page of `/api/v1/sessions`.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SessionQuery {
    /// The UPF's SEID, in decimal or, after `0x`, hexadecimal.
    #[param(value_type = Option<String>, pattern = "^(0x[0-9a-fA-F]{1,16}|[0-9]{1,19})$", example = "0x2a")]
    seid: Option<Parsed<SeidText>>,
    /// The SMF's SEID; with `@ADDRESS` that of one SMF.
    #[param(value_type = Option<String>, example = "0x51@192.0.2.21")]
    cp_seid: Option<Parsed<CpSeidText>>,
    /// An IP address of the UE, or one in its prefix or framed routes.
    #[param(value_type = Option<String>, example = "10.45.0.2")]
    ue: Option<IpAddr>,
    /// The TEID of a local tunnel, in decimal or, after `0x`, hexadecimal; not zero.
    #[param(value_type = Option<String>, example = "0x1a2b3c4d")]
    teid: Option<Parsed<TeidText>>,
    /// A network instance, such as a DNN, of the rules.
    #[param(value_type = Option<String>, min_length = 1, max_length = 255, example = "internet")]
    dnn: Option<Parsed<Text>>,
    /// An identity in the User ID: IMSI (with or without `imsi-` before it), IMEI, MSISDN, NAI, SUPI, GPSI or PEI.
    #[param(value_type = Option<String>, min_length = 1, max_length = 255, example = "001010000000001")]
    user: Option<Parsed<Text>>,
    /// The Node ID of the SMF: an address or a host name.
    #[param(value_type = Option<String>, min_length = 1, max_length = 255, example = "192.0.2.21")]
    smf: Option<Parsed<Text>>,
    /// The address of a GTP-U peer: of a gNB or another UPF.
    #[param(value_type = Option<String>, example = "198.51.100.7")]
    gnb: Option<IpAddr>,
    /// The `after` of the page before.
    #[param(value_type = Option<String>, pattern = "^(0x[0-9a-fA-F]{1,16}|[0-9]{1,19})$", example = "0x40")]
    after: Option<Parsed<NumberText>>,
    /// Maximum number of sessions on the page.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000)]
    limit: Option<Parsed<LimitText>>,
}

impl SessionQuery {
    /// The first index of the page.
    pub(super) fn after(&self) -> Option<u64> {
        self.after.as_ref().map(|after| after.0)
    }

    /// The maximum number of sessions on the page.
    pub(super) fn limit(&self) -> usize {
        self.limit.as_ref().map_or(PAGE, |limit| limit.0)
    }

    /// The filters.
    pub(super) fn filter(self) -> SessionFilter {
        let plain = |user: Parsed<Text>| user.0.strip_prefix("imsi-").map_or(user.0.clone(), str::to_owned);
        SessionFilter {
            seid: self.seid.map(|seid| seid.0),
            cp: self.cp_seid.map(|cp| cp.0),
            ue: self.ue,
            teid: self.teid.map(|teid| teid.0),
            dnn: self.dnn.map(|dnn| NetworkInstance::new(&dnn.0)),
            user: self.user.map(plain),
            smf: self.smf.map(|smf| node_of(&smf.0)),
            gnb: self.gnb,
        }
    }
}

/// The page of `/api/v1/peers`.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PeerQuery {
    /// The `after` of the page before.
    #[param(value_type = Option<String>, example = "192.0.2.1-198.51.100.7")]
    after: Option<Parsed<PathText>>,
}

impl PeerQuery {
    /// The last path of the page before.
    pub(super) fn after(self) -> Option<(IpAddr, IpAddr)> {
        self.after.map(|after| after.0)
    }
}

/// How many heavy hitters `/api/v1/heavy-hitters` lists.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HeavyHitterQuery {
    /// Maximum number of flows; 100 without it.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000)]
    limit: Option<Parsed<LimitText>>,
}

impl HeavyHitterQuery {
    /// The maximum number of flows.
    pub(super) fn limit(&self) -> usize {
        self.limit.as_ref().map_or(100, |limit| limit.0)
    }
}

/// Which rules `/api/v1/placement` lists.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PlacementQuery {
    /// Only the rules of this session: the UPF's SEID, in decimal or, after `0x`, hexadecimal.
    #[param(value_type = Option<String>, pattern = "^(0x[0-9a-fA-F]{1,16}|[0-9]{1,19})$", example = "0x2a")]
    seid: Option<Parsed<SeidText>>,
    /// Maximum number of rules; 100 without it.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000)]
    limit: Option<Parsed<LimitText>>,
}

impl PlacementQuery {
    /// The session.
    pub(super) fn seid(&self) -> Option<Seid> {
        self.seid.as_ref().map(|seid| seid.0)
    }

    /// The maximum number of rules.
    pub(super) fn limit(&self) -> usize {
        self.limit.as_ref().map_or(100, |limit| limit.0)
    }
}

/// The Node ID in a text.
pub(super) fn node_of(text: &str) -> NodeId {
    text.parse().map_or_else(|_| NodeId::Fqdn(text.to_owned()), NodeId::Ip)
}

/// The SEID in a text.
pub(super) fn seid_of(text: &str) -> Option<Seid> {
    number(text).map(Seid)
}

/// A number in decimal or, after `0x`, hexadecimal, of digits only.
pub(super) fn number(text: &str) -> Option<u64> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    let is_plain = digits.bytes().all(|octet| octet.is_ascii_hexdigit());
    if is_plain { u64::from_str_radix(digits, radix).ok() } else { None }
}

/// A kind of parameter value.
trait ParameterKind {
    /// The value.
    type Value;
    /// What is expected, after "expected".
    const EXPECTED: &'static str;

    fn read(text: &str) -> Option<Self::Value>;
}

/// A value that was read from a text.
struct Parsed<K: ParameterKind>(K::Value);

impl<'de, K: ParameterKind> Deserialize<'de> for Parsed<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(PhantomData))
    }
}

struct TextVisitor<K>(PhantomData<K>);

impl<K: ParameterKind> Visitor<'_> for TextVisitor<K> {
    type Value = Parsed<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(K::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Parsed<K>, E> {
        let read = K::read(text).map(Parsed);
        read.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

struct NumberText;

impl ParameterKind for NumberText {
    type Value = u64;
    const EXPECTED: &'static str = "the `after` of the page before, for example 0x2a";

    fn read(text: &str) -> Option<u64> {
        number(text)
    }
}

/// A GTP-U path: the local address and the peer's.
struct PathText;

impl ParameterKind for PathText {
    type Value = (IpAddr, IpAddr);
    const EXPECTED: &'static str = "the `after` of the page before, for example 192.0.2.1-198.51.100.7";

    fn read(text: &str) -> Option<Self::Value> {
        let (local, peer) = text.split_once('-')?;
        Some((local.parse().ok()?, peer.parse().ok()?))
    }
}

struct LimitText;

impl ParameterKind for LimitText {
    type Value = usize;
    const EXPECTED: &'static str = "a number from 1 to 1000";

    fn read(text: &str) -> Option<usize> {
        usize::from_str(text).ok().filter(|limit| (1..=PAGE).contains(limit) && !text.starts_with('+'))
    }
}

struct SeidText;

impl ParameterKind for SeidText {
    type Value = Seid;
    const EXPECTED: &'static str = "a SEID, for example 0x2a";

    fn read(text: &str) -> Option<Seid> {
        seid_of(text)
    }
}

struct CpSeidText;

impl ParameterKind for CpSeidText {
    type Value = (Seid, Option<IpAddr>);
    const EXPECTED: &'static str = "an F-SEID, for example 0x51 or 0x51@192.0.2.21";

    fn read(text: &str) -> Option<Self::Value> {
        match text.split_once('@') {
            Some((seid, address)) => Some((seid_of(seid)?, Some(address.parse().ok()?))),
            None => Some((seid_of(text)?, None)),
        }
    }
}

struct TeidText;

impl ParameterKind for TeidText {
    type Value = Teid;
    const EXPECTED: &'static str = "a TEID that is not zero, for example 0x1a2b3c4d";

    fn read(text: &str) -> Option<Teid> {
        Teid::new(u32::try_from(number(text)?).ok()?)
    }
}

struct Text;

impl ParameterKind for Text {
    type Value = String;
    const EXPECTED: &'static str = "a text of 1 to 255 octets";

    fn read(text: &str) -> Option<String> {
        (1..=MAX_TEXT).contains(&text.len()).then(|| text.to_owned())
    }
}
