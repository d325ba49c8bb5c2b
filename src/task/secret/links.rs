//! Finds the secrets in links: the user information before the host, and the values of parameters that grant
//! access. Links are found in any text, also in JSON, in HTML and inside other links.

mod quotes;

use std::{borrow::Cow, mem, ops::Range};

use percent_encoding::percent_decode_str;
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::{Url, form_urlencoded};

use super::{CUT, decoded, object, table, without};
use crate::task::hexadecimal;
use quotes::{MOST_BACKSLASHES, Quotes};

/// The text with `***` for `user:password` before a host and for the values of parameters that grant access;
/// borrowed if there are none. A second application changes nothing.
pub fn redact_presigned(text: &str) -> Cow<'_, str> {
    let cuts = cuts(text, Reader::Record);
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(without(text.as_bytes(), cuts))
}

/// The same in place.
pub fn cut_links(text: &mut String) {
    if let Cow::Owned(cut) = redact_presigned(text) {
        *text = cut;
    }
}

/// The same in every text of a JSON value, names included.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => cut_links(text),
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

/// An id as it is recorded: a link in it is without credentials, and a hash keeps different ids different.
pub fn recorded_id(id: &str) -> String {
    match redact_presigned(id) {
        Cow::Borrowed(id) => id.to_owned(),
        Cow::Owned(cut) => format!("{cut} sha256:{}", hexadecimal(&Sha256::digest(id))),
    }
}

/// Whether something was cut from the text already.
pub fn was_redacted(text: &str) -> bool {
    let mut cuts = cuts(text, Reader::Record).into_iter();
    text.contains(CUT) && cuts.any(|cut| text.get(cut) == Some(CUT))
}

/// The link without its signature, because a link with a new signature leads to the same object. A text that is
/// not one signed link is returned unchanged.
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

/// The URL without user name, password, fragment and parameters that grant access. The other parameters keep their
/// order.
pub fn presentable(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_fragment(None);
    // These fail only for a URL without a host, and such a URL has no user name.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    let grants = |pair: &str| {
        let mut pairs = form_urlencoded::parse(pair.as_bytes());
        pairs
            .next()
            .is_some_and(|(name, _)| table::grants_access(&name))
    };
    // The query is cut as text and not encoded again, so the rest of it stays the same byte for byte.
    let query = url.query().unwrap_or_default().split('&');
    let kept: Vec<&str> = query
        .filter(|pair| !pair.is_empty() && !grants(pair))
        .collect();
    shown.set_query((!kept.is_empty()).then(|| kept.join("&")).as_deref());
    // A parameter may contain another link.
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

/// Who reads the text after the cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// In doubt, more is cut.
    Record,
    /// A person who approves the text. White space and control characters end a user information, as in every URL that
    /// can be used. Otherwise the sender could hide words in it.
    Approver,
}

impl Reader {
    fn is_blank_at(self, text: &[u8], at: usize, byte: u8) -> bool {
        is_blank(byte)
            || self == Self::Approver && is_wide_blank(text.get(at..).unwrap_or_default())
    }
}

/// Whether a text begins with white space or a control character that is not ASCII.
fn is_wide_blank(text: &[u8]) -> bool {
    let first = text.get(..4).unwrap_or(text).utf8_chunks().next();
    let first = first.and_then(|chunk| chunk.valid().chars().next());
    first.is_some_and(|first| !first.is_ascii() && (first.is_whitespace() || first.is_control()))
}

/// The ranges to cut, in order, with overlapping ranges joined.
pub(super) fn cuts(text: &str, reader: Reader) -> Vec<Range<usize>> {
    // User information follows a colon. The `=` of a parameter may be escaped.
    let may_hold = |byte: &u8| matches!(byte, b':' | b'=' | b'%' | b'\\' | b'&');
    if !text.as_bytes().iter().any(may_hold) {
        return Vec::new();
    }
    decoded::find(text.as_bytes(), |text, cuts| {
        user_information(text, reader, cuts);
        secret_values(text, cuts);
    })
}

