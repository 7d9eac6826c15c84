//! Where a UPF answers.

use std::fmt;
use std::net::Ipv6Addr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;

use causeway_upf::config::{MANAGEMENT_PORT, METRICS_PORT};
use thiserror::Error;

/// The Unix socket of an installed package.
const SOCKET: &str = "/run/causeway/management.sock";

/// Where a UPF answers: `HOST[:PORT]`, also with `http://` before it; over TLS `https://HOST[:PORT]`; or `unix:PATH`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Address {
    /// A host name or IP address, and a TCP port.
    Tcp { host: String, port: u16 },
    /// The same, over TLS.
    Tls { host: String, port: u16 },
    /// A Unix socket.
    Unix(PathBuf),
}

/// A text that is no [`Address`].
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "expected HOST[:PORT], https://HOST[:PORT] or unix:PATH, for example 127.0.0.1:9098, https://upf.example or unix:/run/causeway/management.sock"
)]
pub(crate) struct InvalidAddress;

impl Address {
    /// Where an installed UPF on this host answers: its Unix socket, which shows more, if it is there and this user may use
    /// it; or else the default loopback address.
    pub(crate) fn of_this_host() -> Self {
        match UnixStream::connect(SOCKET) {
            Ok(_) => Self::Unix(SOCKET.into()),
            Err(_) => Self::Tcp { host: "127.0.0.1".into(), port: METRICS_PORT },
        }
    }

    /// The value of the header `Host`.
    pub(super) fn host(&self) -> String {
        match self {
            Self::Tcp { host, port } | Self::Tls { host, port } => authority(host, *port),
            Self::Unix(_) => "localhost".into(),
        }
    }
}

fn authority(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let path = text.strip_prefix("unix:").or(Some(text).filter(|text| text.starts_with('/')));
        if let Some(path) = path {
            return if path.is_empty() { Err(InvalidAddress) } else { Ok(Self::Unix(path.into())) };
        }
        let secured = text.strip_prefix("https://");
        let rest = secured.or(text.strip_prefix("http://")).map_or(text, |rest| rest.trim_end_matches('/'));
        let default = if secured.is_some() { MANAGEMENT_PORT } else { METRICS_PORT };
        let (host, port) = split(rest, default).ok_or(InvalidAddress)?;
        let is_name = |octet: u8| octet.is_ascii_alphanumeric() || b".-_:%".contains(&octet);
        let is_host = !host.is_empty() && host.bytes().all(is_name);
        let host = if is_host { host.to_owned() } else { return Err(InvalidAddress) };
        Ok(if secured.is_some() { Self::Tls { host, port } } else { Self::Tcp { host, port } })
    }
}

/// The host and the port.
fn split(text: &str, default: u16) -> Option<(&str, u16)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, port.parse().ok()?)),
            None if rest.is_empty() => Some((host, default)),
            None => None,
        };
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some((text, default));
    }
    match text.split_once(':') {
        Some((host, port)) => Some((host, port.parse().ok()?)),
        None => Some((text, default)),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } => f.write_str(&authority(host, *port)),
            Self::Tls { host, port } => write!(f, "https://{}", authority(host, *port)),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  addresses of each kind, with and without port and scheme; texts that are none.
    // Output: the address, in one way of writing; errors.
    #[test]
    fn addresses_are_read() {
        for (text, shown) in [
            ("127.0.0.1", "127.0.0.1:9098"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("http://upf.example:9098/", "upf.example:9098"),
            ("https://upf.example", "https://upf.example:9099"),
            ("https://192.0.2.1:80/", "https://192.0.2.1:80"),
            ("::1", "[::1]:9098"),
            ("[::1]", "[::1]:9098"),
            ("[2001:db8::1]:80", "[2001:db8::1]:80"),
            ("unix:/run/upf.sock", "unix:/run/upf.sock"),
            ("/run/upf.sock", "unix:/run/upf.sock"),
        ] {
            assert_eq!(
                text.parse::<Address>().map(|address| address.to_string()),
                Ok(shown.into()),
                "{text}"
            );
        }
        for wrong in
            ["", ":80", "host:", "host:port", "host:65536", "[::1", "[host]:80", "unix:", "a/b", "ftp://a"]
        {
            assert_eq!(wrong.parse::<Address>(), Err(InvalidAddress), "{wrong}");
        }
    }
}
