//! Access to the management API beyond the loopback addresses of `upf.metrics.server`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use super::enums::Capture;
use super::model::{DEFAULT_ADDRESS, Upf};
use super::problem::Problem;
use super::section::Section;
use super::values;

/// The default TCP port of `upf.management.server`.
pub const MANAGEMENT_PORT: u16 = 9099;

/// Access to the management API.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ManagementAccess {
    /// Further listening addresses of the API; those beyond loopback speak TLS.
    pub server: Vec<ManagementServer>,
    /// TLS on these addresses.
    pub tls: ManagementTls,
    /// The file of the token that calls over TCP must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// A Unix socket.
    pub socket: ManagementSocket,
    /// Who may read the packets of sessions.
    pub capture: Capture,
}

/// A listening address of the management API.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ManagementServer {
    /// The address.
    pub address: IpAddr,
    /// The TCP port.
    pub port: u16,
}

impl ManagementServer {
    /// Address and port.
    pub const fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

/// TLS of the management API. The files are in PEM.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ManagementTls {
    /// The certificate of the server, with its chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// Its private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// The authorities of client certificates; clients without one are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<PathBuf>,
}

/// A Unix socket of the management API.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ManagementSocket {
    /// Its path; without one there is no socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Its permissions.
    #[serde(serialize_with = "octal")]
    pub mode: u32,
    /// The group that owns it, by name or number; without one that of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

impl Default for ManagementSocket {
    fn default() -> Self {
        Self { path: None, mode: 0o660, group: None }
    }
}

fn octal<S: Serializer>(mode: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{mode:04o}"))
}

impl ManagementAccess {
    pub(super) fn read(management: &mut Section<'_>) -> Self {
        Self {
            server: management.list("server", ManagementServer::read).unwrap_or_default(),
            tls: management.section("tls", ManagementTls::read),
            token_file: management.value("token_file", file),
            socket: management.section("socket", ManagementSocket::read),
            capture: management.value("capture", values::word).unwrap_or_default(),
        }
    }
}

impl ManagementServer {
    fn read(server: &mut Section<'_>) -> Self {
        let what = "give the address to listen on, for example 127.0.0.1";
        Self {
            address: server.required("address", what, values::address).unwrap_or(DEFAULT_ADDRESS),
            port: server.value("port", values::port).unwrap_or(MANAGEMENT_PORT),
        }
    }
}

impl ManagementTls {
    fn read(tls: &mut Section<'_>) -> Self {
        Self {
            certificate: tls.value("certificate", file),
            key: tls.value("key", file),
            client_ca: tls.value("client_ca", file),
        }
    }
}

impl ManagementSocket {
    fn read(socket: &mut Section<'_>) -> Self {
        let default = Self::default();
        Self {
            path: socket.value("path", file),
            mode: socket.value("mode", mode).unwrap_or(default.mode),
            group: socket.value("group", values::text),
        }
    }
}

fn file(text: &str) -> Result<PathBuf, Problem> {
    values::text(text).map(PathBuf::from)
}

fn mode(text: &str) -> Result<u32, Problem> {
    let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| is_octal && *mode <= 0o777);
    mode.ok_or_else(|| values::wrong(text, "permissions in octal, for example 0660"))
}

/// Beyond loopback the API needs TLS, and something that tells operators from others.
pub(super) fn check(upf: &Upf) -> Vec<(String, Problem)> {
    let mut found = Vec::new();
    let mut missing = |key: &str, what| found.push((format!("upf.management.{key}"), Problem::Missing(what)));
    let ManagementAccess { server, tls, token_file, socket, .. } = &upf.management;
    match (&tls.certificate, &tls.key) {
        (Some(_), None) => missing("tls.key", "give the file of the private key of the certificate"),
        (None, Some(_)) => missing("tls.certificate", "give the file of the certificate of this key"),
        (None, None) if tls.client_ca.is_some() => {
            missing("tls.certificate", "give the certificate of the server; client certificates need TLS");
        }
        _ => {}
    }
    for (n, server) in server.iter().enumerate().filter(|(_, server)| !server.address.is_loopback()) {
        let key = format!("upf.management.server[{n}].address");
        if tls.certificate.is_none() {
            found.push((key, Problem::ManagementWithoutTls { address: server.address }));
        } else if token_file.is_none() && tls.client_ca.is_none() {
            found.push((key, Problem::ManagementForEveryone { address: server.address }));
        }
    }
    if socket.path.is_none() && socket.group.is_some() {
        let what = Problem::Missing("give the path of the socket whose group this is");
        found.push(("upf.management.socket.path".into(), what));
    }
    found
}
