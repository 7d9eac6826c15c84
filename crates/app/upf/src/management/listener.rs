//! Where the management server listens: TCP, TLS, and a Unix socket.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::access::Access;

/// A listener that is not used yet.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: Socket,
    /// The present access, which a reload changes for new connections.
    pub(crate) access: watch::Receiver<Access>,
}

/// The non-blocking socket of a listener.
#[derive(Debug)]
pub(crate) enum Socket {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket with its path.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// The TCP address.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            Socket::Unix(..) => None,
        }
    }

    /// The API is there.
    pub(crate) fn has_api(&self) -> bool {
        self.access.borrow().has_api
    }

    /// Over TLS.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.access.borrow().tls.is_some()
    }

    /// The path of a Unix socket.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.socket {
            Socket::Tcp(_) => None,
            Socket::Unix(_, path) => Some(path),
        }
    }
}

/// A connection.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A listener in a runtime.
pub(super) enum Acceptor {
    Tcp(net::TcpListener),
    Unix { listener: net::UnixListener, _file: SocketFile },
}

/// The file of a Unix socket, which is removed at the end.
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody may have removed it.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Acceptor {
    /// # Errors
    /// The runtime does not accept the socket.
    pub(super) fn new(socket: Socket) -> io::Result<Self> {
        Ok(match socket {
            Socket::Tcp(listener) => Self::Tcp(net::TcpListener::from_std(listener)?),
            Socket::Unix(listener, path) => {
                let _file = SocketFile(path);
                Self::Unix { listener: net::UnixListener::from_std(listener)?, _file }
            }
        })
    }

    /// The next connection.
    pub(super) async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(listener) => Box::new(listener.accept().await?.0),
            Self::Unix { listener, .. } => Box::new(listener.accept().await?.0),
        })
    }
}

/// The connection after the handshake of TLS, if there is one.
///
/// # Errors
/// The handshake fails.
pub(super) async fn encrypted(
    stream: Box<dyn Stream>,
    tls: Option<Arc<ServerConfig>>,
) -> io::Result<Box<dyn Stream>> {
    Ok(match tls {
        Some(config) => Box::new(TlsAcceptor::from(config).accept(stream).await?),
        None => stream,
    })
}
