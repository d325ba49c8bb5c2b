//! The table of the parameters in links that grant access.
//!
//! The table has two uses. Request hashes leave out the signature of a link, so [`signature`] is exact. Output
//! hides what may grant access, so [`grants_access`] covers more.

/// The ways to sign links. A link whose query has all of the first names is signed, and all of the second names that it
/// has belong to the signature. All names are in lower case.
const SCHEMES: &[(&str, &str)] = &[
    // AWS, signature 4.
    (
        "x-amz-signature",
        "x-amz-algorithm x-amz-content-sha256 x-amz-credential x-amz-date x-amz-expires x-amz-region-set \
         x-amz-security-token x-amz-signature x-amz-signedheaders",
    ),
    // AWS, signature 2.
    (
        "awsaccesskeyid expires signature",
        "awsaccesskeyid expires signature x-amz-security-token",
    ),
    // CloudFront, with a canned policy or one of its own.
    (
        "key-pair-id signature",
        "expires hash-algorithm key-pair-id policy signature",
    ),
    // Google, signature 4.
    (
        "x-goog-signature",
        "x-goog-algorithm x-goog-credential x-goog-date x-goog-expires x-goog-signature x-goog-signedheaders",
    ),
    // Google, signature 2.
    (
        "expires googleaccessid signature",
        "expires googleaccessid signature",
    ),
    // Azure: a shared access signature.
    (
        "sig sv",
        "saoid scid sdd se ses si sig sip ske skoid sks skt sktid skv sp spr sr srt ss st suoid sv",
    ),
    // Alibaba, signature 4.
    (
        "x-oss-signature",
        "x-oss-additional-headers x-oss-credential x-oss-date x-oss-expires x-oss-security-token x-oss-signature \
         x-oss-signature-version",
    ),
    // Alibaba, signature 1.
    (
        "expires ossaccesskeyid signature",
        "expires ossaccesskeyid security-token signature",
    ),
    // Tencent.
    (
        "q-signature",
        "q-ak q-header-list q-key-time q-sign-algorithm q-sign-time q-signature q-url-param-list \
         x-cos-security-token",
    ),
];

/// Names that grant access by themselves. In this list and those below, `-` and `_` are left out.
const CREDENTIALS: &str = "\
    accesskeyid appsecretproof auth authcode authkey authorization authtkt awsaccesskeyid bearer code codeverifier \
    connectsid credential credentials devicecode expires googleaccessid hdnea hdntl hdnts hm idtokenhint jsessionid \
    key keypairid lsig ossaccesskeyid otp pass passcode phpsessid pin policy pw pwd qak qheaderlist qkeytime \
    qsignalgorithm qsigntime qurlparamlist samlrequest samlresponse secretkeybase session sessionid sid sig sig2 sign \
    spsig subscriptionkey ticket upsig upt";

/// Names with these endings grant access.
const ENDINGS: &str = "\
    accesskey accountkey apikey appkey assertion consumerkey encryptionkey hmac jwt masterkey passkey passphrase passwd \
    password privatekey secret secretkey serverkey signature signingkey";

/// Endings of names that count tokens or name a page. Other names that end in `token` grant access.
const NO_TOKENS: &str = "continuationtoken cursortoken maxtoken nexttoken pagetoken synctoken";

/// Names with these beginnings belong to a signature.
const FAMILIES: &str = "xamz xcos xgoog xobs xoss xtos";

/// The parameters that form the signature of a link with these parameter names, in lower case.
pub(super) fn signature(names: &[String]) -> Vec<&'static str> {
    let has = |mark: &str| names.iter().any(|name| name == mark);
    let used = SCHEMES
        .iter()
        .filter(|(marks, _)| marks.split(' ').all(has));
    used.flat_map(|(_, parts)| parts.split(' ')).collect()
}

/// Whether the value of a parameter with that name is never shown. Case, `-` and `_` are ignored.
pub(super) fn grants_access(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    let ends_in = |endings: &str| endings.split(' ').any(|ending| name.ends_with(ending));
    CREDENTIALS.split(' ').any(|known| known == name)
        || ends_in(ENDINGS)
        || (name.ends_with("token") && !ends_in(NO_TOKENS))
        || FAMILIES.split(' ').any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_signs_a_link_is_never_shown() {
        for (marks, parts) in SCHEMES {
            // Azure and CloudFront state the terms of a signature in parameters whose names are ordinary words.
            let terms =
                |part: &&str| *marks == "sig sv" && *part != "sig" || *part == "hash-algorithm";
            for known in parts.split(' ').filter(|part| !terms(part)) {
                assert!(grants_access(known), "{known}");
            }
            let names: Vec<String> = marks.split(' ').map(str::to_owned).collect();
            let parts = signature(&names);
            assert!(names.iter().all(|mark| parts.contains(&mark.as_str())));
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
