//! Texts of others on a page.

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
