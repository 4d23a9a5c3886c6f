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
fn a_client_that_trusts_the_certificate_is_answered() {
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
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    // The end of the connection may come without TLS's own.
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Plain HTTP gets no answer of HTTP.
    let mut plain = TcpStream::connect(server.address).unwrap();
    plain.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"));
    assert!(server.end().is_ok());
}

#[test]
fn what_is_no_certificate_or_no_key_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content).unwrap();
        folder.path().join(name)
    };
    let section = |kind: &str| format!("-----BEGIN {kind}-----\nAAAA\n-----END {kind}-----\n");
    let (certificate, key, empty) = (file("certificate.pem"), file("key.pem"), written("empty.pem", ""));
    for (certificates, key, named, reason) in [
        (&key, &key, "key.pem", "it has no certificate in PEM"),
        (&empty, &key, "empty.pem", "it has no certificate in PEM"),
        (
            &written("none.pem", &section("CERTIFICATE")),
            &key,
            "none.pem",
            "its first certificate cannot be used",
        ),
        (&certificate, &certificate, "certificate.pem", "no private key in PEM"),
        (&certificate, &empty, "empty.pem", "no private key in PEM"),
        (&certificate, &written("bad.pem", &section("PRIVATE KEY")), "bad.pem", "private key"),
        (&certificate, &file("other-key.pem"), "other-key.pem", "it is not the key of"),
        (&folder.path().join("missing.pem"), &key, "missing.pem", "cannot read"),
    ] {
        let error = Tls::read(certificates, key).err().unwrap();
        let said = error.to_string();
        let file = said.split(": ").next().unwrap();
        assert!(file.ends_with(named) && said.contains(reason), "{said}");
        assert!(matches!(error, ServerError::Tls { .. } | ServerError::File(_)));
    }
}
