//! The parameters of requests, as text and as values.

use std::error::Error as _;
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
        query.map(|Query(query)| Self(query)).map_err(|rejection| {
            // The cause begins with the name of the parameter.
            let cause = rejection.source().map_or_else(|| rejection.body_text(), ToString::to_string);
            let text = cause.replace("unknown field", "unknown parameter");
            Refusal::Query(text.replace("duplicate field", "more than one parameter"))
        })
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
    ue: Option<Parsed<AddressText>>,
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
    gnb: Option<Parsed<AddressText>>,
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
        self.limit.as_ref().map_or(PAGE, |limit| limit.0 as usize)
    }

    /// The filters.
    pub(super) fn filter(self) -> SessionFilter {
        let plain = |user: Parsed<Text>| user.0.strip_prefix("imsi-").map_or(user.0.clone(), str::to_owned);
        SessionFilter {
            seid: self.seid.map(|seid| seid.0),
            cp: self.cp_seid.map(|cp| cp.0),
            ue: self.ue.map(|ue| ue.0),
            teid: self.teid.map(|teid| teid.0),
            dnn: self.dnn.map(|dnn| NetworkInstance::new(&dnn.0)),
            user: self.user.map(plain),
            smf: self.smf.map(|smf| node_of(&smf.0)),
            gnb: self.gnb.map(|gnb| gnb.0),
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
        self.limit.as_ref().map_or(100, |limit| limit.0 as usize)
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
        self.limit.as_ref().map_or(100, |limit| limit.0 as usize)
    }
}

/// The Node ID in a text.
pub(super) fn node_of(text: &str) -> NodeId {
    text.parse().map_or_else(|_| NodeId::Fqdn(text.to_owned()), NodeId::Ip)
}

/// The Node IDs that are shown as a text, the likelier one first: the host name of an SMF may read like an address.
pub(super) fn nodes_of(text: &str) -> Vec<NodeId> {
    match node_of(text) {
        NodeId::Ip(ip) => vec![NodeId::Ip(ip), NodeId::Fqdn(text.to_owned())],
        name @ NodeId::Fqdn(_) => vec![name],
    }
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
pub(super) trait ParameterKind {
    /// The value.
    type Value;
    /// What is expected, after "expected".
    fn expected() -> String;

    fn read(text: &str) -> Option<Self::Value>;
}

/// A value that was read from a text.
pub(super) struct Parsed<K: ParameterKind>(pub(super) K::Value);

impl<'de, K: ParameterKind> Deserialize<'de> for Parsed<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(PhantomData))
    }
}

struct TextVisitor<K>(PhantomData<K>);

impl<K: ParameterKind> Visitor<'_> for TextVisitor<K> {
    type Value = Parsed<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&K::expected())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Parsed<K>, E> {
        let read = K::read(text).map(Parsed);
        read.ok_or_else(|| E::custom(format_args!("expected {}, not {text:?}", K::expected())))
    }
}

struct NumberText;

impl ParameterKind for NumberText {
    type Value = u64;

    fn expected() -> String {
        "the `after` of the page before, for example 0x2a".into()
    }

    fn read(text: &str) -> Option<u64> {
        number(text)
    }
}

/// A GTP-U path: the local address and the peer's.
struct PathText;

impl ParameterKind for PathText {
    type Value = (IpAddr, IpAddr);

    fn expected() -> String {
        "the `after` of the page before, for example 192.0.2.1-198.51.100.7".into()
    }

    fn read(text: &str) -> Option<Self::Value> {
        let (local, peer) = text.split_once('-')?;
        Some((local.parse().ok()?, peer.parse().ok()?))
    }
}

struct AddressText;

impl ParameterKind for AddressText {
    type Value = IpAddr;

    fn expected() -> String {
        "an IP address, for example 10.45.0.2 or 2001:db8::2".into()
    }

    fn read(text: &str) -> Option<IpAddr> {
        text.parse().ok()
    }
}

/// A number from 1 to a maximum.
pub(super) struct NumberUpTo<const MAX: u64>;

impl<const MAX: u64> ParameterKind for NumberUpTo<MAX> {
    type Value = u64;

    fn expected() -> String {
        if MAX == u64::MAX { "a number from 1 on".into() } else { format!("a number from 1 to {MAX}") }
    }

    fn read(text: &str) -> Option<u64> {
        u64::from_str(text).ok().filter(|number| (1..=MAX).contains(number) && !text.starts_with('+'))
    }
}

type LimitText = NumberUpTo<{ PAGE as u64 }>;

struct SeidText;

impl ParameterKind for SeidText {
    type Value = Seid;

    fn expected() -> String {
        "a SEID, for example 0x2a".into()
    }

    fn read(text: &str) -> Option<Seid> {
        seid_of(text)
    }
}

struct CpSeidText;

impl ParameterKind for CpSeidText {
    type Value = (Seid, Option<IpAddr>);

    fn expected() -> String {
        "an F-SEID, for example 0x51 or 0x51@192.0.2.21".into()
    }

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

    fn expected() -> String {
        "a TEID that is not zero, for example 0x1a2b3c4d".into()
    }

    fn read(text: &str) -> Option<Teid> {
        Teid::new(u32::try_from(number(text)?).ok()?)
    }
}

struct Text;

impl ParameterKind for Text {
    type Value = String;

    fn expected() -> String {
        "a text of 1 to 255 octets".into()
    }

    fn read(text: &str) -> Option<String> {
        (1..=MAX_TEXT).contains(&text.len()).then(|| text.to_owned())
    }
}
