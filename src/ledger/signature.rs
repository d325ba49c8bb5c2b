//! Signatures with OpenSSH's Ed25519 keys, as `ssh-keygen -Y sign` makes them and can check them (OpenSSH's
//! PROTOCOL.sshsig and PROTOCOL.key).

use std::io::Read as _;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use camino::{Utf8Path, Utf8PathBuf};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use sha2::{Digest as _, Sha256, Sha512};

use crate::host;

/// The most bytes of a file of keys that are read.
const LONGEST: u64 = 1 << 20;

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

const KIND: &str = "ssh-ed25519";
const PRIVATE_MAGIC: &[u8] = b"openssh-key-v1\0";
const SIGNATURE_MAGIC: &[u8] = b"SSHSIG";
const SIGNATURE_VERSION: u32 = 1;
const HASH: &str = "sha512";
/// The width of the lines between BEGIN and END.
const WIDTH: usize = 70;

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
    #[error("{path} is not an Ed25519 key; oneact uses only Ed25519 keys")]
    OtherKind { path: Utf8PathBuf },
    #[error(
        "{path} contains no Ed25519 public key that may sign in the namespace {namespace}; lines with other options are ignored"
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
    #[error("it is signed for another purpose (`{0}`)")]
    OtherPurpose(String),
    #[error("it is signed by {0}, which is not one of the accepted keys")]
    Stranger(String),
    #[error("its signature by {0} does not match: it was changed after it was signed")]
    Wrong(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicKey([u8; 32]);

/// A key that may sign, and the names under which a file of allowed signers lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signer {
    pub(crate) key: PublicKey,
    pub(crate) names: Vec<String>,
}

pub(super) struct SigningKey(Ed25519KeyPair);

impl PublicKey {
    /// As `ssh-keygen -l` shows it: `SHA256:…`.
    pub(crate) fn fingerprint(&self) -> String {
        let hash = Sha256::digest(self.blob());
        format!("SHA256:{}", STANDARD_NO_PAD.encode(hash))
    }

    fn blob(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        put(&mut blob, KIND.as_bytes());
        put(&mut blob, &self.0);
        blob
    }

    fn read(blob: &[u8]) -> Option<Self> {
        let mut wire = Wire(blob);
        let kind = wire.text()?;
        let key = wire.text()?;
        let right = kind == KIND.as_bytes() && wire.0.is_empty();
        right.then(|| key.try_into().ok().map(Self)).flatten()
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
    SigningKey::read(path).map(drop)
}

/// The public half of a private key: from the private key, or from the file `.pub` beside it if the private key
/// cannot be read.
pub(crate) fn public_half(path: &Utf8Path) -> Result<Vec<PublicKey>, KeyError> {
    match SigningKey::read(path) {
        Ok(key) => Ok(vec![key.public()]),
        Err(_) => read_signers(&public_file(path)),
    }
}

/// The file of the public half of a private key.
pub(crate) fn public_file(path: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{path}.pub"))
}

/// The key of a line `[principals [namespaces="…"]] ssh-ed25519 BASE64 [comment]`. A line with other options does
/// not count, because they are not checked.
fn signer(line: &str, purpose: Purpose) -> Option<Signer> {
    let line = line.trim_start();
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == KIND)?;
    let ours = |option: &&str| {
        let names = option.strip_prefix("namespaces=\"");
        let names = names.and_then(|names| names.strip_suffix('"'));
        // A quotation mark within ends the names, and another option follows.
        let names = names.filter(|names| !names.contains('"'));
        names.is_some_and(|names| names.split(',').any(|name| name == purpose.namespace()))
    };
    let options = words.get(1..at).unwrap_or_default();
    // Negations are not evaluated.
    let negates = words.get(..at).unwrap_or_default().concat().contains('!');
    // ssh-keygen takes a byte order mark for a part of the first name.
    if line.starts_with(['#', '\u{feff}']) || negates || !options.iter().all(ours) {
        return None;
    }
    let key = PublicKey::read(&STANDARD.decode(words.get(at + 1)?).ok()?)?;
    let names = match at {
        0 => "",
        _ => words.first().copied().unwrap_or_default(),
    };
    let names = names
        .trim_matches('"')
        .split(',')
        .filter(|name| !name.is_empty());
    Some(Signer {
        key,
        names: names.map(ToOwned::to_owned).collect(),
    })
}

