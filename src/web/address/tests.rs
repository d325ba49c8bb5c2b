//! Addresses in every spelling, and what the policy says of them.

use super::*;

fn admitted(policy: Policy, address: &str) -> bool {
    policy.admit("host", address.parse().unwrap()).is_ok()
}

#[test]
fn public_addresses_are_let_through() {
    for address in [
        "1.1.1.1",
        "172.32.0.1",
        "100.128.0.1",
        "2606:4700::1111",
        "64:ff9b::101:101",
    ] {
        assert!(admitted(Policy::PublicOnly, address), "{address}");
    }
}

#[test]
fn private_addresses_are_refused_unless_allowed_in_every_spelling() {
    let private = [
        "127.0.0.1",
        "127.9.9.9",
        "::1",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "fc00::1",
        "fd12::1",
        "0.0.0.0",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:c0a8:101::1",
        "::10.0.0.1",
        "::ffff:0:10.0.0.1",
        "::ffff:0:127.0.0.1",
        "2600::5efe:10.0.0.1",
        "2600::200:5efe:127.0.0.1",
    ];
    for address in private {
        assert!(!admitted(Policy::PublicOnly, address), "{address}");
        assert!(admitted(Policy::PrivateToo, address), "{address}");
    }
}

#[test]
fn link_local_metadata_multicast_and_reserved_addresses_are_always_refused() {
    let never = [
        "169.254.169.254",
        "169.254.0.1",
        "fe80::1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "fd00:ec2::254",
        "100.100.100.200",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "240.0.0.1",
        "168.63.129.16",
        "::ffff:168.63.129.16",
        "100.96.0.96",
        "192.0.0.192",
        "::ffff:0:169.254.169.254",
        "64:ff9b::168.63.129.16",
        "64:ff9b:1::1",
        "64:ff9b:1:ffff::10.0.0.1",
        "2002:a9fe:a9fe::1",
        "2600::5efe:169.254.169.254",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:0:1:2:0:5efe:8.8.8.8",
        "2001:db8::1",
        "3fff:fff::1",
        "100::1",
        "5f00::1",
        "4000::1",
        "fd00:ec2::23",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
    ];
    for address in never {
        assert!(!admitted(Policy::PublicOnly, address), "{address}");
        assert!(!admitted(Policy::PrivateToo, address), "{address}");
    }
}

#[test]
fn a_refusal_says_what_why_and_which_setting_allows_it() {
    let text = Policy::PublicOnly
        .admit("db.local", "10.1.2.3".parse().unwrap())
        .unwrap_err()
        .to_string();
    for part in [
        "db.local",
        "10.1.2.3",
        "private or shared address",
        "allow_private = true",
        "[server.",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = Policy::PrivateToo
        .admit("h", "169.254.169.254".parse().unwrap())
        .unwrap_err()
        .to_string();
    assert!(text.contains("no setting allows it"), "{text}");
}

#[test]
fn a_name_tells_where_nobody_here_looks_it_up() {
    let judge = |policy: Policy, host: &str| {
        let url = Url::parse(&format!("http://{host}/")).unwrap();
        policy.admit_unresolved(&url).is_ok()
    };
    for (host, public_only, private_too) in [
        ("example.com", true, true),
        ("notinternal.example", true, true),
        ("localhost", false, true),
        ("LOCALHOST.", false, true),
        ("a.localhost", false, true),
        ("db", false, true),
        ("vault.internal", false, true),
        ("printer.local.", false, true),
        ("nas.home.arpa", false, true),
        ("metadata.google.internal", false, false),
        ("Metadata.Google.Internal.", false, false),
        ("metadata", false, false),
    ] {
        assert_eq!(judge(Policy::PublicOnly, host), public_only, "{host}");
        assert_eq!(judge(Policy::PrivateToo, host), private_too, "{host}");
    }
}
