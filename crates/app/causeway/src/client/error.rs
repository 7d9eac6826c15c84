//! What may go wrong with a call.

use std::io::{self, ErrorKind};

use thiserror::Error;

use super::Address;

/// Why a call failed, and what to do.
#[derive(Debug, Error)]
pub(crate) enum ClientError {
    /// Nothing answers there.
    #[error("no UPF answers at {address}: {}", reason(source))]
    Unreachable { address: Address, source: io::Error },
    /// The connection broke.
    #[error(
        "the connection to {address} broke: {source}; the UPF may have been stopped, or have too many connections"
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