/// Finds what is before the `@` of a link, and what is clearly a password although no host follows.
fn user_information(text: &[u8], reader: Reader, cuts: &mut Vec<Range<usize>>) {
    let mut from = 0;
    let mut quotes = Quotes::of(text);
    // There is no `@` between a link without a host and this place.
    let mut hostless = 0;
    while let Some(at) = position(text, from, |byte| byte == b':') {
        from = at + 1;
        let rest = text.get(from..).unwrap_or_default();
        let slashes = rest.iter().take_while(|byte| is_slash(**byte)).count();
        let Some(lead) = Lead::of(text.get(..at).unwrap_or_default(), slashes) else {
            continue;
        };
        let start = from + slashes;
        quotes.read_to(at);
        let ends = |at: usize, byte| match lead {
            _ if reader.is_blank_at(text, at, byte) => true,
            Lead::Link | Lead::Web => quotes.close_at(at, byte),
            Lead::Lax | Lead::Doubtful => ends_link(byte),
        };
        let of_path = |byte| is_slash(byte) || matches!(byte, b'?' | b'#');
        let end = place(text, start, |at, byte| of_path(byte) || ends(at, byte));
        let authority = text.get(start..end).unwrap_or_default();
        // The last colon of the authority may start another link.
        from = end - usize::from(authority.ends_with(b":"));
        if let Some(length) = authority.iter().rposition(|byte| *byte == b'@') {
            let user = authority.get(..length).unwrap_or_default();
            if length > 0 && (lead != Lead::Doubtful || user.contains(&b':')) {
                cuts.push(start..start + length);
            }
            continue;
        }
        let is_link = matches!(lead, Lead::Link | Lead::Web);
        let Some(behind) = behind_colon(authority).filter(|_| is_link) else {
            continue;
        };
        // A password may contain a blank or a slash; then its host follows. Digits may be a port: they count as a
        // password only if a host follows in the same word, and not after the path of a web address.
        let port = is_port(behind);
        if port && lead == Lead::Web && text.get(end).copied().is_some_and(is_slash) {
            continue;
        }
        let stops = |at: usize, byte| {
            if port || reader == Reader::Approver {
                ends(at, byte)
            } else {
                matches!(byte, b'\n' | b'\r') || quotes.close_at(at, byte)
            }
        };
        let unknown = end.max(hostless);
        let last = place(text, unknown, stops);
        let rest = text.get(unknown..last).unwrap_or_default();
        if let Some(host) = rest.iter().rposition(|byte| *byte == b'@') {
            from = unknown + host;
            cuts.push(start..from);
        } else {
            hostless = last;
            cuts.extend((!port).then_some(start..end));
        }
    }
}

/// How much a colon and the slashes after it look like the start of a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    Link,
    /// A link whose host always ends at the next slash.
    Web,
    /// `https:user@host`, which browsers and libraries accept as a link.
    Lax,
    /// `a:/b`: a link only if it has a user name and a password.
    Doubtful,
}

impl Lead {
    fn of(before: &[u8], slashes: usize) -> Option<Self> {
        let of_name =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        // One more than the length of the longest name below.
        let name = before.iter().rev().take(6).take_while(|byte| of_name(byte));
        let name = before.len() - name.count();
        let name = before.get(name..).unwrap_or_default();
        let web = ["http", "https", "ws", "wss", "ftp"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        match slashes {
            1.. if web => Some(Self::Web),
            2.. => Some(Self::Link),
            0 if web => Some(Self::Lax),
            1 if !name.is_empty() => Some(Self::Doubtful),
            _ => None,
        }
    }
}

/// The text after the colon of an authority without `@`, if there is any.
fn behind_colon(authority: &[u8]) -> Option<&[u8]> {
    if authority.first() == Some(&b'[') {
        return None;
    }
    let colon = authority.iter().position(|byte| *byte == b':')?;
    authority.get(colon + 1..).filter(|rest| !rest.is_empty())
}

/// Whether it is a number, possibly with punctuation of the sentence after it.
fn is_port(behind: &[u8]) -> bool {
    let word = behind
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric());
    let word = behind.get(..word.count()).unwrap_or_default();
    !word.is_empty() && word.iter().all(u8::is_ascii_digit)
}

