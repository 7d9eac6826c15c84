//! The connection below HTTP.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::address::Address;
use super::error::ClientError;

/// Timeout of the establishment of a connection.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to a UPF.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Opens a connection, over TLS if there is a configuration of it.
pub(super) async fn open(
    address: &Address,
    tls: Option<&Arc<ClientConfig>>,
) -> Result<Box<dyn Stream>, ClientError> {
    let unreachable = |source| ClientError::Unreachable { address: address.clone(), source };
    let stream = in_time(connect(address)).await.map_err(unreachable)?;
    match (address, tls) {
        (Address::Tls { host, .. }, Some(config)) => {
            let handshake = in_time(encrypt(stream, host, config));
            handshake.await.map_err(|source| ClientError::Handshake { address: address.clone(), source })
        }
        _ => Ok(stream),
    }
}

async fn in_time<T>(result: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(TIMEOUT, result).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn connect(address: &Address) -> io::Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Tcp { host, port } | Address::Tls { host, port } => {
            Box::new(TcpStream::connect((host.as_str(), *port)).await?)
        }
        Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
    })
}

async fn encrypt(
    stream: Box<dyn Stream>,
    host: &str,
    config: &Arc<ClientConfig>,
) -> io::Result<Box<dyn Stream>> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    Ok(Box::new(TlsConnector::from(Arc::clone(config)).connect(name, stream).await?))
}
