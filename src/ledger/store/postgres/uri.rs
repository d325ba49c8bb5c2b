//! The URI of a database and the TLS that it asks for, as libpq documents them (PostgreSQL manual, 34.1.1 and
//! 34.19).

use std::{path::PathBuf, sync::Arc, time::Duration};

use percent_encoding::percent_decode_str;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{self, CryptoProvider},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};
use rustls_platform_verifier::Verifier;
use tokio_postgres::config::{Config, Host, SslMode, SslNegotiation};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::super::{StoreError, Trouble};
use crate::host;

const CONNECT: Duration = Duration::from_secs(5);
/// The directory of Debian's PostgreSQL sockets.
const SOCKETS: &str = "/var/run/postgresql";

/// A database and how it is reached.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) trust: Trust,
    /// The URI without the password, for people.
    pub(super) place: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trust {
    pub(super) check: Check,
    pub(super) roots: Roots,
    /// Whether TLS begins without PostgreSQL's own request for it.
    pub(super) direct: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing. The connection is encrypted, but the server is not authenticated.
    Nothing,
    Signer,
    SignerAndName,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// The roots of this machine.
    System,
    File(PathBuf),
}

impl Target {
    /// Reads `postgres://user:password@host:port/name?key=value&…`.
    pub(super) fn parse(uri: &str) -> Result<Self, StoreError> {
        if let Some(why) = unclear(uri) {
            return Err(Trouble::Unreachable.with("PostgreSQL", why));
        }
        let place = place(uri);
        let wrong = |why: String| Trouble::Unreachable.with(&place, why);
        if !["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| uri.starts_with(scheme))
        {
            return Err(wrong(
                "it is not a URI. Write postgres://user@host/name".to_owned(),
            ));
        }
        let (rest, ours) = split(uri);
        let mut config: Config = rest
            .parse()
            .map_err(|error| wrong(format!("its URI cannot be read: {}", words(&error))))?;
        let (mode, trust) =
            tls(&ours, config.get_ssl_negotiation()).map_err(|why| wrong(why.to_owned()))?;
        config.ssl_mode(mode);
        complete(&mut config);
        Ok(Self {
            config,
            trust,
            place,
        })
    }

    /// The time for the look-up, the connection and the login, at all of its hosts.
    pub(super) fn patience(&self) -> Duration {
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(1);
        let each = self.config.get_connect_timeout().copied();
        each.unwrap_or(CONNECT) * hosts.clamp(1, 10)
    }

    pub(super) fn unreachable(&self, why: String) -> StoreError {
        Trouble::Unreachable.with(&self.place, why)
    }
}

/// Why a URI could be read in two ways. Then a part of a password could be taken for a host.
fn unclear(uri: &str) -> Option<&'static str> {
    let (_, query) = uri.split_once('?')?;
    if query
        .rsplit_once('@')
        .is_some_and(|(before, _)| before.contains('='))
    {
        return Some(
            "its URI has an `@` behind a `?` and a `=`. Write `@`, `?` and `=` in values as %40, %3F and %3D",
        );
    }
    let mut keys = query.split('&').filter_map(|pair| pair.split('=').next());
    keys.any(|key| !query.contains('@') && key.contains('%'))
        .then_some("the name of a parameter of its URI contains a `%`. Write the name out")
}

/// Sets what the URI does not say.
fn complete(config: &mut Config) {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(35));
    }
    if config.get_keepalives_interval().is_none() && config.get_keepalives_retries().is_none() {
        config.keepalives_idle(Duration::from_secs(15));
        config.keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(4);
    }
    if config.get_application_name().is_none() {
        config.application_name("oneact");
    }
    if config.get_hosts().is_empty() {
        let addresses = config.get_hostaddrs().to_vec();
        for address in &addresses {
            config.host(address.to_string());
        }
        if addresses.is_empty() {
            let here = PathBuf::from(SOCKETS);
            config.host(if here.is_dir() { SOCKETS } else { "localhost" });
        }
    }
    // There is no TLS over a Unix socket.
    let here = |host: &Host| matches!(host, Host::Unix(_));
    if config.get_hosts().iter().all(here) {
        config.ssl_mode(SslMode::Disable);
    }
}

/// The keys that the library does not support, or only with fewer values.
#[derive(Debug, Default)]
struct Ours {
    mode: Option<String>,
    roots: Option<String>,
}

/// Takes these keys out of the URI.
fn split(uri: &str) -> (String, Ours) {
    let mut ours = Ours::default();
    // A password may contain a question mark.
    let from = uri.find('@').unwrap_or_default();
    let (head, tail) = uri.split_at_checked(from).unwrap_or((uri, ""));
    let Some((path, query)) = tail.split_once('?') else {
        return (uri.to_owned(), ours);
    };
    let mut kept = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = || Some(percent_decode_str(value).decode_utf8_lossy().into_owned());
        match key {
            "sslmode" => ours.mode = value(),
            "sslrootcert" => ours.roots = value(),
            _ => kept.push(pair),
        }
    }
    let mark = if kept.is_empty() { "" } else { "?" };
    (format!("{head}{path}{mark}{}", kept.join("&")), ours)
}

