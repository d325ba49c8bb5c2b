//! Finds the secrets in links: the user information before the host, and the values of parameters that grant
//! access. Links are found in any text, also in JSON and inside other links.

use std::{borrow::Cow, mem, ops::Range};

use percent_encoding::percent_decode_str;
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::Url;

use super::{
    cut::{CUT, cut_json, without},
    escapes, table,
};
use crate::task::hexadecimal;

/// The text with `***` for `user:password` before a host and for the values of parameters that grant access;
/// borrowed if there are none. A second application changes nothing.
pub fn redact_presigned(text: &str) -> Cow<'_, str> {
    let cuts = cuts(text);
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(without(text.as_bytes(), cuts))
}

/// The same in place.
pub fn cut_links(text: &mut String) {
    *text = redact_presigned(text).into_owned();
}

/// The same in every text of a JSON value, names included.
pub fn redact_value(value: &mut Value) {
    let mut cut = |text: &str| redact_presigned(text).into_owned();
    *value = cut_json(mem::take(value), &mut cut, &|_| false);
}

/// An id as it is recorded: a link in it is without credentials, and a hash keeps different ids different.
pub fn recorded_id(id: &str) -> String {
    match redact_presigned(id) {
        Cow::Borrowed(id) => id.to_owned(),
        Cow::Owned(cut) => format!("{cut} sha256:{}", hexadecimal(&Sha256::digest(id))),
    }
}

/// Whether something was cut from the text already.
pub fn was_redacted(text: &str) -> bool {
    let mut cuts = cuts(text).into_iter();
    text.contains(CUT) && cuts.any(|cut| text.get(cut) == Some(CUT))
}

/// The link without its signature, because a link with a new signature leads to the same object. A text that is
/// not one signed link is returned unchanged.
pub fn unsigned(text: &str) -> Cow<'_, str> {
    let (rest, fragment) = text.split_at(text.find('#').unwrap_or(text.len()));
    let scheme = text.split("://").next().unwrap_or_default();
    let is_link = matches!(&*scheme.to_ascii_lowercase(), "http" | "https")
        && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    let (place, query) = rest.split_once('?').filter(|_| is_link).unwrap_or_default();
    let names: Vec<String> = query.split('&').map(name).collect();
    let signature = table::signature(&names);
    if signature.is_empty() {
        return Cow::Borrowed(text);
    }
    let kept = without_parameters(query, |name| signature.contains(&name));
    let mark = if kept.is_empty() { "" } else { "?" };
    Cow::Owned(format!("{place}{mark}{kept}{fragment}"))
}

/// The URL without user name, password, fragment and parameters that grant access. The other parameters keep their
/// order.
pub fn presentable(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_fragment(None);
    // These fail only for a URL without a host, and such a URL has no user name.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    let kept = without_parameters(url.query().unwrap_or_default(), table::grants_access);
    shown.set_query(Some(&*kept).filter(|kept| !kept.is_empty()));
    // A parameter may contain another link.
    redact_presigned(shown.as_str()).into_owned()
}

/// The query without the parameters whose names are cut. The rest of it stays the same byte for byte.
fn without_parameters(query: &str, is_cut: impl Fn(&str) -> bool) -> String {
    let kept = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !is_cut(&name(pair)));
    kept.collect::<Vec<_>>().join("&")
}

/// The name of a parameter, as servers read it.
fn name(pair: &str) -> String {
    let name = pair.split('=').next().unwrap_or_default();
    let decoded = percent_decode_str(name).decode_utf8_lossy();
    decoded.to_ascii_lowercase()
}

/// The ranges to cut, in order, with overlapping ranges joined.
pub(super) fn cuts(text: &str) -> Vec<Range<usize>> {
    // User information follows a colon. The colon and the `=` of a parameter may be escaped.
    if !text.contains([':', '=', '%', '\\']) {
        return Vec::new();
    }
    escapes::find(text.as_bytes(), |text| {
        let text = str::from_utf8(text).unwrap_or_default();
        let mut cuts = user_information(text);
        cuts.extend(secret_values(text));
        cuts
    })
}

