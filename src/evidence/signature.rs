//! Signatures with OpenSSH's Ed25519 keys, as `ssh-keygen -Y sign` makes them and `ssh-keygen -Y verify` checks them
//! (OpenSSH's PROTOCOL.sshsig). The crate `ssh-key` has the formats and the cryptography.

use std::io::Read as _;

use camino::{Utf8Path, Utf8PathBuf};
use ssh_key::{Algorithm, Error, HashAlg, LineEnding, PrivateKey, SshSig, public::KeyData};

use crate::{host, ledger::Sign};

/// The most bytes of a file of keys that are read.
const LONGEST: u64 = 1 << 20;

/// The types of keys whose signatures are checked. The second one is that of security keys (FIDO).
const TYPES: [&str; 2] = ["ssh-ed25519", "sk-ssh-ed25519@openssh.com"];

/// The length of the lines between BEGIN and END, in characters.
const WIDTH: usize = 70;

/// What a signature is for. A signature for one purpose is not valid for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The head of the ledger.
    Ledger,
    /// A person's decision about a request.
    Approval,
}

impl Purpose {
    /// The namespace, as `ssh-keygen -n` takes it.
    pub(crate) const fn namespace(self) -> &'static str {
        match self {
            Self::Ledger => "oneact-ledger",
            Self::Approval => "oneact-approval",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("the key {path} cannot be read: {why}")]
    Unreadable { path: Utf8PathBuf, why: String },
    #[error(
        "{path} is not an OpenSSH private key; `ssh-keygen -t ed25519 -N '' -f {path}` creates one"
    )]
    NoPrivateKey { path: Utf8PathBuf },
    #[error("the key {path} is encrypted, but oneact cannot ask for its passphrase")]
    Encrypted { path: Utf8PathBuf },
    #[error("{path} is not a key of the type ssh-ed25519; oneact signs only with this type")]
    OtherType { path: Utf8PathBuf },
    #[error(
        "{path} contains no public key of the type ssh-ed25519 or sk-ssh-ed25519@openssh.com that may sign in the namespace {namespace}; lines with other options are ignored"
    )]
    NoPublicKey {
        path: Utf8PathBuf,
        namespace: &'static str,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SignatureError {
    #[error("its signature cannot be read")]
    Unreadable,
    #[error("it is signed with a key that is neither ssh-ed25519 nor sk-ssh-ed25519@openssh.com")]
    OtherType,
    #[error("it is signed for another purpose (`{0}`)")]
    OtherPurpose(String),
    #[error("it is signed by {0}, which is not one of the accepted keys")]
    Stranger(String),
    #[error("its signature by {0} does not match: it was changed after it was signed")]
    Wrong(String),
    #[error("it is signed by {0} without a touch of this security key")]
    Untouched(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicKey(KeyData);

/// A key that may sign, and the names under which a file of allowed signers lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signer {
    pub(crate) key: PublicKey,
    pub(crate) names: Vec<String>,
}

impl PublicKey {
    /// As `ssh-keygen -l` shows it: `SHA256:…`.
    pub(crate) fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }
}

/// The keys that may sign, from a `.pub` file or an allowed-signers file (`man ssh-keygen`).
pub(crate) fn read_signers(path: &Utf8Path) -> Result<Vec<PublicKey>, KeyError> {
    let signers = signers_for(path, Purpose::Ledger)?.into_iter();
    Ok(signers.map(|signer| signer.key).collect())
}

/// The keys that may sign for that purpose, with their names.
pub(crate) fn signers_for(path: &Utf8Path, purpose: Purpose) -> Result<Vec<Signer>, KeyError> {
    let text = read_text(path)?;
    let signers = text.lines().filter_map(|line| signer(line, purpose));
    let signers: Vec<Signer> = signers.collect();
    if signers.is_empty() {
        return Err(KeyError::NoPublicKey {
            path: path.to_owned(),
            namespace: purpose.namespace(),
        });
    }
    Ok(signers)
}

fn read_text(path: &Utf8Path) -> Result<String, KeyError> {
    let mut text = String::new();
    let read = host::open_named(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    read.map_err(|error| KeyError::Unreadable {
        path: path.to_owned(),
        why: error.to_string(),
    })?;
    Ok(text)
}

/// Whether that private key can sign.
pub(crate) fn can_sign(path: &Utf8Path) -> Result<(), KeyError> {
    sign(path, "").map(drop)
}

/// The public half of a private key: from the private key, or from the file `.pub` beside it if the private key
/// cannot be read.
pub(crate) fn public_half(path: &Utf8Path) -> Result<Vec<PublicKey>, KeyError> {
    match private_key(path) {
        Ok(key) => Ok(vec![PublicKey(key.public_key().key_data().clone())]),
        Err(_) => read_signers(&public_file(path)),
    }
}

/// The file of the public half of a private key.
pub(crate) fn public_file(path: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{path}.pub"))
}

/// The key of a line `[principals [namespaces="…"]] TYPE BASE64 [comment]`. A line with other options does not count,
/// because they are not checked.
fn signer(line: &str, purpose: Purpose) -> Option<Signer> {
    let line = line.trim_start();
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| TYPES.contains(word))?;
    let ours = |option: &&str| {
        let names = option.strip_prefix("namespaces=\"");
        let names = names.and_then(|names| names.strip_suffix('"'));
        // A quotation mark within ends the names, and another option follows.
        let names = names.filter(|names| !names.contains('"'));
        names.is_some_and(|names| names.split(',').any(|name| name == purpose.namespace()))
    };
    let (before, key) = words.split_at(at);
    let (names, options) = before.split_first().unwrap_or((&"", &[]));
    // Negations are not evaluated.
    let negates = before.concat().contains('!');
    // ssh-keygen takes a byte order mark for a part of the first name.
    if line.starts_with(['#', '\u{feff}']) || negates || !options.iter().all(ours) {
        return None;
    }
    let key = ssh_key::PublicKey::from_openssh(&key.get(..2)?.join(" ")).ok()?;
    let names = names.trim_matches('"').split(',');
    let names = names.filter(|name| !name.is_empty());
    Some(Signer {
        key: PublicKey(key.into()),
        names: names.map(ToOwned::to_owned).collect(),
    })
}

