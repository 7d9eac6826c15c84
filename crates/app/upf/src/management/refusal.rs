//! Requests that are refused, and why.

use std::error::Error as _;
use std::fmt;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use causeway_types::Seid;
use thiserror::Error;

use super::server::BODY;
use super::views::ProblemView;

/// Why the packets of a session are not shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CaptureRefusal {
    /// Anybody on this host could read them here.
    Anybody,
    /// Captures are switched off.
    Off,
}

impl fmt::Display for CaptureRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anybody => {
                "every user of this host may call this address, so it shows no packets: call over `upf.management.socket`, \
                 or with the token of `upf.management.token_file`; or set `upf.management.capture: everyone` and reload"
            }
            Self::Off => "captures are switched off: `upf.management.capture` is off",
        })
    }
}

/// Why a request is refused. The `Display` text is the detail of the response.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(super) enum Refusal {
    /// A query that is not understood.
    #[error("{0}")]
    Query(String),
    /// A body that is not the one of the call.
    #[error("{0}")]
    Body(String),
    /// A body that is too large.
    #[error("the body has more than {BODY} octets, which is the limit")]
    LargeBody,
    /// A path segment that is no SEID.
    #[error("`{0}` is no SEID: give it in decimal or, after 0x, hexadecimal")]
    NoSeid(String),
    /// There is no such session.
    #[error("no session has the SEID {:#x}; see /api/v1/sessions", .0.0)]
    UnknownSession(Seid),
    /// There is no such association.
    #[error("there is no association with this Node ID; see /api/v1/associations")]
    UnknownAssociation,
    /// There is no such page.
    #[error("there is no such page; see / for a list")]
    UnknownPath,
    /// The page does not have the method.
    #[error("the page does not have this method; see /api/v1 for a list")]
    Method,
    /// The listener serves metrics only.
    #[error(
        "the management API is not served at this address, since other hosts reach it in clear text: use a loopback address of \
         `upf.metrics.server`, `upf.management.server` with TLS, or `upf.management.socket`"
    )]
    NoApiHere,
    /// A loopback address was reached under the name of a host.
    #[error(
        "the management API of this address is served under IP addresses and `localhost` only: use one of them"
    )]
    OtherHost,
    /// The connection was accepted under TLS that is not in force any more.
    #[error("TLS of this address has changed since the connection was opened: connect again")]
    OldConnection,
    /// The token is missing or wrong.
    #[error(
        "this needs the token of `upf.management.token_file`: `Authorization: Bearer TOKEN`, or `--token-file FILE` of the commands"
    )]
    NoToken,
    /// The packets of sessions are not shown.
    #[error("{0}")]
    Capture(CaptureRefusal),
    /// A request that a web page caused.
    #[error("calls that change state are not accepted from web pages")]
    WebPage,
    /// The configuration file has errors.
    #[error("the configuration in force stays:\n{0}")]
    Configuration(String),
    /// A text that is no log level.
    #[error("`{0}` is no log level: error, warn, info, debug or trace")]
    NoLevel(String),
    /// A packet that is not described right.
    #[error("{0}; see /api/v1")]
    Packet(&'static str),
    /// The data plane does not explain the packet.
    #[error(
        "the data plane does not explain this packet: packets of a P4 switch pass on the switch, and a frame to a group of more than 64 sessions \
         concerns too many"
    )]
    Unexplained,
    /// The packets of the session pass on a switch outside this process.
    #[error(
        "packets pass on the P4 switch at {0} and not through this process, which cannot show them: capture them on the links of the switch, for \
         example by a mirror session of it; counters and drops of the session are in `causeway session`"
    )]
    OnSwitch(String),
    /// The session has no rules by which packets find it.
    #[error("the session has no PDR with a local tunnel or a UE address: no packet is for it")]
    NoKeys,
    /// Too many clients listen to events.
    #[error("{} clients listen to events already: close one, or try again later", super::events::STREAMS)]
    TooManyStreams,
    /// Too many sessions are watched.
    #[error(
        "{} sessions are watched already: end a trace or capture, or try again later",
        crate::worker::WATCHES
    )]
    TooManyWatches,
    /// The UPF accepts no new sessions.
    #[error("the UPF is being drained; `causeway drain --undo` ends this")]
    Draining,
    /// The daemon is busy or ending.
    #[error("the daemon does not respond in time")]
    Unhealthy,
}

impl Refusal {
    /// The refusal of a body that is not in this form.
    pub(super) fn of_body(rejection: &JsonRejection, form: &str) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return Self::LargeBody;
        }
        let cause = rejection.source().map_or_else(|| rejection.body_text(), ToString::to_string);
        Self::Body(match rejection {
            JsonRejection::MissingJsonContentType(_) => {
                format!("the body is expected in JSON, with `Content-Type: application/json`: {form}")
            }
            JsonRejection::JsonSyntaxError(_) => format!("the body is not JSON ({cause}); expected {form}"),
            JsonRejection::JsonDataError(_) => {
                format!("{}; expected {form}", cause.replace("unknown field", "unknown name"))
            }
            _ => format!("the body did not come whole; expected {form}"),
        })
    }

    const fn status(&self) -> StatusCode {
        match self {
            Self::Query(_) | Self::Body(_) | Self::NoSeid(_) | Self::NoLevel(_) | Self::Packet(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::LargeBody => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Configuration(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::UnknownSession(_) | Self::UnknownAssociation | Self::UnknownPath => StatusCode::NOT_FOUND,
            Self::Unexplained | Self::OnSwitch(_) | Self::NoKeys => StatusCode::NOT_IMPLEMENTED,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::NoToken => StatusCode::UNAUTHORIZED,
            Self::OldConnection => StatusCode::MISDIRECTED_REQUEST,
            Self::NoApiHere | Self::OtherHost | Self::WebPage | Self::Capture(_) => StatusCode::FORBIDDEN,
            Self::TooManyStreams | Self::TooManyWatches | Self::Draining | Self::Unhealthy => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.status();
        let title = status.canonical_reason().unwrap_or_default().to_owned();
        let problem = ProblemView { title, status: status.as_u16(), detail: self.to_string() };
        let mut response = (status, Json(problem)).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self == Self::NoToken {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
