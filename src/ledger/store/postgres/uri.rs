//! The URI of a database as tokio-postgres reads it, and the TLS that it asks for.

use std::{error::Error as StdError, path::PathBuf, sync::Arc, time::Duration};

use percent_encoding::percent_decode_str;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{WebPkiServerVerifier, danger, verify_server_name},
    crypto::{self, WebPkiSupportedAlgorithms},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use rustls_platform_verifier::Verifier;
use tokio_postgres::config::{Config, Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::super::error::{StoreError, Trouble};
use crate::host;

/// The parameters that a URI can replace, in s. A vanished machine is noticed within a minute.
const DEFAULTS: &str = "connect_timeout=5&tcp_user_timeout=35&keepalives_idle=15\
    &keepalives_interval=5&keepalives_retries=4&application_name=oneact";
/// The directory of Debian's PostgreSQL sockets.
const SOCKETS: &str = "/var/run/postgresql";

/// A database and how it is reached.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) config: Config,
    /// The file of the certificates that are believed, or `system` for those that this machine
    /// trusts. None: the server is not authenticated.
    pub(super) roots: Option<String>,
    /// Its name for people and for answers that wait to be recorded, without the password.
    pub(super) place: String,
}

impl Target {
    /// Reads `postgres://user:password@host:port/name?key=value&…`. An error repeats no part of it
    /// that could be a part of the password.
    pub(super) fn parse(uri: &str) -> Result<Self, StoreError> {
        let wrong = |why: &str| Trouble::Unreachable.with("PostgreSQL", format!("its URI: {why}"));
        // A part of a password could be taken for a host, which later messages show.
        let (before, _) = uri.rsplit_once('@').unwrap_or_default();
        if before.contains(['@', '?']) {
            return Err(wrong("write @ in a password or value as %40, and ? as %3F"));
        }
        let (address, query) = uri.split_once('?').unwrap_or((uri, ""));
        let (mut mode, mut roots) = (None, None);
        let mut rest = format!("{address}?{DEFAULTS}");
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match percent_decode_str(pair).decode_utf8_lossy().split_once('=') {
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                Some(("sslrootcert", value)) => roots = Some(value.to_owned()),
                _ => rest.extend(["&", pair]),
            }
        }
        let (mode, roots) = match (mode.as_deref(), roots) {
            (None, None) => Ok((SslMode::Prefer, None)),
            (Some("disable"), None) => Ok((SslMode::Disable, None)),
            (Some("require"), None) => Ok((SslMode::Require, None)),
            (Some("verify-full"), roots) => Ok((SslMode::Require, roots.or(Some("system".into())))),
            (_, Some(_)) => Err("`sslrootcert` requires `sslmode=verify-full`"),
            (_, None) => Err("`sslmode` must be disable, require, verify-full or absent"),
        }
        .map_err(wrong)?;
        let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            let cause = error.into_source().map(|cause| cause.to_string());
            // The name of an unknown parameter can be what follows a `&` in a password.
            let known = cause.filter(|cause| cause.starts_with("invalid "));
            let unknown = "a parameter is unknown, or a `&` in a value is not written as %26";
            wrong(known.as_deref().unwrap_or(unknown))
        })?;
        if config.get_hosts().is_empty() {
            for address in config.get_hostaddrs().to_vec() {
                config.host(address.to_string());
            }
        }
        if config.get_hosts().is_empty() {
            let is_debian = PathBuf::from(SOCKETS).is_dir();
            config.host(if is_debian { SOCKETS } else { "localhost" });
        }
        // There is no TLS over a Unix socket.
        let is_socket = |host: &Host| matches!(host, Host::Unix(_));
        let is_local =
            config.get_hosts().iter().all(is_socket) && config.get_hostaddrs().is_empty();
        config.ssl_mode(if is_local { SslMode::Disable } else { mode });
        Ok(Self {
            place: place(&config),
            config,
            roots,
        })
    }

    /// The time for the look-up, the connection and the login, at all of its hosts.
    pub(super) fn patience(&self) -> Duration {
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(1);
        let each = self.config.get_connect_timeout().copied();
        each.unwrap_or_default().saturating_mul(hosts.clamp(1, 10))
    }

    pub(super) fn unreachable(&self, why: String) -> StoreError {
        Trouble::Unreachable.with(&self.place, why)
    }
}

/// The hosts, ports and the name of the database.
fn place(config: &Config) -> String {
    let ports = config.get_ports();
    // A database without a name is that of the user.
    let name = config.get_dbname().or(config.get_user()).unwrap_or("");
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let port = ports.get(at).or(ports.first()).unwrap_or(&5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(dir) => format!("{}:{port}", dir.to_string_lossy().replace('/', "%2F")),
        }
    });
    format!("postgres://{}/{name}", hosts.collect::<Vec<_>>().join(","))
}

/// The TLS of a connection whose server has a certificate of these roots.
pub(super) fn connector(roots: Option<&str>) -> Result<MakeRustlsConnect, Box<dyn StdError>> {
    let provider = Arc::new(crypto::ring::default_provider());
    let known = provider.signature_verification_algorithms;
    let mut file = Vec::new();
    let inner: Option<Arc<dyn danger::ServerCertVerifier>> = match roots {
        None => None,
        Some("system") => Some(Arc::new(Verifier::new(Arc::clone(&provider))?)),
        Some(path) => {
            let pem = host::open_named(path)?;
            file = CertificateDer::pem_reader_iter(pem).collect::<Result<_, _>>()?;
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(file.iter().cloned());
            let provider = Arc::clone(&provider);
            Some(WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build()?)
        }
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Judge { inner, file, known }))
        .with_no_client_auth();
    // `sslnegotiation=direct` needs it.
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(MakeRustlsConnect::new(config))
}

#[derive(Debug)]
struct Judge {
    /// None if everybody is believed.
    inner: Option<Arc<dyn danger::ServerCertVerifier>>,
    /// The certificates of the file, if there is one.
    file: Vec<CertificateDer<'static>>,
    known: WebPkiSupportedAlgorithms,
}

impl danger::ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<danger::ServerCertVerified, Error> {
        let Some(inner) = &self.inner else {
            return Ok(danger::ServerCertVerified::assertion());
        };
        let is_named = self.file.iter().any(|root| root == certificate);
        match inner.verify_server_cert(certificate, others, name, ocsp, now) {
            // The certificate is its own root, as `openssl req -x509` makes it. Its validity period
            // was checked before.
            Err(error) if is_named && error.to_string().contains("CaUsedAsEndEntity") => {
                verify_server_name(&certificate.try_into()?, name)?;
                Ok(danger::ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<danger::HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(message, certificate, signed, &self.known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<danger::HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, certificate, signed, &self.known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.known.supported_schemes()
    }
}
