//! TLS: the certificate of a server, and its key.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{Error, ServerConfig};
use tokio_rustls::server::TlsStream;
use toller_files::FileError;

use crate::ServerError;

/// How connections are encrypted: TLS 1.2 or 1.3, by rustls.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl Tls {
    /// Reads the chain of certificates, the server's own first, and its private key: both as PEM.
    ///
    /// # Errors
    /// A file that cannot be read or has another content; a key of another certificate.
    pub fn read(certificates: &Path, key: &Path) -> Result<Self, ServerError> {
        let read = |path: &Path| fs::read(path).map_err(FileError::on("read", path));
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(certificates)?).collect();
        let chain = chain.map_err(|error| unusable(certificates, error))?;
        if chain.is_empty() {
            return Err(unusable(certificates, "it has no certificate in PEM"));
        }
        let own_key = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|error| unusable(key, format!("no private key in PEM: {error}")))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map(|builder| builder.with_no_client_auth())
            .and_then(|builder| builder.with_single_cert(chain, own_key));
        let mut config = config.map_err(|error| match error {
            Error::InvalidCertificate(reason) => {
                unusable(certificates, format!("its first certificate cannot be used: {reason}"))
            }
            Error::InconsistentKeys(_) => {
                unusable(key, format!("it is not the key of {}", certificates.display()))
            }
            _ => unusable(key, error),
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Shakes hands; nothing if the client does not in time, or speaks something else.
    pub(crate) async fn accept(&self, stream: TcpStream, timeout: Duration) -> Option<TlsStream<TcpStream>> {
        tokio::time::timeout(timeout, self.0.accept(stream)).await.ok()?.ok()
    }
}

fn unusable(path: &Path, reason: impl ToString) -> ServerError {
    ServerError::Tls { path: path.to_owned(), reason: reason.to_string() }
}
