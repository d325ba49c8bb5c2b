//! The one rule for what of a URL is a secret: the user information before the host, and the
//! values of query parameters that grant access (invariant 6).
//!
//! Works on any text, also where URLs stand in JSON, in HTML or percent-encoded inside another
//! URL. When in doubt it cuts more.

use std::{borrow::Cow, ops::Range};

/// Query parameters that belong to a signature, a key or a token: AWS signatures 2 and 4, Google,
/// Azure, Alibaba, `CloudFront`, and plain tokens. In lower case.
const PRESIGN: [&str; 22] = [
    "access_token",
    "api_key",
    "apikey",
    "auth",
    "authorization",
    "awsaccesskeyid",
    "expires",
    "googleaccessid",
    "jwt",
    "key-pair-id",
    "ossaccesskeyid",
    "passwd",
    "password",
    "policy",
    "secret",
    "security-token",
    "sig",
    "sign",
    "signature",
    "sso_token",
    "token",
    "x-token",
];

/// Families of such parameters, in lower case.
const PRESIGN_FAMILIES: [&str; 4] = ["x-amz-", "x-goog-", "x-oss-", "x-cos-"];

/// Whether a query parameter of that name is a part of what grants access.
pub fn is_presign_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PRESIGN.contains(&name.as_str())
        || PRESIGN_FAMILIES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

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
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let lead = before.trim_end_matches(of_name);
    let name = before.get(lead.len()..).unwrap_or_default();
    // `&` and its like may be escaped: then what looks like the name begins with their digits.
    let name = match lead.chars().next_back() {
        Some('?' | '&' | ';' | '#') => Some(name),
        Some('%') => after_escape(name, &["3f", "26", "23"]),
        Some('\\') => after_escape(name, &["u0026", "u003f", "u003b"]),
        _ => None,
    };
    name.is_some_and(is_presign_parameter)
}

/// The name behind one of these escapes, whatever their case.
fn after_escape<'a>(name: &'a str, escapes: &[&str]) -> Option<&'a str> {
    escapes.iter().find_map(|escape| {
        let (head, tail) = name.split_at_checked(escape.len())?;
        head.eq_ignore_ascii_case(escape).then_some(tail)
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
