//! The table of the parameters in links that grant access.
//!
//! The table has two uses. Request hashes leave out the signature of a link, so [`signature`] is exact. Output
//! hides what may grant access, so [`grants_access`] covers more.

/// A way to sign links. All names are in lower case.
pub(super) struct Scheme {
    /// A link whose query has all of these is signed in this way.
    marks: &'static [&'static str],
    /// Parts of the signature that are never shown in any link.
    access: &'static [&'static str],
    /// Parts of the signature that state its terms. In other links they are ordinary words.
    terms: &'static [&'static str],
}

const SCHEMES: &[Scheme] = &[
    // AWS, signature 4.
    Scheme {
        marks: &["x-amz-signature"],
        access: &[
            "x-amz-algorithm",
            "x-amz-content-sha256",
            "x-amz-credential",
            "x-amz-date",
            "x-amz-expires",
            "x-amz-region-set",
            "x-amz-security-token",
            "x-amz-signature",
            "x-amz-signedheaders",
        ],
        terms: &[],
    },
    // AWS, signature 2.
    Scheme {
        marks: &["awsaccesskeyid", "expires", "signature"],
        access: &[
            "awsaccesskeyid",
            "expires",
            "signature",
            "x-amz-security-token",
        ],
        terms: &[],
    },
    // CloudFront, with a canned policy or one of its own.
    Scheme {
        marks: &["key-pair-id", "signature"],
        access: &["expires", "key-pair-id", "policy", "signature"],
        terms: &["hash-algorithm"],
    },
    // Google, signature 4.
    Scheme {
        marks: &["x-goog-signature"],
        access: &[
            "x-goog-algorithm",
            "x-goog-credential",
            "x-goog-date",
            "x-goog-expires",
            "x-goog-signature",
            "x-goog-signedheaders",
        ],
        terms: &[],
    },
    // Google, signature 2.
    Scheme {
        marks: &["expires", "googleaccessid", "signature"],
        access: &["expires", "googleaccessid", "signature"],
        terms: &[],
    },
    // Azure: a shared access signature.
    Scheme {
        marks: &["sig", "sv"],
        access: &["sig"],
        terms: &[
            "saoid", "sdd", "se", "ses", "si", "sip", "ske", "skoid", "sks", "skt", "sktid", "skv",
            "sp", "spr", "sr", "srt", "ss", "st", "suoid", "sv", "scid",
        ],
    },
    // Alibaba, signature 4.
    Scheme {
        marks: &["x-oss-signature"],
        access: &[
            "x-oss-additional-headers",
            "x-oss-credential",
            "x-oss-date",
            "x-oss-expires",
            "x-oss-security-token",
            "x-oss-signature",
            "x-oss-signature-version",
        ],
        terms: &[],
    },
    // Alibaba, signature 1.
    Scheme {
        marks: &["expires", "ossaccesskeyid", "signature"],
        access: &["expires", "ossaccesskeyid", "security-token", "signature"],
        terms: &[],
    },
    // Tencent.
    Scheme {
        marks: &["q-signature"],
        access: &[
            "q-ak",
            "q-header-list",
            "q-key-time",
            "q-sign-algorithm",
            "q-sign-time",
            "q-signature",
            "q-url-param-list",
            "x-cos-security-token",
        ],
        terms: &[],
    },
];

/// Names that grant access by themselves. In this list and those below, `-` and `_` are left out.
const CREDENTIALS: &[&str] = &[
    "accesskeyid",
    "appsecretproof",
    "auth",
    "authcode",
    "authkey",
    "authorization",
    "authtkt",
    "bearer",
    "code",
    "codeverifier",
    "connectsid",
    "credential",
    "credentials",
    "devicecode",
    "hdnea",
    "hdntl",
    "hdnts",
    "hm",
    "idtokenhint",
    "jsessionid",
    "key",
    "lsig",
    "otp",
    "pass",
    "passcode",
    "phpsessid",
    "pin",
    "pw",
    "pwd",
    "samlrequest",
    "samlresponse",
    "secretkeybase",
    "session",
    "sessionid",
    "sid",
    "sig2",
    "sign",
    "spsig",
    "subscriptionkey",
    "ticket",
    "upsig",
    "upt",
];

/// Names with these endings grant access.
const ENDINGS: &[&str] = &[
    "accesskey",
    "accountkey",
    "apikey",
    "appkey",
    "assertion",
    "consumerkey",
    "encryptionkey",
    "hmac",
    "jwt",
    "masterkey",
    "passkey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "serverkey",
    "signature",
    "signingkey",
];

/// Names with this ending grant access too, except those of `NO_TOKENS`.
const TOKEN: &str = "token";

/// Endings of names that count tokens or name a page.
const NO_TOKENS: &[&str] = &[
    "continuationtoken",
    "cursortoken",
    "maxtoken",
    "nexttoken",
    "pagetoken",
    "synctoken",
];

/// Names with these beginnings belong to a signature.
const FAMILIES: &[&str] = &["xamz", "xcos", "xgoog", "xobs", "xoss", "xtos"];

/// The parameters that form the signature of a link with these parameter names, in lower case.
pub(super) fn signature(names: &[String]) -> Vec<&'static str> {
    let has = |mark: &&str| names.iter().any(|name| name == mark);
    SCHEMES
        .iter()
        .filter(|scheme| scheme.marks.iter().all(&has))
        .flat_map(|scheme| scheme.access.iter().chain(scheme.terms))
        .copied()
        .collect()
}

/// Whether the value of a parameter with that name is never shown. Case, `-` and `_` are ignored.
pub(super) fn grants_access(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    let ends = |ending: &&str| name.ends_with(*ending);
    CREDENTIALS.contains(&name.as_str())
        || ENDINGS.iter().any(ends)
        || (ends(&TOKEN) && !NO_TOKENS.iter().any(ends))
        || FAMILIES.iter().any(|family| name.starts_with(family))
        || SCHEMES
            .iter()
            .flat_map(|scheme| scheme.access)
            .any(|known| known.bytes().filter(|byte| *byte != b'-').eq(name.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_signs_a_link_is_never_shown() {
        for scheme in SCHEMES {
            for known in scheme.access {
                assert!(grants_access(known), "{known}");
            }
            let names: Vec<String> = scheme.marks.iter().map(ToString::to_string).collect();
            let parts = signature(&names);
            assert!(scheme.marks.iter().all(|mark| parts.contains(mark)));
        }
    }

    #[test]
    fn a_name_is_known_however_it_is_spelt() {
        for name in [
            "key",
            "code",
            "private_token",
            "auth_key",
            "refresh_token",
            "x-api-key",
            "apiKey",
            "API_KEY",
            "client_secret",
            "oauth_signature",
            "q-ak",
            "Q-Sign-Time",
            "X-Amz-Foo",
            "id_token",
            "sig",
            "token",
            "aws_secret_access_key",
            "PassWord",
            "client_assertion",
            "id_token_hint",
            "SAMLResponse",
            "hmac",
            "hm",
            "sid",
            "pw",
            "AccountKey",
            "_upt",
            "auth_tkt",
        ] {
            assert!(grants_access(name), "{name}");
        }
        for name in [
            "max_token",
            "max_tokens",
            "page_token",
            "nextPageToken",
            "design",
            "keyword",
            "codec",
            "se",
            "sv",
            "v",
            "author",
            "sort_key",
            "postcode",
            "sessions",
            "spin",
            "width",
            "",
        ] {
            assert!(!grants_access(name), "{name}");
        }
    }
}
