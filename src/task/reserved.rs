//! Keys by which `serde_json` hands over what JSON has no words for. Whoever wrote one would have it read as
//! something else than it is, so no task and no answer of a server with such a key is let in.

/// What they begin with.
pub const RESERVED: &str = "$serde_json::private::";

/// Whether a JSON document has such a key, also where it is written with escapes. Of what is no JSON it
/// may say anything.
pub fn has_reserved_key(document: &str) -> bool {
    // Without an escape of an ASCII character it is written as it is.
    if !document.contains(RESERVED) && !document.contains("\\u00") {
        return false;
    }
    let mut rest = document;
    while let Some((string, after)) = next_string(rest) {
        rest = after;
        if rest.trim_ascii_start().starts_with(':') && is_reserved(string) {
            return true;
        }
    }
    false
}

/// The next string of a document, with its quotes, and what comes after it.
fn next_string(document: &str) -> Option<(&str, &str)> {
    let start = document.find('"')?;
    let (_, string) = document.split_at_checked(start)?;
    let mut from = 1;
    loop {
        let at = from + string.get(from..)?.find(['"', '\\'])?;
        // An escape is one character longer, at the least, and ends in ASCII.
        match string.as_bytes().get(at) {
            Some(b'\\') => from = at + 2,
            _ => return string.split_at_checked(at + 1),
        }
    }
}

fn is_reserved(string: &str) -> bool {
    let text = serde_json::from_str::<String>(string);
    text.is_ok_and(|text| text.starts_with(RESERVED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_key_is_found_however_it_is_written() {
        for document in [
            r#"{"$serde_json::private::Number":"1"}"#,
            r#"{"a":[{"b":1,"$serde_json::private::RawValue" : "{}"}]}"#,
            r#"{"a\"":"\\","\u0024serde_json::private::RawValue":1}"#,
            r#"{"$serde_json::private::Numbe\u0072":"1"}"#,
            r#"{"$serd\u0065_json::private::Anything":"1"}"#,
        ] {
            assert!(has_reserved_key(document), "{document}");
        }
    }

    #[test]
    fn what_only_speaks_of_one_is_let_in() {
        for document in [
            r#"{"text":"$serde_json::private::Number"}"#,
            r#"{"text":"the key \"$serde_json::private::Number\": it is reserved"}"#,
            r#"{"x$serde_json::private::Number":1}"#,
            r#"{"caf\u00e9":"\u0024"}"#,
            r#"{"ä\\":"\u0022","b":"ü"}"#,
            "",
            r#"{"torn\"#,
            r#"{"torn\ü"#,
        ] {
            assert!(!has_reserved_key(document), "{document}");
        }
    }
}
