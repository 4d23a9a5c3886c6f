//! Connections over TLS. The certificate of the tests is its own authority, for 127.0.0.1 until 2126.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use toller_server::{Limits, ServerError, Tls};

use crate::support::Running;

fn file(name: &str) -> std::path::PathBuf {
    toller_testing::repository("crates/server/tests/tls").join(name)
}

#[test]
fn who_trusts_the_certificate_is_answered() {
    let tls = Tls::read(&file("certificate.pem"), &file("key.pem")).unwrap();
    let mut server = Running::over(Limits::default(), None, Duration::from_secs(20), Some(tls));
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file("certificate.pem")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(server.address).unwrap());
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    // The end of the connection may come without TLS's own.
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Plain HTTP gets no answer of HTTP.
    let mut plain = TcpStream::connect(server.address).unwrap();
    plain.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"));
    assert!(server.end().is_ok());
}

#[test]
fn what_is_no_certificate_or_no_key_is_named() {
    for (certificate, key, named) in [
        ("key.pem", "key.pem", "key.pem"),
        ("certificate.pem", "certificate.pem", "certificate.pem"),
        ("none.pem", "key.pem", "none.pem"),
    ] {
        let error = Tls::read(&file(certificate), &file(key)).err().unwrap();
        assert!(error.to_string().contains(named), "{error}");
        assert!(matches!(error, ServerError::Tls { .. } | ServerError::File(_)));
    }
}
