//! Who the client is, and whom it trusts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::header::HeaderValue;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::ClientError;

/// The files of a client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Credentials {
    /// The authority of the server, in PEM.
    pub(crate) ca: Option<PathBuf>,
    /// The token.
    pub(crate) token_file: Option<PathBuf>,
    /// The certificate of the client with its chain, and its key, in PEM.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
}

impl Credentials {
    /// The value of the header `Authorization`.
    pub(super) fn authorization(&self) -> Result<Option<HeaderValue>, ClientError> {
        let Some(file) = &self.token_file else { return Ok(None) };
        let token = read(file)?;
        let value = [b"Bearer ", token.trim_ascii()].concat();
        let mut value =
            HeaderValue::from_bytes(&value).map_err(|_| ClientError::Token { file: file.clone() })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// How connections are encrypted.
    pub(super) fn tls(&self) -> Result<Arc<ClientConfig>, ClientError> {
        let ca = self.ca.as_ref().ok_or(ClientError::NoAuthority)?;
        let mut roots = RootCertStore::empty();
        for authority in certificates(ca)? {
            roots.add(authority)?;
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let config = match &self.certificate {
            Some((certificate, key)) => {
                let pem = |source| ClientError::Pem { file: key.clone(), expected: "a private key", source };
                let key = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(pem)?;
                builder.with_client_auth_cert(certificates(certificate)?, key)?
            }
            None => builder.with_no_client_auth(),
        };
        Ok(Arc::new(config))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let failed = |source| ClientError::Pem { file: file.to_owned(), expected: "certificates", source };
    CertificateDer::pem_slice_iter(&read(file)?).collect::<Result<_, _>>().map_err(failed)
}

fn read(file: &Path) -> Result<Vec<u8>, ClientError> {
    fs::read(file).map_err(|source| ClientError::File { file: file.to_owned(), source })
}
