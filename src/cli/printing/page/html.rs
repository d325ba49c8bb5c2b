//! Small pieces of HTML. Foreign text is always escaped.

use serde_json::Value;

use super::super::size;
use crate::task::visible_lines;

/// The longest text that is shown, in bytes.
const TEXT: usize = 200_000;

/// Escapes foreign text, so that it contains no tag, ends no attribute and changes no direction of writing.
pub(super) fn escaped(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let text = visible_lines(&text);
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            c => shown.push(c),
        }
    }
    shown
}

pub(super) fn list(facts: &[(String, String)]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let each = facts
        .iter()
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    format!("<dl>\n{}</dl>\n", each.collect::<String>())
}

pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

pub(super) fn block(text: &str) -> String {
    let end = text
        .char_indices()
        .map(|(at, _)| at)
        .take_while(|at| *at <= TEXT)
        .last()
        .unwrap_or_default();
    let (shown, rest) = match text.len() {
        length if length <= TEXT => (text, String::new()),
        length => (
            text.get(..end).unwrap_or_default(),
            format!(
                "<p class=\"soft\">{} more are not shown here.</p>",
                size((length - end) as u64)
            ),
        ),
    };
    format!("<pre>{}</pre>{rest}", escaped(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_stays_text() {
        let hostile = "</script><img src=x onerror=\"alert('1')\">\u{202e}&\0";
        assert_eq!(
            escaped(hostile),
            "&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&lt;U+202E&gt;&amp;^@"
        );
        assert_eq!(escaped("a\nb"), "a\nb");
        assert_eq!(escaped("a\r\nb\r\n\r"), "a\nb\n^M");
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_says_so() {
        let text = "ä".repeat(TEXT);
        let shown = block(&text);
        assert!(
            shown.ends_with("</pre><p class=\"soft\">200 kB more are not shown here.</p>"),
            "{}",
            &shown[shown.len() - 90..]
        );
        assert_eq!(block("short"), "<pre>short</pre>");
    }
}
