//! Which part of a link is a signature: a link that was signed anew leads to the same object.
//!
//! Nothing else is cut here: what this gives decides whether two requests are the same. What may be shown
//! is another question, and [`redact_presigned`](super::redact_presigned) answers it more carefully.

use std::borrow::Cow;

/// A way in which links are signed. Names in lower case.
struct Scheme {
    /// A link that has all of these in its query is signed so,
    marks: &'static [&'static str],
    /// and these are then parts of its signature.
    parts: &'static [&'static str],
}

const SCHEMES: [Scheme; 9] = [
    // AWS, signature 4.
    Scheme {
        marks: &["x-amz-signature"],
        parts: &[
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
    },
    // AWS, signature 2.
    Scheme {
        marks: &["awsaccesskeyid", "expires", "signature"],
        parts: &[
            "awsaccesskeyid",
            "expires",
            "signature",
            "x-amz-security-token",
        ],
    },
    // CloudFront, with a canned policy or one of its own.
    Scheme {
        marks: &["key-pair-id", "signature"],
        parts: &[
            "expires",
            "hash-algorithm",
            "key-pair-id",
            "policy",
            "signature",
        ],
    },
    // Google, signature 4.
    Scheme {
        marks: &["x-goog-signature"],
        parts: &[
            "x-goog-algorithm",
            "x-goog-credential",
            "x-goog-date",
            "x-goog-expires",
            "x-goog-signature",
            "x-goog-signedheaders",
        ],
    },
    // Google, signature 2.
    Scheme {
        marks: &["expires", "googleaccessid", "signature"],
        parts: &["expires", "googleaccessid", "signature"],
    },
    // Azure: a shared access signature.
    Scheme {
        marks: &["sig", "sv"],
        parts: &[
            "saoid", "sdd", "se", "ses", "si", "sig", "sip", "ske", "skoid", "sks", "skt", "sktid",
            "skv", "sp", "spr", "sr", "srt", "ss", "st", "suoid", "sv", "scid",
        ],
    },
    // Alibaba, signature 4.
    Scheme {
        marks: &["x-oss-signature"],
        parts: &[
            "x-oss-additional-headers",
            "x-oss-credential",
            "x-oss-date",
            "x-oss-expires",
            "x-oss-security-token",
            "x-oss-signature",
            "x-oss-signature-version",
        ],
    },
    // Alibaba, signature 1.
    Scheme {
        marks: &["expires", "ossaccesskeyid", "signature"],
        parts: &["expires", "ossaccesskeyid", "security-token", "signature"],
    },
    // Tencent.
    Scheme {
        marks: &["q-signature"],
        parts: &[
            "q-ak",
            "q-header-list",
            "q-key-time",
            "q-sign-algorithm",
            "q-sign-time",
            "q-signature",
            "q-url-param-list",
            "x-cos-security-token",
        ],
    },
];

/// The link without its signature. A text that is no link as a whole, or that is not signed, stays as it
/// is.
pub fn unsigned(text: &str) -> Cow<'_, str> {
    if !is_link(text) {
        return Cow::Borrowed(text);
    }
    let (rest, fragment) = match text.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment)),
        None => (text, None),
    };
    let Some((place, query)) = rest.split_once('?') else {
        return Cow::Borrowed(text);
    };
    let pairs: Vec<(String, &str)> = query.split('&').map(|pair| (name(pair), pair)).collect();
    let has = |mark: &&str| pairs.iter().any(|(name, _)| name == mark);
    let signed = SCHEMES
        .iter()
        .filter(|scheme| scheme.marks.iter().all(&has));
    let parts: Vec<&str> = signed.flat_map(|scheme| scheme.parts).copied().collect();
    if parts.is_empty() {
        return Cow::Borrowed(text);
    }
    let kept = pairs
        .iter()
        .filter(|(name, _)| !parts.contains(&name.as_str()));
    let kept: Vec<&str> = kept.map(|(_, pair)| *pair).collect();
    let mut link = place.to_owned();
    if !kept.is_empty() {
        link.push('?');
        link.push_str(&kept.join("&"));
    }
    if let Some(fragment) = fragment {
        link.push('#');
        link.push_str(fragment);
    }
    Cow::Owned(link)
}

fn is_link(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let web = scheme.is_some_and(|scheme| {
        ["http", "https"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    });
    web && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn name(pair: &str) -> String {
    let name = pair.split_once('=').map_or(pair, |(name, _)| name);
    name.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_signed_link_only_the_signature_goes() {
        for (signed, plain) in [
            (
                "https://b.s3.amazonaws.com/a.mp4?X-Amz-Date=20260101T000000Z&versionId=3&X-Amz-Signature=aa#t=1",
                "https://b.s3.amazonaws.com/a.mp4?versionId=3#t=1",
            ),
            (
                "https://b.s3.amazonaws.com/a?AWSAccessKeyId=A&Expires=1&Signature=x",
                "https://b.s3.amazonaws.com/a",
            ),
            (
                "HTTPS://d1.cloudfront.net/a?size=2&Expires=1&Signature=x&Key-Pair-Id=K",
                "HTTPS://d1.cloudfront.net/a?size=2",
            ),
            (
                "https://storage.googleapis.com/b/a?X-Goog-Credential=c&X-Goog-Signature=x&generation=5",
                "https://storage.googleapis.com/b/a?generation=5",
            ),
            (
                "https://x.blob.core.windows.net/c/a?sv=2024-11-04&se=2026&sr=b&sp=r&sig=x&snapshot=7",
                "https://x.blob.core.windows.net/c/a?snapshot=7",
            ),
            (
                "https://b.oss-cn-beijing.aliyuncs.com/a?x-oss-process=image/resize,w_1&x-oss-date=1&x-oss-signature=x",
                "https://b.oss-cn-beijing.aliyuncs.com/a?x-oss-process=image/resize,w_1",
            ),
        ] {
            assert_eq!(unsigned(signed), plain);
        }
    }

    #[test]
    fn what_only_looks_like_a_part_of_a_signature_stays() {
        for text in [
            "https://crm/api?policy=123",
            "https://crm/api?expires=1&signature=2",
            "https://crm/api?token=1&auth=2&sign=3",
            "https://crm/api?sp=1&st=2&se=3",
            "https://crm/api?X-Amz-Date=1",
            "see https://b/a?X-Amz-Signature=aa",
            "ssh://alice@h",
            "?X-Amz-Signature=aa",
            "https://crm/api",
        ] {
            assert_eq!(unsigned(text), text);
        }
    }
}
