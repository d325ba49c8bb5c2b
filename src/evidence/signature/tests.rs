//! Signatures beside OpenSSH's own.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::*;

/// Made by `ssh-keygen -t ed25519`, for these tests alone.
const KEY: &str = include_str!("tests/key");
const PUBLIC: &str = include_str!("tests/key.pub");
/// `printf %s 'head' | ssh-keygen -Y sign -n oneact-ledger -f key`, and the same for other purposes and by
/// another key.
const BY_OPENSSH: &str = include_str!("tests/by_openssh");
const FOR_GIT: &str = include_str!("tests/for_git");
const BY_ANOTHER: &str = include_str!("tests/by_another");
/// The key of a security key, and its signatures of `head` with the namespace oneact-approval: one with the flag of a
/// touch, one without. A script made them in place of a device, and `ssh-keygen -Y verify` accepts both.
const SECURITY_KEY: &str = include_str!("tests/security_key.pub");
const TOUCHED: &str = include_str!("tests/touched");
const UNTOUCHED: &str = include_str!("tests/untouched");

fn file(text: &str) -> (tempfile::TempDir, Utf8PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap().join("key");
    fs::write(&path, text).unwrap();
    // Otherwise, ssh-keygen ignores a private key.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    (dir, path)
}

fn signers(text: &str) -> Result<Vec<PublicKey>, KeyError> {
    let (_dir, path) = file(text);
    read_signers(&path)
}

fn signed(key: &str) -> Result<String, KeyError> {
    let (_dir, path) = file(key);
    sign(&path, "head")
}

