//! Who may call the management API.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::Response;
use subtle::ConstantTimeEq;
use thiserror::Error;
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;

use super::console::is_console;
use super::refusal::{CaptureRefusal, Refusal};
use crate::config::Capture;

/// The least and the greatest length of a token, in characters.
const TOKEN: std::ops::RangeInclusive<usize> = 16..=1024;

/// A token, which is a secret.
pub(crate) struct Token(Box<[u8]>);

/// A text that is no token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("expected one line of {} to {} visible ASCII characters, for example from `openssl rand -hex 32`", TOKEN.start(), TOKEN.end())]
pub struct InvalidToken;

impl Token {
    /// The token in a file, without white space around it.
    pub(crate) fn new(octets: &[u8]) -> Result<Self, InvalidToken> {
        let token = octets.trim_ascii();
        let is_right = TOKEN.contains(&token.len()) && token.iter().all(u8::is_ascii_graphic);
        if is_right { Ok(Self(token.into())) } else { Err(InvalidToken) }
    }

    /// The time that it takes depends on the length of the token only, not on where another one differs.
    fn is(&self, other: &[u8]) -> bool {
        self.0.ct_eq(other).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The kind of a listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListenerKind {
    /// An address of `upf.metrics.server`.
    Metrics(IpAddr),
    /// An address of `upf.management.server`.
    Management,
    /// The Unix socket.
    Socket,
}

/// What tells callers apart, as the configuration has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallerChecks {
    /// TLS of `upf.management.server`.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// TLS asks for client certificates.
    pub(crate) has_client_ca: bool,
    /// The token of calls over TCP.
    pub(crate) token: Option<Arc<Token>>,
    /// Who may read packets.
    pub(crate) capture: Capture,
}

/// What a listener serves, and to whom.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// TLS, which also asks for client certificates, if it is configured so.
    pub(super) tls: Option<Arc<ServerConfig>>,
    token: Option<Arc<Token>>,
    /// Whether the packets of sessions may be read here.
    capture: Result<(), CaptureRefusal>,
    /// The management API is there.
    pub(super) has_api: bool,
    /// Whoever may not call the API does not get the other pages either.
    is_closed: bool,
    /// A name of another host in `Host` tells that a web page has been led here.
    is_local: bool,
}

impl Access {
    /// The access of a listener.
    pub(crate) fn new(kind: ListenerKind, checks: &CallerChecks) -> Self {
        let token = checks.token.clone();
        let capture = |is_identified| match checks.capture {
            Capture::Everyone => Ok(()),
            Capture::Off => Err(CaptureRefusal::Off),
            Capture::Restricted if is_identified => Ok(()),
            Capture::Restricted => Err(CaptureRefusal::Anybody),
        };
        match kind {
            ListenerKind::Metrics(address) => {
                let is_local = address.is_loopback();
                let capture = capture(token.is_some());
                Self { tls: None, token, capture, has_api: is_local, is_closed: false, is_local }
            }
            // Without TLS it is a loopback address.
            ListenerKind::Management => {
                let (tls, is_local) = (checks.tls.clone(), checks.tls.is_none());
                let capture = capture(token.is_some() || tls.is_some() && checks.has_client_ca);
                Self { tls, token, capture, has_api: true, is_closed: true, is_local }
            }
            // Its permissions tell who may call.
            ListenerKind::Socket => Self {
                tls: None,
                token: None,
                capture: capture(true),
                has_api: true,
                is_closed: true,
                is_local: false,
            },
        }
    }

    /// A call over a connection that was accepted with this TLS.
    fn check_call(&self, tls: &AcceptedTls, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        if tls.is_of(self) { self.check(path, headers) } else { Err(Refusal::OldConnection) }
    }

