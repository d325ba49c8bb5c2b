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
    if let Cow::Owned(cut) = redact_presigned(text) {
        *text = cut;
    }
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
    let end = text.find('#').unwrap_or(text.len());
    let parts = text.split_at_checked(end).filter(|_| is_link(text));
    let parts = parts.and_then(|(rest, fragment)| Some((rest.split_once('?')?, fragment)));
    let Some(((place, query), fragment)) = parts else {
        return Cow::Borrowed(text);
    };
    let names: Vec<String> = query.split('&').map(name).collect();
    let signature = table::signature(&names);
    if signature.is_empty() {
        return Cow::Borrowed(text);
    }
    let named = query.split('&').zip(&names);
    let kept = named.filter(|(_, name)| !signature.contains(&name.as_str()));
    let kept: Vec<&str> = kept.map(|(pair, _)| pair).collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    Cow::Owned(format!("{place}{mark}{}{fragment}", kept.join("&")))
}

/// The URL without user name, password, fragment and parameters that grant access. The other parameters keep their
/// order.
pub fn presentable(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_fragment(None);
    // These fail only for a URL without a host, and such a URL has no user name.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    // The query is cut as text and not encoded again, so the rest of it stays the same byte for byte.
    let query = url.query().unwrap_or_default().split('&');
    let kept = query.filter(|pair| !pair.is_empty() && !table::grants_access(&name(pair)));
    let kept: Vec<&str> = kept.collect();
    shown.set_query((!kept.is_empty()).then(|| kept.join("&")).as_deref());
    // A parameter may contain another link.
    redact_presigned(shown.as_str()).into_owned()
}