/// Finds the value after each `=` that follows a name of the table, in one pass: the inside of a value is not
/// searched again.
fn secret_values(text: &[u8], cuts: &mut Vec<Range<usize>>) {
    let mut from = 0;
    let mut quotes = Quotes::of(text);
    while let Some(at) = position(text, from, |byte| byte == b'=') {
        from = at + 1;
        if names_secret(text.get(..at).unwrap_or_default()) {
            quotes.read_to(at);
            let end = value_end(text, from, &quotes);
            cuts.extend((end > from).then_some(from..end));
            from = end;
        }
    }
}

/// The length of the longest parameter name.
const LONGEST_NAME: usize = 64;

/// Whether `before` ends in a name of the table that starts a parameter.
fn names_secret(before: &[u8]) -> bool {
    let begins = |byte: u8| matches!(byte, b'?' | b'&' | b';' | b'#');
    let of_name =
        |byte: &u8| !begins(*byte) && *byte != b'=' && !is_slash(*byte) && !ends_link(*byte);
    let last = before.iter().rev().take(LONGEST_NAME + 1);
    let length = last.take_while(|byte| of_name(byte)).count();
    if length > LONGEST_NAME {
        return false;
    }
    let Some((lead, name)) = before.split_at_checked(before.len() - length) else {
        return false;
    };
    let name = String::from_utf8_lossy(name);
    // `user[password]`, `token[0]`, `db.password`, `$token`, `x:token`.
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
    lead.last().copied().is_some_and(begins) && parts.any(table::grants_access)
}

/// The end of a value: the next parameter, or the end of the link. A `\/` of JSON does not end it.
fn value_end(text: &[u8], start: usize, quotes: &Quotes<'_>) -> usize {
    // A value that was cut before ends after the `***`: a full stop there belongs to the sentence.
    let rest = text.get(start..).unwrap_or_default();
    if let Some(rest) = rest.strip_prefix(CUT.as_bytes())
        && rest
            .first()
            .is_none_or(|next| !next.is_ascii_alphanumeric())
    {
        return start + CUT.len();
    }
    place(text, start, |at, byte| match byte {
        b'&' | b'#' => true,
        b'\\' => {
            let rest = text.get(at..).unwrap_or_default().iter();
            let count = rest
                .take(MOST_BACKSLASHES)
                .take_while(|byte| **byte == b'\\');
            let behind = at + count.count();
            match text.get(behind) {
                Some(mark @ (b'"' | b'\'')) => quotes.close_at(behind, *mark),
                Some(_) if behind > at + 1 => true,
                Some(letter) => b"bfnrtux".contains(letter),
                None => true,
            }
        }
        other => is_blank(other) || quotes.close_at(at, other),
    })
}

fn is_slash(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

/// Bytes that a link in a text should contain only encoded.
fn ends_link(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'`')
}

fn is_blank(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f
}

fn position(text: &[u8], from: usize, is: impl Fn(u8) -> bool) -> Option<usize> {
    let found = text.get(from..)?.iter().position(|byte| is(*byte))?;
    Some(from + found)
}

/// The first place from `from` on that fulfils the condition, or the end.
fn place(text: &[u8], from: usize, is: impl Fn(usize, u8) -> bool) -> usize {
    let rest = text.get(from..).unwrap_or_default().iter().copied();
    let mut places = rest.enumerate().map(|(at, byte)| (from + at, byte));
    let found = places.find(|(at, byte)| is(*at, *byte));
    found.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests;
