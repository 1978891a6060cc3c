//! Where requests are passed on to: the address of an API, and a connection to it.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long it may take until there is a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// The address of an API: `https://HOST[:PORT][/PATH]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Upstream {
    is_tls: bool,
    host: String,
    port: u16,
    /// What stands before every path; empty, or it begins with a slash and ends without one.
    prefix: String,
}

/// A connection in both directions, encrypted or not.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

impl FromStr for Upstream {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || "expected http://HOST[:PORT] or https://HOST[:PORT], with a path if it needs one".to_owned();
        let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
        let is_tls = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(expected()),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        if authority.contains('@') || path.contains(['?', '#']) {
            // What stands there would be written down with the recording.
            return Err(
                "an address holds no user, no query and no key: give keys in the environment".to_owned()
            );
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = match port {
            Some(port) => port.parse().map_err(|_| expected())?,
            None if is_tls => 443,
            None => 80,
        };
        let is_plain = |byte: u8| byte.is_ascii_graphic();
        if host.is_empty() || !host.bytes().chain(path.bytes()).all(is_plain) {
            return Err(expected());
        }
        Ok(Self { is_tls, host: host.to_owned(), port, prefix: path.trim_end_matches('/').to_owned() })
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

impl Upstream {
    /// Whether only a build with the network feature can reach it.
    #[cfg(feature = "cli")]
    pub(crate) fn needs_tls(&self) -> bool {
        self.is_tls
    }

    /// What the `host` header says.
    pub(super) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.is_tls, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// The target of a request there. Clients that are given a base with `/v1` in it ask for that themselves.
    pub(super) fn target(&self, asked: &str) -> String {
        match self.prefix.strip_suffix("/v1").filter(|_| asked.starts_with("/v1/")) {
            Some(prefix) => format!("{prefix}{asked}"),
            None => format!("{}{asked}", self.prefix),
        }
    }

    /// A new connection.
    pub(super) async fn connect(&self) -> io::Result<Box<dyn Duplex>> {
        let connect = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            // Each event has to leave when it is written; a failure would only cost time.
            _ = stream.set_nodelay(true);
            if self.is_tls {
                encrypted(&self.host, stream).await
            } else {
                Ok(Box::new(stream) as Box<dyn Duplex>)
            }
        };
        timeout(PATIENCE, connect).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

#[cfg(feature = "net")]
async fn encrypted(host: &str, stream: TcpStream) -> io::Result<Box<dyn Duplex>> {
    let mut roots = rustls::RootCertStore::empty();
    // Whom this machine trusts; a certificate that cannot be read is one less.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(io::Error::other(
            "this machine has no certificates that it trusts (ca-certificates, SSL_CERT_FILE)",
        ));
    }
    encrypted_for(host, stream, roots).await
}

/// Encrypts for whom one of these vouches.
#[cfg(feature = "net")]
async fn encrypted_for(
    host: &str,
    stream: TcpStream,
    roots: rustls::RootCertStore,
) -> io::Result<Box<dyn Duplex>> {
    use std::sync::Arc;

    use rustls::ClientConfig;
    use rustls::pki_types::ServerName;

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    Ok(Box::new(stream))
}

#[cfg(not(feature = "net"))]
#[expect(clippy::unused_async, reason = "the other build waits")]
async fn encrypted(_: &str, _: TcpStream) -> io::Result<Box<dyn Duplex>> {
    Err(io::Error::other("this clawgate was built without the network feature"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_back() {
        for (text, authority, target) in [
            ("https://api.anthropic.com", "api.anthropic.com", "/v1/messages"),
            ("http://127.0.0.1:8080/gate/", "127.0.0.1:8080", "/gate/v1/messages"),
            ("http://[::1]:9/v1", "[::1]:9", "/v1/messages"),
            ("https://host:80/a/v1", "host:80", "/a/v1/messages"),
        ] {
            let upstream: Upstream = text.parse().unwrap();
            assert_eq!(upstream.to_string(), text.trim_end_matches('/'));
            assert_eq!(
                (upstream.authority().as_str(), upstream.target("/v1/messages").as_str()),
                (authority, target)
            );
        }
        for wrong in
            ["api.anthropic.com", "ftp://x", "http://", "http://x:y", "http://a b", "http://x:99999", ""]
        {
            assert!(wrong.parse::<Upstream>().unwrap_err().starts_with("expected http://"), "{wrong}");
        }
        for secret in ["https://user:key@host", "https://host/?key=1"] {
            assert!(secret.parse::<Upstream>().unwrap_err().contains("no key"), "{secret}");
        }
    }

    #[cfg(feature = "net")]
    #[tokio::test]
    async fn what_is_said_over_tls_arrives_and_strangers_are_refused() {
        use std::io::{Read as _, Write as _};
        use std::sync::Arc;

        use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
        use rustls::{RootCertStore, ServerConfig, ServerConnection, Stream};
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        // A certificate of our own for localhost, and its key, which keeps nothing.
        let certificate =
            CertificateDer::from(include_bytes!("../../../../tests/data/tls/cert.der").as_slice());
        let key = PrivatePkcs8KeyDer::from(include_bytes!("../../../../tests/data/tls/key.der").as_slice());
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], PrivateKeyDer::Pkcs8(key))
            .unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serves = std::thread::spawn(move || {
            for trusted in [true, false] {
                let (mut tcp, _) = listener.accept().unwrap();
                let mut session = ServerConnection::new(Arc::new(config.clone())).unwrap();
                let mut stream = Stream::new(&mut session, &mut tcp);
                let mut asked = [0; 4];
                assert_eq!(stream.read_exact(&mut asked).is_ok(), trusted);
                // A stranger has left.
                _ = stream.write_all(b"pong").and_then(|()| stream.flush());
            }
        });
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        let mut remote = encrypted_for("localhost", stream, roots).await.unwrap();
        remote.write_all(b"ping").await.unwrap();
        let mut said = [0; 4];
        remote.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"pong");
        let stranger = TcpStream::connect(address).await.unwrap();
        assert!(encrypted_for("localhost", stranger, RootCertStore::empty()).await.is_err());
        serves.join().unwrap();
    }
}