    fn check(&self, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        let is_api = path == "/api" || path.starts_with("/api/");
        // A browser loads its files before it can ask for the token. They tell nothing of the UPF.
        let is_console = is_console(path);
        match &self.token {
            _ if (is_api || is_console) && !self.has_api => Err(Refusal::NoApiHere),
            _ if (is_api || is_console) && self.is_local && !names_this_host(headers) => {
                Err(Refusal::OtherHost)
            }
            _ if is_console => Ok(()),
            Some(token) if (is_api || self.is_closed) && !has_token(headers, token) => Err(Refusal::NoToken),
            _ if shows_packets(path) => self.capture.map_err(Refusal::Capture),
            _ => Ok(()),
        }
    }
}

/// The path is that of a capture: `/api/v1/sessions/SEID/capture`.
fn shows_packets(path: &str) -> bool {
    path.trim_end_matches('/').ends_with("/capture")
}

/// The request is for an IP address or `localhost`. A page of another site that a browser on this host shows can lead its own name
/// here, but no address.
fn names_this_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else { return true };
    let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    authority.is_some_and(|authority| {
        let host = authority.host();
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
    })
}

/// The request has the token (RFC 6750 clause 2.1).
fn has_token(headers: &HeaderMap, token: &Token) -> bool {
    let given = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    let (scheme, given) = given.and_then(|given| given.split_at_checked(7)).unwrap_or_default();
    scheme.eq_ignore_ascii_case(b"Bearer ") && token.is(given.trim_ascii())
}

/// The TLS with which the connection of a request was accepted.
#[derive(Clone, Debug)]
pub(super) struct AcceptedTls(pub(super) Option<Arc<ServerConfig>>);

impl AcceptedTls {
    /// It is that of the present access: its client has shown what callers have to show now.
    fn is_of(&self, access: &Access) -> bool {
        match (&self.0, &access.tls) {
            (Some(accepted), Some(present)) => Arc::ptr_eq(accepted, present),
            (accepted, present) => accepted.is_none() && present.is_none(),
        }
    }
}

