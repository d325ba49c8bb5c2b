//! The one rule for what of a URL is a secret: the user information before the host, and the
//! values of query parameters that grant access (invariant 6).
//!
//! Works on any text, also where URLs stand in JSON, in HTML or percent-encoded inside another
//! URL. When in doubt it cuts more.

use std::{borrow::Cow, ops::Range};

/// Query parameters that belong to a signature, a key or a token: AWS signatures 2 and 4, Google,
/// Azure, Alibaba, `CloudFront`, and plain tokens. In lower case.
const PRESIGN: [&str; 24] = [
    "access_token",
    "accesstoken",
    "api_key",
    "apikey",
    "auth",
    "authorization",
    "awsaccesskeyid",
    "client_secret",
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

/// Whether something stood in the text that was cut.
pub fn was_redacted(text: &str) -> bool {
    let mut cuts = user_information(text).chain(secret_values(text));
    cuts.any(|cut| text.get(cut) == Some(CUT))
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
/// One pass: what lies inside a value is not looked at again.
fn secret_values(text: &str) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    let mut from = 0;
    while let Some((at, start)) = next_equals(text, from) {
        from = start;
        let (Some(before), Some(rest)) = (text.get(..at), text.get(start..)) else {
            continue;
        };
        if names_secret(before) {
            from = start + value_length(rest);
            cuts.extend((from > start).then_some(start..from));
        }
    }
    cuts
}

/// The next `=` or `%3D`: where it stands, and where it ends.
fn next_equals(text: &str, mut from: usize) -> Option<(usize, usize)> {
    loop {
        let at = from + text.get(from..)?.find(['=', '%'])?;
        let mark = text.get(at..at + 3).unwrap_or("=");
        if text.get(at..)?.starts_with('=') {
            return Some((at, at + 1));
        }
        if mark.eq_ignore_ascii_case("%3D") {
            return Some((at, at + 3));
        }
        from = at + 1;
    }
}

/// No secret's name, escape included, is longer.
const LONGEST_NAME: usize = 64;

/// Whether `before` ends in a secret name with the start of a query parameter before it.
fn names_secret(before: &str) -> bool {
    let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let last = before.bytes().rev().take(LONGEST_NAME + 1);
    let length = last.take_while(of_name).count();
    if length > LONGEST_NAME {
        return false;
    }
    let Some((lead, name)) = before.split_at_checked(before.len() - length) else {
        return false;
    };
    // `&` and its like may be escaped: then what looks like the name begins with their digits.
    let name = match lead.bytes().next_back() {
        Some(b'?' | b'&' | b';' | b'#') => Some(name),
        Some(b'%') => after_escape(name, &["3f", "26", "23"]),
        Some(b'\\') => after_escape(name, &["u0026", "u003f", "u003b"]),
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