/// What `sslmode` and `sslrootcert` mean together.
fn tls(ours: &Ours, negotiation: SslNegotiation) -> Result<(SslMode, Trust), &'static str> {
    let roots = match ours.roots.as_deref() {
        None | Some("" | "system") => Roots::System,
        Some(path) => Roots::File(path.into()),
    };
    let system = ours.roots.as_deref() == Some("system");
    let filed = matches!(roots, Roots::File(_));
    let (mode, check) = match ours.mode.as_deref() {
        None if system => (SslMode::Require, Check::SignerAndName),
        Some(mode) if system && mode != "verify-full" => {
            return Err("`sslrootcert=system` requires `sslmode=verify-full`");
        }
        Some("disable") => (SslMode::Disable, Check::Nothing),
        None | Some("allow" | "prefer") => (SslMode::Prefer, Check::Nothing),
        Some("require") if filed => (SslMode::Require, Check::Signer),
        Some("require") => (SslMode::Require, Check::Nothing),
        Some("verify-ca") => (SslMode::Require, Check::Signer),
        Some("verify-full") => (SslMode::Require, Check::SignerAndName),
        Some(_) => {
            return Err(
                "its `sslmode` is not one of disable, allow, prefer, require, verify-ca and verify-full",
            );
        }
    };
    let direct = negotiation == SslNegotiation::Direct;
    Ok((
        mode,
        Trust {
            check,
            roots,
            direct,
        },
    ))
}

/// The URI without the password, and with only the keys that name the database. To reveal no secret, only the
/// user's name is kept of everything before the last `@`.
fn place(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else {
        return "PostgreSQL".to_owned();
    };
    let named = matches!(scheme, "postgres" | "postgresql");
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (user.split([':', '@', '/', '?']).next(), rest),
        None => (None, rest),
    };
    let user = user.filter(|user| !user.is_empty());
    let (at, query) = rest.split_once('?').unwrap_or((rest, ""));
    let told: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            ["host=", "hostaddr=", "port=", "dbname=", "user="]
                .iter()
                .any(|key| pair.starts_with(key))
        })
        .collect();
    format!(
        "{}://{}{at}{}{}",
        if named { scheme } else { "postgres" },
        user.map(|user| format!("{user}@")).unwrap_or_default(),
        if told.is_empty() { "" } else { "?" },
        told.join("&")
    )
}

fn words(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}

/// The TLS of a connection, or why there can be none.
pub(super) fn connector(trust: &Trust) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(crypto::ring::default_provider());
    let (inner, roots) = match (trust.check, &trust.roots) {
        (Check::Nothing, _) => (None, Vec::new()),
        (_, Roots::System) => {
            let system = Verifier::new(Arc::clone(&provider)).map_err(|error| {
                format!("the certificates that this machine trusts cannot be read: {error}")
            })?;
            (
                Some(Arc::new(system) as Arc<dyn ServerCertVerifier>),
                Vec::new(),
            )
        }
        (_, Roots::File(path)) => {
            let wrong = |why: String| format!("its `sslrootcert` {}: {why}", path.display());
            let pem = host::open_named(path).map_err(|error| wrong(error.to_string()))?;
            let roots: Vec<_> = CertificateDer::pem_reader_iter(pem)
                .collect::<Result<_, _>>()
                .map_err(|error| wrong(error.to_string()))?;
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(roots.iter().cloned());
            let filed =
                WebPkiServerVerifier::builder_with_provider(store.into(), Arc::clone(&provider))
                    .build()
                    .map_err(|error| wrong(error.to_string()))?;
            (Some(filed as Arc<dyn ServerCertVerifier>), roots)
        }
    };
    let judge = Judge {
        check: trust.check,
        inner,
        roots,
        provider: Arc::clone(&provider),
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(judge))
        .with_no_client_auth();
    if trust.direct {
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Ok(MakeRustlsConnect::new(config))
}

#[derive(Debug)]
struct Judge {
    check: Check,
    /// None if nothing is checked.
    inner: Option<Arc<dyn ServerCertVerifier>>,
    /// The certificates of the file, if there is one.
    roots: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else {
            return Ok(ServerCertVerified::assertion());
        };
        match inner.verify_server_cert(certificate, others, name, ocsp, now) {
            // The name is checked last, so the signer is trusted.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.check == Check::Signer => Ok(ServerCertVerified::assertion()),
            // The certificate is its own root, as `openssl req -x509` makes it, and the file contains it. Its
            // validity period was checked before.
            Err(Error::InvalidCertificate(CertificateError::Other(why)))
                if why.0.to_string().contains("CaUsedAsEndEntity")
                    && self.roots.iter().any(|root| root == certificate) =>
            {
                if self.check == Check::SignerAndName {
                    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
