//! Signatures beside OpenSSH's own.

use super::*;

/// Made by `ssh-keygen -t ed25519`, for these tests alone.
const KEY: &str = include_str!("tests/key");
const PUBLIC: &str = include_str!("tests/key.pub");
/// `printf %s 'head' | ssh-keygen -Y sign -n oneact-ledger -f key`, and the same for other purposes and by
/// another key.
const BY_OPENSSH: &str = include_str!("tests/by_openssh");
const FOR_GIT: &str = include_str!("tests/for_git");
const BY_ANOTHER: &str = include_str!("tests/by_another");

fn file(text: &str) -> (tempfile::TempDir, Utf8PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap().join("key");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

fn signers(text: &str) -> Result<Vec<PublicKey>, KeyError> {
    let (_dir, path) = file(text);
    read_signers(&path)
}

fn key(text: &str) -> Result<SigningKey, KeyError> {
    let (_dir, path) = file(text);
    SigningKey::read(&path)
}

#[test]
fn a_signature_is_byte_for_byte_the_one_openssh_makes() {
    // Ed25519 has no randomness: one key and one message have one signature.
    assert_eq!(key(KEY).unwrap().sign("head"), BY_OPENSSH);
}

#[test]
fn a_signature_of_openssh_is_believed_if_its_key_may_sign() {
    let ours = signers(PUBLIC).unwrap();
    assert_eq!(
        check(BY_OPENSSH, "head", &ours, Purpose::Ledger).as_ref(),
        Ok(&ours[0])
    );
}

#[test]
fn a_signature_of_another_message_purpose_or_key_is_not_believed() {
    let ours = signers(PUBLIC).unwrap();
    let wrong = |signature, message| check(signature, message, &ours, Purpose::Ledger).unwrap_err();
    assert!(matches!(
        wrong(BY_OPENSSH, "heap"),
        SignatureError::Wrong(_)
    ));
    let git = SignatureError::OtherPurpose("git".to_owned());
    assert_eq!(wrong(FOR_GIT, "head"), git);
    assert!(matches!(
        wrong(BY_ANOTHER, "head"),
        SignatureError::Stranger(_)
    ));
    for nonsense in [
        "",
        "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----",
    ] {
        assert_eq!(wrong(nonsense, "head"), SignatureError::Unreadable);
    }
}

#[test]
fn no_signature_with_one_bit_changed_is_believed() {
    let ours = signers(PUBLIC).unwrap();
    let blob = armoured(BY_OPENSSH, "SSH SIGNATURE").unwrap();
    for at in 0..blob.len() * 8 {
        let mut changed = blob.clone();
        changed[at / 8] ^= 1 << (at % 8);
        assert!(
            check(&armour(&changed), "head", &ours, Purpose::Ledger).is_err(),
            "bit {at}"
        );
    }
}

#[test]
fn signers_are_read_from_public_keys_and_from_allowed_signers() {
    let ours = signers(PUBLIC).unwrap();
    let key = PUBLIC.trim();
    for text in [
        format!("# who may\n\nalice@example.org {key}\n"),
        format!("alice namespaces=\"git,oneact-ledger\" {key}"),
    ] {
        assert_eq!(signers(&text).unwrap(), ours, "{text}");
    }
    for text in [
        format!("alice namespaces=\"git\" {key}"),
        format!("alice,!alice {key}"),
        format!("alice namespaces=\"oneact-ledger,!oneact-*\" {key}"),
        format!("alice cert-authority {key}"),
        format!("alice valid-before=\"20200101\" {key}"),
        format!("alice namespaces=\"oneact-ledger,git\",valid-before=\"20200101\" {key}"),
        format!("alice namespaces=\"git,oneact-ledger\",valid-after=\"20990101\",x=\"\" {key}"),
        format!("alice namespaces=\"git\",valid-before=\"20200101,oneact-ledger,x\" {key}"),
        format!("alice namespaces=\"oneact-ledger,git\",cert-authority,x=\"\" {key}"),
        format!("\u{feff}#alice {key}"),
        format!("# alice {key}"),
        format!("\t#alice {key}"),
        "ssh-ed25519 AAAA".to_owned(),
        "ssh-rsa AAAAB3NzaC1yc2E= alice".to_owned(),
        String::new(),
    ] {
        assert!(
            matches!(signers(&text), Err(KeyError::NoPublicKey { .. })),
            "{text}"
        );
    }
}

#[test]
fn a_fingerprint_is_the_one_ssh_keygen_shows() {
    let ours = signers(PUBLIC).unwrap();
    assert_eq!(
        ours[0].fingerprint(),
        include_str!("tests/fingerprint").trim()
    );
}

#[test]
fn a_key_that_cannot_be_used_says_why() {
    let why = |text| key(text).err().unwrap();
    let encrypted = include_str!("tests/encrypted");
    assert!(matches!(why(encrypted), KeyError::Encrypted { .. }));
    assert!(matches!(
        why(include_str!("tests/ecdsa")),
        KeyError::OtherKind { .. }
    ));
    assert!(matches!(why(PUBLIC), KeyError::NoPrivateKey { .. }));
    let cut: String = KEY.chars().filter(|c| *c != 'b').collect();
    assert!(matches!(
        why(&cut),
        KeyError::NoPrivateKey { .. } | KeyError::OtherKind { .. } | KeyError::Encrypted { .. }
    ));
}
