//! The connection below HTTP.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::address::Address;
use super::error::ClientError;

/// Timeout of the establishment of a connection.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to a UPF.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Opens a connection.
pub(super) async fn open(address: &Address) -> Result<Box<dyn Stream>, ClientError> {
    let opened = timeout(TIMEOUT, connect(address)).await;
    let opened = opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    opened.map_err(|source| ClientError::Unreachable { address: address.clone(), source })
}

async fn connect(address: &Address) -> io::Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Tcp { host, port } => Box::new(TcpStream::connect((host.as_str(), *port)).await?),
        Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
    })
}
