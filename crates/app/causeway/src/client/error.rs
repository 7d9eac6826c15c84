//! What may go wrong with a call.

use std::error::Error as _;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use thiserror::Error;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem;

use super::Address;

/// Why a call failed, and what to do.
#[derive(Debug, Error)]
pub(crate) enum ClientError {
    /// Nothing answers there.
    #[error("no UPF answers at {address}: {}", reason(source))]
    Unreachable { address: Address, source: io::Error },
    /// The connection cannot be encrypted.
    #[error(
        "no secure connection to {address}: {source}\nis --ca the authority of the server, and the name in the address that of its \
         certificate?"
    )]
    Handshake { address: Address, source: io::Error },
    /// An address with TLS, and nobody to trust.
    #[error("an https address needs the authority of the server: --ca FILE, or CAUSEWAY_CA")]
    NoAuthority,
    /// A file cannot be read.
    #[error("{}: {source}", file.display())]
    File { file: PathBuf, source: io::Error },
    /// A file is not in PEM.
    #[error("{}: {source}; expected {expected} in PEM", file.display())]
    Pem { file: PathBuf, expected: &'static str, source: pem::Error },
    /// A file with something else than a token.
    #[error("{}: expected one line with the token", file.display())]
    Token { file: PathBuf },
    /// The certificate and the key do not fit, or are not supported.
    #[error("{0}; is --key that of --certificate?")]
    Tls(#[from] rustls::Error),
    /// The system has no event queue.
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    /// The connection broke.
    #[error(
        "the connection to {address} broke: {}; the UPF may have been stopped, or have too many connections",
        causes(source)
    )]
    Broken { address: Address, source: hyper::Error },
    /// There was no response in time.
    #[error("the UPF at {address} does not respond in time; `/healthz` and its log may say why")]
    Slow { address: Address },
    /// The UPF refused.
    #[error("{detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What is wrong, and what to do.
        detail: String,
    },
    /// What answers is no UPF of this version.
    #[error(
        "what answers at {address} is not the management server of a UPF of version {}",
        env!("CARGO_PKG_VERSION")
    )]
    Foreign { address: Address },
}

fn reason(error: &io::Error) -> String {
    let advice = match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound | ErrorKind::TimedOut => {
            "is `causeway run` there, and is this its `upf.metrics.server`? --management or CAUSEWAY_MANAGEMENT \
             names another address"
        }
        ErrorKind::PermissionDenied => "run this as root, or as a member of the group of the socket",
        _ => "--management or CAUSEWAY_MANAGEMENT names another address",
    };
    format!("{error}\n{advice}")
}

/// An error with what caused it.
fn causes(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