/// Passes on the requests that are admitted.
pub(super) async fn admit(
    State(access): State<watch::Receiver<Access>>,
    Extension(tls): Extension<AcceptedTls>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    access.borrow().check_call(&tls, request.uri().path(), request.headers())?;
    Ok(next.run(request).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn token() -> Option<Arc<Token>> {
        Some(Arc::new(Token::new(SECRET.as_bytes()).unwrap()))
    }

    fn of_metrics(address: [u8; 4], token: Option<Arc<Token>>) -> Access {
        let checks = CallerChecks { token, ..CallerChecks::default() };
        Access::new(ListenerKind::Metrics(address.into()), &checks)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    // Input:  tokens with white space around, too short, too long, of several lines, with other characters.
    // Output: the first is one; its `Debug` text does not have it.
    #[test]
    fn a_token_is_one_line() {
        let token = Token::new(format!("{SECRET}\n").as_bytes()).unwrap();
        assert!(token.is(SECRET.as_bytes()) && !format!("{token:?}").contains(SECRET));
        let long = "x".repeat(1025);
        for wrong in [
            "",
            "short",
            &long,
            "0123456789abcdef\n0123456789abcdef",
            "0123456789abcd\u{e9}f",
            "0123456789 abcdef",
        ] {
            assert_eq!(Token::new(wrong.as_bytes()).err(), Some(InvalidToken), "{wrong}");
        }
    }

    // Input:  calls with the token, without, with another, with a part of it, in another scheme.
    // Output: only the first is admitted; metrics need no token where they are open.
    #[test]
    fn calls_need_the_token() {
        let local = of_metrics([127, 0, 0, 1], token());
        let checks = CallerChecks { token: token(), ..CallerChecks::default() };
        let closed = Access::new(ListenerKind::Management, &checks);
        for (authorization, is_right) in [
            ("Bearer 0123456789abcdef", true),
            ("bearer 0123456789abcdef ", true),
            ("Bearer 0123456789abcdeg", false),
            ("Bearer 0123456789abcde", false),
            ("Bearer 0123456789abcdef0", false),
            ("Bearer ", false),
            ("Bearer", false),
            ("Basic 0123456789abcdef", false),
            ("0123456789abcdef", false),
        ] {
            let headers = headers(&[("authorization", authorization)]);
            let expected = if is_right { Ok(()) } else { Err(Refusal::NoToken) };
            assert_eq!(local.check("/api/v1/status", &headers), expected, "{authorization}");
            assert_eq!(closed.check("/metrics", &headers), expected, "{authorization}");
        }
        assert_eq!(local.check("/metrics", &headers(&[])), Ok(()));
        assert_eq!(local.check("/api", &headers(&[])), Err(Refusal::NoToken));
        assert_eq!(closed.check("/console/", &headers(&[])), Ok(()));
        let socket = Access::new(ListenerKind::Socket, &checks);
        assert_eq!(socket.check("/api/v1/status", &headers(&[])), Ok(()));
    }

    // Input:  calls whose `Host` is an address, `localhost` or a name, to a loopback address and to another one.
    // Output: names are refused, since a web page of another site may be behind them; beyond loopback there is no API.
    #[test]
    fn the_api_is_local() {
        let local = of_metrics([127, 0, 0, 1], None);
        for host in ["127.0.0.1:9098", "[::1]:9098", "localhost:9098", "LOCALHOST"] {
            assert_eq!(local.check("/api/v1/status", &headers(&[("host", host)])), Ok(()), "{host}");
        }
        for host in ["attacker.example:9098", "localhost.attacker.example", ""] {
            let refused = Err(Refusal::OtherHost);
            assert_eq!(local.check("/api/v1/status", &headers(&[("host", host)])), refused, "{host}");
            assert_eq!(local.check("/console/", &headers(&[("host", host)])), refused, "{host}");
        }
        assert_eq!(local.check("/metrics", &headers(&[("host", "upf.example")])), Ok(()));
        let open = of_metrics([192, 0, 2, 1], None);
        assert_eq!(open.check("/api/v1/status", &headers(&[])), Err(Refusal::NoApiHere));
        assert_eq!(open.check("/console/", &headers(&[])), Err(Refusal::NoApiHere));
        assert_eq!(open.check("/metrics", &headers(&[])), Ok(()));
    }

    // Input:  captures at each kind of listener, with and without a token, under each value of `upf.management.capture`.
    // Output: `restricted` permits them where callers are told apart, `everyone` where the API is, `off` nowhere. Other
    //         pages of the API are not concerned.
    #[test]
    fn packets_are_for_those_who_are_told_apart() {
        let with_token = headers(&[("authorization", "Bearer 0123456789abcdef")]);
        let path = "/api/v1/sessions/1/capture";
        let (loopback, management, socket) =
            (ListenerKind::Metrics([127, 0, 0, 1].into()), ListenerKind::Management, ListenerKind::Socket);
        let refused = |why| Err(Refusal::Capture(why));
        for (capture, bare, identified) in [
            (Capture::Restricted, refused(CaptureRefusal::Anybody), Ok(())),
            (Capture::Everyone, Ok(()), Ok(())),
            (Capture::Off, refused(CaptureRefusal::Off), refused(CaptureRefusal::Off)),
        ] {
            let open = CallerChecks { capture, ..CallerChecks::default() };
            let closed = CallerChecks { capture, token: token(), ..CallerChecks::default() };
            for kind in [loopback, management] {
                assert_eq!(Access::new(kind, &open).check(path, &headers(&[])), bare, "{capture:?} {kind:?}");
                assert_eq!(
                    Access::new(kind, &closed).check(path, &with_token),
                    identified,
                    "{capture:?} {kind:?}"
                );
                assert_eq!(Access::new(kind, &closed).check(path, &headers(&[])), Err(Refusal::NoToken));
                assert_eq!(Access::new(kind, &open).check("/api/v1/sessions/1/trace", &headers(&[])), Ok(()));
            }
            assert_eq!(Access::new(socket, &open).check(path, &headers(&[])), identified, "{capture:?}");
        }
        let checks = CallerChecks { has_client_ca: true, ..CallerChecks::default() };
        let without_tls = Access::new(management, &checks).check(path, &headers(&[]));
        assert_eq!(without_tls, refused(CaptureRefusal::Anybody));
    }
}
