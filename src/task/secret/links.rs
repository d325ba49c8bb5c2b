//! What of a link is a secret: the user information before the host, and the values of parameters that
//! grant access. Links are found in any text, also in JSON, in HTML, and inside other links.

use std::{borrow::Cow, mem, ops::Range};

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::{CUT, decoded, object, table, without};

/// The text with `user:password@` and the values of parameters that grant access replaced by `***`;
/// borrowed where there is nothing to cut. Applying it twice changes nothing more.
pub fn redact_presigned(text: &str) -> Cow<'_, str> {
    let cuts = cuts(text);
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(without(text.as_bytes(), cuts))
}

/// The same in every text of a JSON value, names included.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(cut) = redact_presigned(text) {
                *text = cut;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        Value::Object(members) => {
            members.values_mut().for_each(redact_value);
            let is_cut = |name: &String| matches!(redact_presigned(name), Cow::Owned(_));
            if members.keys().any(is_cut) {
                let members = mem::take(members).into_iter();
                let shown = |name: String| redact_presigned(&name).into_owned();
                *value = object(members.map(|(name, item)| (shown(name), item)));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether something stood in the text that was cut.
pub fn was_redacted(text: &str) -> bool {
    text.contains(CUT) && cuts(text).into_iter().any(|cut| text.get(cut) == Some(CUT))
}

/// The link without its signature: a link that was signed anew leads to the same object. A text that is no
/// link as a whole, or that is not signed, stays as it is.
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
    let pairs: Vec<&str> = query.split('&').collect();
    let names: Vec<String> = pairs.iter().copied().map(name).collect();
    let parts = table::signature(&names);
    if parts.is_empty() {
        return Cow::Borrowed(text);
    }
    let named = pairs.iter().zip(&names);
    let kept = named.filter(|(_, name)| !parts.contains(&name.as_str()));
    let kept: Vec<&str> = kept.map(|(pair, _)| *pair).collect();
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

/// The URL without user name, password, fragment and parameters that grant access. What remains keeps its
/// order.
pub fn presentable(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_fragment(None);
    // Neither can fail for a URL with a host; one without a host has no user name either.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    let grants = |pair: &str| {
        let mut pairs = form_urlencoded::parse(pair.as_bytes());
        pairs
            .next()
            .is_some_and(|(name, _)| table::grants_access(&name))
    };
    // Cut as text, not encoded anew: the rest of the query stays byte for byte what it was.
    let query = url.query().unwrap_or_default().split('&');
    let kept: Vec<&str> = query
        .filter(|pair| !pair.is_empty() && !grants(pair))
        .collect();
    shown.set_query((!kept.is_empty()).then(|| kept.join("&")).as_deref());
    // A parameter may hold another link.
    redact_presigned(shown.as_str()).into_owned()
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

/// The name of a parameter, as servers read it.
fn name(pair: &str) -> String {
    let name = pair.split_once('=').map_or(pair, |(name, _)| name);
    let decoded = percent_decode_str(name).decode_utf8_lossy();
    decoded.to_ascii_lowercase()
}

/// Where something is to be cut, in order, overlaps joined.
fn cuts(text: &str) -> Vec<Range<usize>> {
    // A user name has a colon before it; the equals sign of a parameter may be escaped.
    let may_hold = |byte: &u8| matches!(byte, b':' | b'=' | b'%' | b'\\' | b'&');
    if !text.as_bytes().iter().any(may_hold) {
        return Vec::new();
    }
    decoded::find(text.as_bytes(), |text, cuts| {
        user_information(text, cuts);
        secret_values(text, cuts);
    })
}

/// What stands before the `@` of a link, or is plainly a password although no host follows.
fn user_information(text: &[u8], cuts: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(at) = position(text, from, |byte| byte == b':') {
        from = at + 1;
        let rest = text.get(from..).unwrap_or_default();
        let slashes = rest.iter().take_while(|byte| is_slash(**byte)).count();
        let Some(lead) = Lead::of(text.get(..at).unwrap_or_default(), slashes) else {
            continue;
        };
        let start = from + slashes;
        let ends = |byte| ends_link(byte) || is_slash(byte) || matches!(byte, b'?' | b'#');
        let end = position(text, start, ends).unwrap_or(text.len());
        let authority = text.get(start..end).unwrap_or_default();
        from = end.max(from);
        if let Some(length) = authority.iter().rposition(|byte| *byte == b'@') {
            let user = authority.get(..length).unwrap_or_default();
            if length > 0 && (lead != Lead::Doubtful || user.contains(&b':')) {
                cuts.push(start..start + length);
            }
        } else if lead == Lead::Link && holds_password(authority) {
            // A password with a slash in it, or the end of a message.
            let last = position(text, end, ends_link).unwrap_or(text.len());
            let rest = text.get(end..last).unwrap_or_default();
            let host = rest.iter().rposition(|byte| *byte == b'@');
            cuts.push(start..host.map_or(end, |host| end + host));
            from = last.max(from);
        }
    }
}

/// How much a colon and the slashes behind it look like the beginning of a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    Link,
    /// `https:user@host`, which browsers and libraries take for a link.
    Lax,
    /// `a:/b`: a link only with a user name and a password.
    Doubtful,
}

impl Lead {
    fn of(before: &[u8], slashes: usize) -> Option<Self> {
        let of_name =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        // Longer than any of the names below.
        let name = before.iter().rev().take(6).take_while(|byte| of_name(byte));
        let name = before.len() - name.count();
        let name = before.get(name..).unwrap_or_default();
        let web = ["http", "https", "ws", "wss", "ftp"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        match slashes {
            2.. => Some(Self::Link),
            1 if web => Some(Self::Link),
            0 if web => Some(Self::Lax),
            1 if !name.is_empty() => Some(Self::Doubtful),
            _ => None,
        }
    }
}

/// Whether an authority without `@` has something behind its colon that is no port.
fn holds_password(authority: &[u8]) -> bool {
    if authority.first() == Some(&b'[') {
        return false;
    }
    let Some(colon) = authority.iter().position(|byte| *byte == b':') else {
        return false;
    };
    let behind = authority.get(colon + 1..).unwrap_or_default();
    let word = behind
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric());
    let word = behind.get(..word.count()).unwrap_or_default();
    let is_port = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    !behind.is_empty() && !is_port
}

/// The value after each `=` that a name of the table stands before. One pass: what lies inside a value is
/// not looked at again.
fn secret_values(text: &[u8], cuts: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(at) = position(text, from, |byte| byte == b'=') {
        from = at + 1;
        if names_secret(text.get(..at).unwrap_or_default()) {
            let end = value_end(text, from);
            cuts.extend((end > from).then_some(from..end));
            from = end;
        }
    }
}

/// No name of a parameter is longer.
const LONGEST_NAME: usize = 64;

/// Whether `before` ends in a name of the table with the start of a parameter before it.
fn names_secret(before: &[u8]) -> bool {
    let of_name = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'[' | b']')
    };
    let last = before.iter().rev().take(LONGEST_NAME + 1);
    let length = last.take_while(|byte| of_name(byte)).count();
    if length > LONGEST_NAME {
        return false;
    }
    let Some((lead, name)) = before.split_at_checked(before.len() - length) else {
        return false;
    };
    let begins = matches!(lead.last(), Some(b'?' | b'&' | b';' | b'#'));
    let name = std::str::from_utf8(name).unwrap_or_default();
    // `user[password]`, `token[0]`, `db.password`.
    let mut parts = name.split(['[', ']', '.']);
    begins && parts.any(table::grants_access)
}

/// A value ends at the next parameter or where the link must; a `\/` of JSON is inside it.
fn value_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = text.get(at) {
        let ends = match byte {
            b'&' | b'#' => true,
            b'\\' => text
                .get(at + 1)
                .is_none_or(|next| b"\"'\\bfnrtux".contains(next)),
            other => ends_link(*other),
        };
        if ends {
            return at;
        }
        at += 1;
    }
    at
}

fn is_slash(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

/// Bytes that no link in a text holds unencoded.
fn ends_link(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, 0x7f | b'"' | b'\'' | b'<' | b'>' | b'`')
}

fn position(text: &[u8], from: usize, is: impl Fn(u8) -> bool) -> Option<usize> {
    let found = text.get(from..)?.iter().position(|byte| is(*byte))?;
    Some(from + found)
}

#[cfg(test)]
mod tests;