/// An Ed25519 key without a passphrase.
fn private_key(path: &Utf8Path) -> Result<PrivateKey, KeyError> {
    let text = read_text(path)?;
    let path = path.to_owned();
    match rewrapped(&text).map(PrivateKey::from_openssh) {
        Some(Ok(key)) if key.is_encrypted() => Err(KeyError::Encrypted { path }),
        Some(Ok(key)) if key.algorithm() == Algorithm::Ed25519 => Ok(key),
        Some(Ok(_) | Err(Error::AlgorithmUnknown)) => Err(KeyError::OtherType { path }),
        _ => Err(KeyError::NoPrivateKey { path }),
    }
}

/// What signs the head of a ledger with the private key in that file.
pub(crate) fn signing(path: Utf8PathBuf) -> Sign {
    Box::new(move |head| sign(&path, head).map_err(|error| error.to_string()))
}

/// The armoured signature of a head, with the private key in that file: `-----BEGIN SSH SIGNATURE-----` and so on.
fn sign(path: &Utf8Path, head: &str) -> Result<String, KeyError> {
    let (key, namespace) = (private_key(path)?, Purpose::Ledger.namespace());
    let signature = key.sign(namespace, HashAlg::Sha512, head.as_bytes());
    let text = signature.and_then(|signature| signature.to_pem(LineEnding::LF));
    // The two halves of the key do not belong together.
    text.map_err(|_| KeyError::NoPrivateKey {
        path: path.to_owned(),
    })
}

/// The signer's key, if `signature` is one of `message` by one of the signers.
pub(crate) fn check(
    signature: &str,
    message: &str,
    signers: &[PublicKey],
    purpose: Purpose,
) -> Result<PublicKey, SignatureError> {
    let signature = match rewrapped(signature).map(SshSig::from_pem) {
        // The crate reads version 0, too.
        Some(Ok(signature)) if signature.version() == SshSig::VERSION => signature,
        Some(Err(Error::AlgorithmUnknown)) => return Err(SignatureError::OtherType),
        _ => return Err(SignatureError::Unreadable),
    };
    let key = PublicKey(signature.public_key().clone());
    if !TYPES.contains(&key.0.algorithm().as_str()) {
        return Err(SignatureError::OtherType);
    }
    let namespace = signature.namespace();
    if namespace != purpose.namespace() {
        return Err(SignatureError::OtherPurpose(namespace.to_owned()));
    }
    if !signers.contains(&key) {
        return Err(SignatureError::Stranger(key.fingerprint()));
    }
    // The last bytes of a security key's signature are the flags, and a counter of four bytes (OpenSSH's PROTOCOL.u2f).
    let flags = signature.signature_bytes().iter().nth_back(4);
    let is_touched = flags.is_some_and(|flags| flags & 1 == 1);
    let verifier = ssh_key::PublicKey::from(key.0.clone());
    match verifier.verify(namespace, message.as_bytes(), &signature) {
        // Any program of its user can let it sign without a touch.
        Ok(()) if key.0.is_sk_ed25519() && !is_touched => {
            Err(SignatureError::Untouched(key.fingerprint()))
        }
        Ok(()) => Ok(key),
        Err(_) => Err(SignatureError::Wrong(key.fingerprint())),
    }
}

/// The armoured text with lines of the one width that the crate reads. OpenSSH reads all widths, and other programs
/// write lines of 64 characters.
fn rewrapped(text: &str) -> Option<String> {
    let (_, text) = text.split_once("-----BEGIN ")?;
    let (label, text) = text.split_once("-----")?;
    let (text, _) = text.split_once("-----END ")?;
    let text: Vec<char> = text.split_whitespace().flat_map(str::chars).collect();
    let lines: Vec<String> = text.chunks(WIDTH).map(String::from_iter).collect();
    let lines = lines.join("\n");
    Some(format!(
        "-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"
    ))
}

/// For fuzzing: a message in the first line, and a signature in the others. Only the seed is signed by the accepted key.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzzed(bytes: &[u8]) {
    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO27dxL2wgEEtyo9Wzeo+Ydm6YxW99BFzVwIfVr3A4nm";
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (message, signature) = text.split_once('\n').unwrap_or_default();
    let accepted = signer(KEY, Purpose::Ledger).map(|signer| signer.key);
    assert!(accepted.is_some(), "the key is read");
    let signers = accepted.as_slice();
    if check(signature, message, signers, Purpose::Ledger).is_ok() {
        assert_eq!(message, "the head of a ledger");
    }
}

#[cfg(test)]
mod tests;