/// Runs ssh-keygen with `input` on its stdin, and returns its stdout.
fn ssh_keygen(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new("ssh-keygen")
        .arg("-q")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The bytes between BEGIN and END.
fn bytes(armoured: &str) -> Vec<u8> {
    let lines = armoured.lines().filter(|line| !line.starts_with('-'));
    STANDARD.decode(lines.collect::<String>()).unwrap()
}

/// The bytes as text between BEGIN and END, in lines of that many characters.
fn armoured(bytes: &[u8], label: &str, width: usize) -> String {
    let text = STANDARD.encode(bytes).into_bytes();
    let lines = text.chunks(width).map(String::from_utf8_lossy);
    let lines = lines.collect::<Vec<_>>().join("\r\n");
    format!("-----BEGIN {label}-----\r\n{lines}\r\n-----END {label}-----")
}

#[test]
fn a_signature_is_byte_for_byte_the_one_openssh_makes() {
    // Ed25519 has no randomness: one key and one message have one signature.
    assert_eq!(signed(KEY).unwrap(), BY_OPENSSH);
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
fn openssh_accepts_our_signature_and_we_accept_those_that_it_makes_now() {
    let (dir, path) = file(KEY);
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (allowed, ours) = (at("allowed"), at("ours"));
    fs::write(&allowed, format!("alice {PUBLIC}")).unwrap();
    fs::write(&ours, sign(&path, "head").unwrap()).unwrap();
    let namespace = Purpose::Ledger.namespace();
    let verify = [
        "-Y", "verify", "-n", namespace, "-I", "alice", "-f", &allowed, "-s", &ours,
    ];
    ssh_keygen(&verify, "head");
    for (kind, is_accepted) in [("ed25519", true), ("ecdsa", false), ("rsa", false)] {
        let (made, namespace) = (at(kind), Purpose::Approval.namespace());
        ssh_keygen(&["-t", kind, "-N", "", "-f", &made], "");
        let theirs = ssh_keygen(&["-Y", "sign", "-n", namespace, "-f", &made], "head");
        let public = signers(&fs::read_to_string(format!("{made}.pub")).unwrap());
        let checked = |keys: &[PublicKey]| check(&theirs, "head", keys, Purpose::Approval);
        if is_accepted {
            let keys = public.unwrap();
            assert_eq!(checked(&keys).as_ref(), Ok(&keys[0]));
        } else {
            assert!(
                matches!(public, Err(KeyError::NoPublicKey { .. })),
                "{kind}"
            );
            assert_eq!(checked(&[]), Err(SignatureError::OtherType), "{kind}");
        }
    }
}

#[test]
fn a_signature_of_a_security_key_counts_if_the_key_was_touched() {
    let keys = signers(SECURITY_KEY).unwrap();
    let by = || keys[0].fingerprint();
    let checked = |signature, message| check(signature, message, &keys, Purpose::Approval);
    assert_eq!(checked(TOUCHED, "head").as_ref(), Ok(&keys[0]));
    assert_eq!(checked(TOUCHED, "heap"), Err(SignatureError::Wrong(by())));
    let untouched = Err(SignatureError::Untouched(by()));
    assert_eq!(checked(UNTOUCHED, "head"), untouched);
    // Whoever adds the flag changes what is signed.
    let mut changed = bytes(UNTOUCHED);
    let flags = changed.len() - 5;
    changed[flags] = 1;
    let changed = armoured(&changed, "SSH SIGNATURE", WIDTH);
    assert_eq!(checked(&changed, "head"), Err(SignatureError::Wrong(by())));
}

#[test]
fn lines_of_any_width_are_read() {
    let ours = signers(PUBLIC).unwrap();
    for width in [64, 76, 1000] {
        let signature = armoured(&bytes(BY_OPENSSH), "SSH SIGNATURE", width);
        assert!(check(&signature, "head", &ours, Purpose::Ledger).is_ok());
        let key = armoured(&bytes(KEY), "OPENSSH PRIVATE KEY", width);
        assert_eq!(signed(&key).unwrap(), BY_OPENSSH);
    }
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
        KEY,
    ] {
        assert_eq!(wrong(nonsense, "head"), SignatureError::Unreadable);
    }
}

#[test]
fn no_signature_with_another_content_is_believed() {
    let ours = signers(PUBLIC).unwrap();
    let (blob, content) = (bytes(BY_OPENSSH), SshSig::from_pem(BY_OPENSSH));
    for at in 0..blob.len() * 8 {
        let mut changed = blob.clone();
        changed[at / 8] ^= 1 << (at % 8);
        let text = armoured(&changed, "SSH SIGNATURE", WIDTH);
        // The crate reads past some lengths that are too great.
        let is_same = || SshSig::from_pem(&text) == content;
        assert!(
            check(&text, "head", &ours, Purpose::Ledger).is_err() || is_same(),
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
        // A key that stands in the comment of another key.
        format!("alice ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAABwCAAAAAAAE= {key}"),
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
fn a_signer_has_the_names_before_the_key() {
    let (_dir, path) = file(&format!("alice,bob@example.org {PUBLIC}{PUBLIC}"));
    let found = signers_for(&path, Purpose::Approval).unwrap();
    assert_eq!(found[0].names, ["alice", "bob@example.org"]);
    assert!(found[1].names.is_empty());
    // The comment of a key is no part of it.
    assert_eq!(found[0].key, signers(PUBLIC).unwrap()[0]);
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
    let why = |text| signed(text).unwrap_err();
    let encrypted = include_str!("tests/encrypted");
    assert!(matches!(why(encrypted), KeyError::Encrypted { .. }));
    assert!(matches!(
        why(include_str!("tests/ecdsa")),
        KeyError::OtherType { .. }
    ));
    assert!(matches!(why(PUBLIC), KeyError::NoPrivateKey { .. }));
    let cut: String = KEY.chars().filter(|c| *c != 'b').collect();
    assert!(matches!(why(&cut), KeyError::NoPrivateKey { .. }));
    let missing = Utf8Path::new("/nowhere/key");
    assert!(matches!(
        can_sign(missing),
        Err(KeyError::Unreadable { .. })
    ));
}

#[test]
fn the_public_half_is_in_the_private_key_or_beside_it() {
    let (_dir, path) = file(KEY);
    let ours = signers(PUBLIC).unwrap();
    assert_eq!(public_half(&path).unwrap(), ours);
    fs::write(&path, include_str!("tests/encrypted")).unwrap();
    assert!(public_half(&path).is_err());
    fs::write(public_file(&path), PUBLIC).unwrap();
    assert_eq!(public_half(&path).unwrap(), ours);
}