impl SigningKey {
    pub(super) fn read(path: &Utf8Path) -> Result<Self, KeyError> {
        let owned = || path.to_owned();
        let text = read_text(path)?;
        let none = || KeyError::NoPrivateKey { path: owned() };
        let bytes = armoured(&text, "OPENSSH PRIVATE KEY").ok_or_else(none)?;
        let mut wire = Wire(bytes.strip_prefix(PRIVATE_MAGIC).ok_or_else(none)?);
        let cipher = wire.text().ok_or_else(none)?;
        if cipher != b"none" {
            return Err(KeyError::Encrypted { path: owned() });
        }
        let (_kdf, _options) = (wire.text(), wire.text());
        let (_keys, _public) = (wire.number(), wire.text());
        let mut secret = Wire(wire.text().ok_or_else(none)?);
        let (_check, _again) = (secret.number(), secret.number());
        if secret.text() != Some(KIND.as_bytes()) {
            return Err(KeyError::OtherKind { path: owned() });
        }
        let public = secret.text().ok_or_else(none)?;
        let seed = secret.text().and_then(|key| key.get(..32));
        let pair = Ed25519KeyPair::from_seed_and_public_key(seed.ok_or_else(none)?, public);
        pair.map(Self).map_err(|_| none())
    }

    fn public(&self) -> PublicKey {
        PublicKey(self.0.public_key().as_ref().try_into().unwrap_or_default())
    }

    /// The armoured signature of a message: `-----BEGIN SSH SIGNATURE-----` and so on.
    pub(super) fn sign(&self, message: &str) -> String {
        let mut signature = Vec::new();
        put(&mut signature, KIND.as_bytes());
        put(
            &mut signature,
            self.0
                .sign(&to_be_signed(message, Purpose::Ledger))
                .as_ref(),
        );
        let mut blob = SIGNATURE_MAGIC.to_vec();
        blob.extend(SIGNATURE_VERSION.to_be_bytes());
        for part in [
            &self.public().blob(),
            Purpose::Ledger.namespace().as_bytes(),
            b"",
            HASH.as_bytes(),
            &signature,
        ] {
            put(&mut blob, part);
        }
        armour(&blob)
    }
}

/// The signer's key, if `signature` is one of `message` by one of the signers.
pub(super) fn check(
    signature: &str,
    message: &str,
    signers: &[PublicKey],
    purpose: Purpose,
) -> Result<PublicKey, SignatureError> {
    let blob = armoured(signature, "SSH SIGNATURE").ok_or(SignatureError::Unreadable)?;
    let (key, namespace, bytes) = read(&blob).ok_or(SignatureError::Unreadable)?;
    if namespace != purpose.namespace().as_bytes() {
        let other = String::from_utf8_lossy(&namespace).into_owned();
        return Err(SignatureError::OtherPurpose(other));
    }
    if !signers.contains(&key) {
        return Err(SignatureError::Stranger(key.fingerprint()));
    }
    match UnparsedPublicKey::new(&ED25519, key.0).verify(&to_be_signed(message, purpose), &bytes) {
        Ok(()) => Ok(key),
        Err(_) => Err(SignatureError::Wrong(key.fingerprint())),
    }
}

/// The key, the namespace and the signature in a blob.
fn read(blob: &[u8]) -> Option<(PublicKey, Vec<u8>, Vec<u8>)> {
    let mut wire = Wire(blob.strip_prefix(SIGNATURE_MAGIC)?);
    let version = wire.number()?;
    let key = PublicKey::read(wire.text()?)?;
    let namespace = wire.text()?.to_vec();
    let reserved = wire.text()?;
    let hash = wire.text()?;
    let mut signature = Wire(wire.text()?);
    let kind = signature.text()?;
    let bytes = signature.text()?.to_vec();
    let right = version == SIGNATURE_VERSION
        && reserved.is_empty()
        && hash == HASH.as_bytes()
        && kind == KIND.as_bytes();
    right.then_some((key, namespace, bytes))
}

fn to_be_signed(message: &str, purpose: Purpose) -> Vec<u8> {
    let mut data = SIGNATURE_MAGIC.to_vec();
    for part in [purpose.namespace().as_bytes(), b"", HASH.as_bytes()] {
        put(&mut data, part);
    }
    put(&mut data, &Sha512::digest(message));
    data
}

fn armour(blob: &[u8]) -> String {
    let mut text = STANDARD.encode(blob);
    // The order is from the last break to the first, so that each position is still right.
    for at in (WIDTH..text.len()).step_by(WIDTH).rev() {
        text.insert(at, '\n');
    }
    format!("-----BEGIN SSH SIGNATURE-----\n{text}\n-----END SSH SIGNATURE-----\n")
}

/// The bytes between BEGIN and END.
fn armoured(text: &str, label: &str) -> Option<Vec<u8>> {
    let begin = format!("-----BEGIN {label}-----");
    let end = format!("-----END {label}-----");
    let (_, text) = text.split_once(&begin)?;
    let (text, _) = text.split_once(&end)?;
    let text: String = text.split_whitespace().collect();
    STANDARD.decode(text).ok()
}

/// Adds a string as SSH writes it: the length in four bytes, then the bytes (RFC 4251, section 5).
fn put(to: &mut Vec<u8>, part: &[u8]) {
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    to.extend(length.to_be_bytes());
    to.extend(part);
}

/// The unread rest of data in SSH's wire format.
struct Wire<'a>(&'a [u8]);

impl<'a> Wire<'a> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }
}

#[cfg(test)]
mod tests;