/// The schemes after whose colon browsers and libraries read any number of slashes, of both kinds.
const WEB: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// Finds what is before the `@` of a link, and what is clearly a password although no host follows.
fn user_information(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(':') {
        rest = behind;
        let of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let lead = before.trim_end_matches(of_scheme);
        let scheme = before.strip_prefix(lead).unwrap_or_default();
        let is_web = WEB.iter().any(|web| scheme.eq_ignore_ascii_case(web));
        if !is_web && !behind.starts_with("//") {
            continue;
        }
        let authority = behind.trim_start_matches(|c| c == '/' || is_web && c == '\\');
        let has_slashes = authority.len() < behind.len();
        let behind = authority;
        let quote = lead.chars().next_back().filter(|c| "'`".contains(*c));
        let ends = |c| ends_link(c) || "/?#".contains(c) || Some(c) == quote;
        let authority = behind.split(ends).next().unwrap_or_default();
        let length = match authority.rfind('@') {
            Some(at) => at,
            None if has_slashes && has_password(authority) => authority.len(),
            None => 0,
        };
        let start = text.len() - behind.len();
        found.extend((length > 0).then_some(start..start + length));
        // The last colon of the authority may be that of another link.
        let before = match authority.strip_suffix(':') {
            Some(before) => before.trim_end_matches(of_scheme),
            None => authority,
        };
        rest = behind.strip_prefix(before).unwrap_or_default();
    }
    found
}

/// Whether an authority without `@` has a password and not a port, which is digits and nothing else that counts.
fn has_password(authority: &str) -> bool {
    let (host, rest) = authority.split_once(':').unwrap_or_default();
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_port =
        behind.len() < rest.len() && !behind.contains(|c: char| c.is_ascii_alphanumeric());
    !host.starts_with('[') && !rest.is_empty() && !is_port
}

/// Finds the value after each `=` that follows a name of the table, in one pass: the inside of a value is not
/// searched again.
fn secret_values(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('=') {
        rest = behind;
        if names_secret(before) {
            let value = value_of(behind);
            let start = text.len() - behind.len();
            found.extend((!value.is_empty()).then_some(start..start + value.len()));
            rest = behind.strip_prefix(value).unwrap_or_default();
        }
    }
    found
}

/// Whether `before` ends in a name of the table that starts a parameter. The name may be that of an element or a
/// member: `user[password]`, `token[0]`, `db.password`.
fn names_secret(before: &str) -> bool {
    let begins = ['?', '&', ';', '#'];
    let ends = |c: char| c <= ' ' || "/\\\"'<>`".contains(c) || begins.contains(&c);
    let name = before.rsplit(ends).next().unwrap_or_default();
    let lead = before.strip_suffix(name).unwrap_or_default();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
    lead.ends_with(begins) && parts.any(table::grants_access)
}

/// The value at the beginning of a text: up to the next parameter, or the end of the link. A `\/` of JSON does not end it.
fn value_of(text: &str) -> &str {
    // A value that was cut before ends after the `***`: a full stop there belongs to the sentence.
    let behind = text.strip_prefix(CUT);
    if behind.is_some_and(|next| !next.starts_with(|c: char| c.is_ascii_alphanumeric())) {
        return CUT;
    }
    let mut letters = text.char_indices();
    let end = letters.find(|(at, letter)| match letter {
        '&' | '#' => true,
        '\\' => text
            .get(at + 1..)
            .is_some_and(|next| next.starts_with(|c| "\"\\bfnrtu".contains(c))),
        other => ends_link(*other),
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at)).0
}

/// Whether a link ends here: at white space, a control character, or a mark that a link contains only encoded.
fn ends_link(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "\"<>".contains(c)
}

#[cfg(test)]
mod tests;
