//! The one rule for what of a URL is a secret: the user information before the host, and the
//! values of query parameters that grant access (invariant 7).
//!
//! Works on any text, also where URLs stand in JSON, in HTML or percent-encoded inside another
//! URL. When in doubt it cuts more.

use std::{borrow::Cow, ops::Range};

/// Query parameters whose value grants access: AWS signatures 2 and 4, Google, Azure, Alibaba,
/// `CloudFront`, and plain tokens. Compared without regard to case.
const SECRET: &[&str] = &[
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-security-token",
    "x-goog-signature",
    "x-goog-credential",
    "x-oss-signature",
    "x-oss-credential",
    "signature",
    "awsaccesskeyid",
    "googleaccessid",
    "ossaccesskeyid",
    "security-token",
    "key-pair-id",
    "sig",
    "token",
    "access_token",
    "api_key",
    "apikey",
];

/// What stands where a secret stood.
const CUT: &str = "***";

/// The text with `user:password@` and the values of presign parameters replaced by `***`;
/// borrowed where there is nothing to cut. Applying it twice changes nothing more.
pub fn redact_presigned(text: &str) -> Cow<'_, str> {
    let mut cuts: Vec<Range<usize>> = user_information(text).chain(secret_values(text)).collect();
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    cuts.sort_by_key(|cut| cut.start);
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        // A cut that begins inside the one before belongs to it.
        if let Some(kept) = text.get(from..cut.start) {
            shown.push_str(kept);
            shown.push_str(CUT);
        }
        from = from.max(cut.end);
    }
    shown.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(shown)
}

/// `user:password` between `://` and the last `@` of the authority.
fn user_information(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("://").filter_map(|(at, mark)| {
        let start = at + mark.len();
        let rest = text.get(start..)?;
        let authority = rest
            .split(|c: char| ends_url(c) || matches!(c, '/' | '?' | '#' | '\\'))
            .next()?;
        let length = authority.rfind('@')?;
        (length > 0).then_some(start..start + length)
    })
}

/// The value after each `=` (also `%3D`, of a URL inside a URL) that a secret name stands before.
fn secret_values(text: &str) -> impl Iterator<Item = Range<usize>> {
    let equals = ["=", "%3D", "%3d"];
    equals
        .into_iter()
        .flat_map(move |equal| text.match_indices(equal))
        .filter_map(|(at, mark)| {
            if !names_secret(text.get(..at)?) {
                return None;
            }
            let start = at + mark.len();
            let length = value_length(text.get(start..)?);
            (length > 0).then_some(start..start + length)
        })
}

/// Whether `before` ends in a secret name with the start of a query parameter before it.
fn names_secret(before: &str) -> bool {
    SECRET.iter().any(|name| {
        let Some(start) = before.len().checked_sub(name.len()) else {
            return false;
        };
        let (Some(lead), Some(last)) = (before.get(..start), before.get(start..)) else {
            return false;
        };
        last.eq_ignore_ascii_case(name) && begins_parameter(lead)
    })
}

/// `?`, `&`, `;` (after `&amp`) or `#`, plain, as a JSON escape or percent-encoded.
fn begins_parameter(lead: &str) -> bool {
    lead.ends_with(['?', '&', ';', '#'])
        || ["%3f", "%26", "%23", "u0026"].iter().any(|escape| {
            let tail = lead
                .len()
                .checked_sub(escape.len())
                .and_then(|start| lead.get(start..));
            tail.is_some_and(|tail| tail.eq_ignore_ascii_case(escape))
        })
}

/// A value ends at the next parameter or where the URL must; a `\/` of escaped JSON is inside it.
fn value_length(rest: &str) -> usize {
    let mut characters = rest.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let escaped_slash = c == '\\' && characters.peek().is_some_and(|(_, next)| *next == '/');
        if ends_url(c) || matches!(c, '&' | '#') || (c == '\\' && !escaped_slash) {
            return at;
        }
    }
    rest.len()
}

/// Characters that no URL in a text holds unencoded.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '<' | '>' | '`')
}
