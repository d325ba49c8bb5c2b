//! What looks like a secret.

use camino::Utf8Path;

use super::{Surroundings, looks_secret};

#[test]
fn what_looks_like_a_secret() {
    let around = Surroundings {
        root: Utf8Path::new(env!("CARGO_MANIFEST_DIR")),
        project: None,
        variable: &|_| None,
    };
    let looks = |name: &str, value: &str| looks_secret(name, value, &around);
    for (name, value) in [
        ("BRAVE_API_KEY", "BSAabc"),
        ("DB_PASSWORD", "x"),
        ("PASSWORD", "hunter2"),
        ("AUTH", "abc"),
        ("X", "sk-0123456789abcdefghij"),
        ("X", "0123456789abcdef0123456789abcdef"),
        ("X", "Zm9vYmFyYmF6cXV4MDEyMzQ1"),
        ("DATABASE_URL", "postgres://ann:hunter2@db/app"),
        ("AWS_SECRET_ACCESS_KEY", "/wJalrXUtnFEMI"),
        ("API_TOKEN", "-abc"),
        ("CLIENT_SECRET", "~abc8Q~x"),
        ("SESSION_TOKEN", ".eJabc"),
        ("AUTH", "{\"a\": 1}"),
        ("--token", "-abc"),
        ("--token", "./no-such-file"),
        ("TOKENS", "a,b"),
        ("SECRETS", "ab"),
        ("APIKEYS", "ab"),
        ("BEARER", "ab"),
        ("SMTP_PIN", "1234"),
        ("WEBHOOK_URL", "https://hooks.slack.com/services/T0/B0/abc"),
        ("HOOK", "https://example.org/Zm9vYmFyYmF6cXV4MDEyMzQ1"),
    ] {
        assert!(looks(name, value), "{name}={value}");
    }
    for (name, value) in [
        ("MAX_TOKENS", "4096"),
        ("MAX_TOKENS", "100000"),
        ("API_KEY_FILE", "/etc/key"),
        ("CREDENTIALS", "./Cargo.toml"),
        ("CREDENTIALS", "{root}/Cargo.toml"),
        ("--auth", "--port"),
        ("--key", "-v"),
        ("TOKEN_URL", "https://example.org/v1/oauth"),
        ("KEYBOARD", "us"),
        ("MEMORY_FILE_PATH", "/data/memory.jsonl"),
        ("BASE_URL", "https://example.org/v1"),
        ("NODE_ENV", "production"),
        ("AUTH", "false"),
        ("", "@modelcontextprotocol/server-everything@2026.8.31"),
        ("", "--local-timezone"),
    ] {
        assert!(!looks(name, value), "{name}={value}");
    }
}