fn is_link(text: &str) -> bool {
    let begins = |scheme: &str| {
        let start = text.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    (begins("http://") || begins("https://"))
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// The name of a parameter, as servers read it.
fn name(pair: &str) -> String {
    let name = pair.split_once('=').map_or(pair, |(name, _)| name);
    let decoded = percent_decode_str(name).decode_utf8_lossy();
    decoded.to_ascii_lowercase()
}

/// The ranges to cut, in order, with overlapping ranges joined.
pub(super) fn cuts(text: &str) -> Vec<Range<usize>> {
    // User information follows a colon. The colon and the `=` of a parameter may be escaped.
    let may_hold = |byte: &u8| matches!(byte, b':' | b'=' | b'%' | b'\\');
    if !text.as_bytes().iter().any(may_hold) {
        return Vec::new();
    }
    escapes::find(text.as_bytes(), |text, cuts| {
        user_information(text, cuts);
        secret_values(text, cuts);
    })
}

/// Finds what is before the `@` of a link, and what is clearly a password although no host follows.
fn user_information(text: &[u8], cuts: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(colon) = after(text, from, b":") {
        from = colon;
        let before = text.get(..colon - 1).unwrap_or_default();
        let Some(start) = authority_of(before, text, colon) else {
            continue;
        };
        let quote = quote_before(before);
        let end = place(text, start, |at, byte| {
            matches!(byte, b'/' | b'?' | b'#') || Some(byte) == quote || ends_link(text, at, byte)
        });
        let authority = text.get(start..end).unwrap_or_default();
        // The last colon of the authority may start another link.
        from = end - usize::from(authority.ends_with(b":"));
        let user = match authority.iter().rposition(|byte| *byte == b'@') {
            Some(length) => start + length,
            None if start > colon && has_password(authority) => end,
            None => continue,
        };
        cuts.extend((user > start).then_some(start..user));
    }
}

/// The schemes after whose colon browsers and libraries read any number of slashes, of both kinds.
const WEB: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// Where the authority of a link begins whose scheme ends `before` its colon; none if it is no link.
fn authority_of(before: &[u8], text: &[u8], colon: usize) -> Option<usize> {
    let name = before
        .iter()
        .rev()
        .take_while(|byte| of_scheme(**byte))
        .count();
    let name = before.get(before.len() - name..).unwrap_or_default();
    let is_web = WEB
        .iter()
        .any(|web| name.eq_ignore_ascii_case(web.as_bytes()));
    let rest = text.get(colon..).unwrap_or_default();
    let is_slash = |byte: &&u8| **byte == b'/' || is_web && **byte == b'\\';
    let slashes = rest.iter().take_while(is_slash).count();
    (is_web || slashes >= 2).then_some(colon + slashes)
}

/// Whether an authority without `@` has a password and not a port, which is digits and nothing else that counts.
fn has_password(authority: &[u8]) -> bool {
    let mut parts = authority.splitn(2, |byte| *byte == b':');
    let is_address = parts.next().is_some_and(|host| host.starts_with(b"["));
    let rest = parts.next().unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut behind = rest.iter().skip(digits);
    let is_port = digits > 0 && !behind.any(u8::is_ascii_alphanumeric);
    !is_address && !rest.is_empty() && !is_port
}

fn of_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// The quotation mark directly before the link whose scheme ends the text.
fn quote_before(text: &[u8]) -> Option<u8> {
    let mut before = text.iter().rev();
    let quote = before.find(|byte| !of_scheme(**byte)).copied();
    quote.filter(|byte| matches!(byte, b'\'' | b'`'))
}

/// Finds the value after each `=` that follows a name of the table, in one pass: the inside of a value is not
/// searched again.
fn secret_values(text: &[u8], cuts: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(start) = after(text, from, b"=") {
        from = start;
        let before = text.get(..start - 1).unwrap_or_default();
        if names_secret(before) {
            from = value_end(text, start);
            cuts.extend((from > start).then_some(start..from));
        }
    }
}

/// The length of the longest parameter name.
const LONGEST_NAME: usize = 64;

/// Whether `before` ends in a name of the table that starts a parameter. The name may be that of an element or a
/// member: `user[password]`, `token[0]`, `db.password`.
fn names_secret(before: &[u8]) -> bool {
    let begins = |byte: u8| matches!(byte, b'?' | b'&' | b';' | b'#');
    let of_name = |byte: &&u8| {
        !begins(**byte)
            && !matches!(
                byte,
                b'=' | b'/' | b'\\' | b'"' | b'\'' | b'<' | b'>' | b'`' | ..=b' '
            )
    };
    let last = before.iter().rev().take(LONGEST_NAME + 1);
    let length = last.take_while(of_name).count();
    let Some((lead, name)) = before.split_at_checked(before.len() - length) else {
        return false;
    };
    let name = String::from_utf8_lossy(name);
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
    lead.last().copied().is_some_and(begins) && parts.any(table::grants_access)
}

/// The end of a value: the next parameter, or the end of the link. A `\/` of JSON does not end it.
fn value_end(text: &[u8], start: usize) -> usize {
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
        b'\\' => text
            .get(at + 1)
            .is_none_or(|next| b"\"'\\bfnrtu".contains(next)),
        other => ends_link(text, at, other),
    })
}

/// Whether a link ends here: at white space, a control character, or a mark that a link contains only encoded.
fn ends_link(text: &[u8], at: usize, byte: u8) -> bool {
    match byte {
        ..=b' ' | 0x7f | b'"' | b'<' | b'>' => true,
        // The beginning of a character that is not ASCII.
        0xc2.. => {
            let letter = text.get(at..text.len().min(at + 4));
            let first = letter.and_then(|letter| letter.utf8_chunks().next());
            let first = first.and_then(|chunk| chunk.valid().chars().next());
            first.is_some_and(|first| first.is_whitespace() || first.is_control())
        }
        _ => false,
    }
}

/// The place behind the next occurrence of these bytes.
fn after(text: &[u8], from: usize, mark: &[u8]) -> Option<usize> {
    let rest = text.get(from..)?;
    let found = rest.windows(mark.len()).position(|part| part == mark)?;
    Some(from + found + mark.len())
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
