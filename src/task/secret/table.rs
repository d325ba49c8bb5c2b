//! The table of the parameters in links that grant access.
//!
//! The table has two uses. Request hashes leave out the signature of a link, so [`signature`] is exact. Output
//! hides what may grant access, so [`grants_access`] covers more.

/// The ways to sign links: of AWS (signatures 4 and 2), `CloudFront`, Google (4 and 2), Azure, Alibaba (4 and 1) and
/// Tencent. A link whose query has all names before the colon is signed, and all names of the line that it has belong to
/// the signature. All names are in lower case.
const SCHEMES: &str = "
x-amz-signature: x-amz-algorithm x-amz-content-sha256 x-amz-credential x-amz-date x-amz-expires x-amz-region-set \
    x-amz-security-token x-amz-signedheaders
awsaccesskeyid expires signature: x-amz-security-token
key-pair-id signature: expires hash-algorithm policy
x-goog-signature: x-goog-algorithm x-goog-credential x-goog-date x-goog-expires x-goog-signedheaders
expires googleaccessid signature:
sig sv: saoid scid sdd se ses si sip ske skoid sks skt sktid skv sp spr sr srt ss st suoid
x-oss-signature: x-oss-additional-headers x-oss-credential x-oss-date x-oss-expires x-oss-security-token \
    x-oss-signature-version
expires ossaccesskeyid signature: security-token
q-signature: q-ak q-header-list q-key-time q-sign-algorithm q-sign-time q-url-param-list x-cos-security-token
";

/// The names that grant access, without `-` and `_`: `*` stands for any beginning or end.
const NAMES: &str = "\
    accesskeyid appsecretproof auth authcode authkey authorization authtkt awsaccesskeyid bearer code codeverifier \
    connectsid credential credentials devicecode expires googleaccessid hdnea hdntl hdnts hm idtokenhint jsessionid \
    key keypairid lsig ossaccesskeyid otp pass passcode phpsessid pin policy pw pwd qak qheaderlist qkeytime \
    qsignalgorithm qsigntime qurlparamlist samlrequest samlresponse secretkeybase session sessionid sid sig sig2 sign \
    spsig subscriptionkey ticket upsig upt \
    *accesskey *accountkey *apikey *appkey *assertion *consumerkey *encryptionkey *hmac *jwt *masterkey *passkey \
    *passphrase *passwd *password *privatekey *secret *secretkey *serverkey *signature *signingkey *token \
    xamz* xcos* xgoog* xobs* xoss* xtos*";

/// The names that end in `token` and grant no access: they count tokens or name a page.
const NO_TOKENS: &str =
    "*continuationtoken *cursortoken *maxtoken *nexttoken *pagetoken *synctoken";

/// Of each way to sign: the names that show it, and the other names.
fn schemes() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMES.lines().filter_map(|line| line.split_once(':'))
}

/// The parameters that form the signature of a link with these parameter names, in lower case.
pub(super) fn signature(names: &[String]) -> Vec<&'static str> {
    let has = |mark: &str| names.iter().any(|name| name == mark);
    let used = schemes().filter(|(marks, _)| marks.split(' ').all(has));
    let parts = used.flat_map(|(marks, others)| marks.split(' ').chain(others.split_whitespace()));
    parts.collect()
}

/// Whether the value of a parameter with that name is never shown. Case, `-` and `_` are ignored.
pub(super) fn grants_access(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    let fits = |known: &str| match (known.strip_prefix('*'), known.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(begin)) => name.starts_with(begin),
        _ => name == known,
    };
    NAMES.split(' ').any(fits) && !NO_TOKENS.split(' ').any(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_signs_a_link_is_never_shown() {
        for (marks, others) in schemes() {
            // Azure and CloudFront state the terms of a signature in parameters whose names are ordinary words.
            let terms =
                |part: &&str| marks == "sig sv" && *part != "sig" || *part == "hash-algorithm";
            let parts = marks.split(' ').chain(others.split_whitespace());
            for known in parts.filter(|part| !terms(part)) {
                assert!(grants_access(known), "{known}");
            }
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
