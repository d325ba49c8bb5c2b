//! TLS as `sslmode` wants it.

use std::{fs, sync::Arc};

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
use tokio_postgres_rustls::MakeRustlsConnect;

use super::uri::{Check, Roots, Trust};

/// What begins TLS; answers why it cannot.
pub(super) fn connector(trust: &Trust) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(crypto::ring::default_provider());
    let (inner, roots) = match (trust.check, &trust.roots) {
        (Check::Nothing, _) => (None, Vec::new()),
        (_, Roots::System) => {
            let system = Verifier::new(Arc::clone(&provider))
                .map_err(|error| format!("whom this machine believes is not known: {error}"))?;
            (
                Some(Arc::new(system) as Arc<dyn ServerCertVerifier>),
                Vec::new(),
            )
        }
        (_, Roots::File(path)) => {
            let wrong = |why: String| format!("its `sslrootcert` {}: {why}", path.display());
            let pem = fs::read(path).map_err(|error| wrong(error.to_string()))?;
            let roots: Vec<_> = CertificateDer::pem_slice_iter(&pem)
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

/// Who says whether a certificate will do.
#[derive(Debug)]
struct Judge {
    check: Check,
    /// None where nothing is checked.
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
            // The name is looked at last: the signer is a good one.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.check == Check::Signer => Ok(ServerCertVerified::assertion()),
            // A certificate that is its own root, as `openssl req -x509` makes it: the very one that the
            // file names. Its time has been looked at before.
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
