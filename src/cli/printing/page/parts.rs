//! What all pages share: the frame, the style, and the escaping of foreign text.

use serde_json::Value;

use crate::{cli::printing::units::size, task::visible_lines};

const STYLE: &str = include_str!("../page.css");

/// The page fetches and runs nothing, and may show and play what it contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:; base-uri 'none'; \
    form-action 'none'";

/// A whole page. Everything is HTML, and `from` says where the page comes from.
pub(super) fn document(title: &str, header: &str, main: &str, from: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{header}<main>\n{main}</main>\n\
         <footer><p>oneact {} · {from}</p></footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
    )
}

/// The longest text that is shown, in bytes.
pub(super) const TEXT: usize = 200_000;

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

/// A list of facts, each with its label. One that is not known has no lines.
pub(super) fn list(facts: Vec<(&'static str, Vec<String>)>) -> String {
    let known = facts.into_iter().filter(|(_, lines)| !lines.is_empty());
    let each = known.map(|(label, lines)| {
        let lines: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
        format!("<dt>{label}</dt><dd>{}</dd>\n", lines.join("<br>"))
    });
    format!("<dl>\n{}</dl>\n", each.collect::<String>())
}

pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

pub(super) fn block(text: &str) -> String {
    let (shown, rest) = text.split_at(text.floor_char_boundary(TEXT));
    let more = match rest.len() as u64 {
        0 => String::new(),
        bytes => format!(
            "<p class=\"soft\">{} more are not shown here.</p>",
            size(bytes)
        ),
    };
    format!("<pre>{}</pre>{more}", escaped(shown))
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
