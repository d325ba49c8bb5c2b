//! Where a hunk ends, and what is said of wrong counts and headers.

use super::*;

const BINDING: DiffRules = DiffRules {
    recount: false,
    require_index: false,
};

const RECOUNTED: DiffRules = DiffRules {
    recount: true,
    ..BINDING
};

fn read(text: &str, rules: DiffRules) -> Result<Vec<Hunk>, String> {
    let mut cursor = Cursor::new(text);
    cursor.hunks(rules).map_err(|error| error.to_string())
}

/// The lines before and after, each side in one text. A line without a line feed ends with `$`.
fn shown(hunk: &Hunk) -> [String; 2] {
    [&hunk.old, &hunk.new].map(|side| {
        let lines = side.iter().map(|line| match line.strip_suffix('\n') {
            Some(_) => line.clone(),
            None => format!("{line}$"),
        });
        lines.collect()
    })
}

#[test]
fn a_hunk_ends_where_its_counts_say() {
    let hunks = read(
        "@@ -1,3 +1,3 @@ f\n a\n--- x\n+++ y\n c\n@@ -9 +9 @@\n-a\n+b\n",
        BINDING,
    );
    let hunks = hunks.unwrap();
    assert_eq!(shown(&hunks[0]), ["a\n-- x\nc\n", "a\n++ y\nc\n"]);
    assert_eq!(
        (hunks[1].start, shown(&hunks[1])),
        (Some(9), ["a\n", "b\n"].map(str::to_owned))
    );
}

#[test]
fn wrong_counts_are_refused_with_the_right_header_and_can_be_recounted() {
    for wrong in [
        "-1,4 +1,3",
        "-1,2 +1,3",
        "-1,3 +1,4",
        "-1,4 +1,4",
        "-1,2 +1,2",
        "-1 +1",
    ] {
        let text = format!("@@ {wrong} @@\n a\n-b\n+c\n d\n");
        let error = read(&text, BINDING).unwrap_err();
        assert!(error.starts_with("line 1 of the diff:"), "{error}");
        assert!(error.contains("`@@ -1,3 +1,3 @@`"), "{error}");
        let hunks = read(&text, RECOUNTED).unwrap();
        assert_eq!(shown(&hunks[0]), ["a\nb\nd\n", "a\nc\nd\n"]);
        assert_eq!(hunks[0].recounted.as_deref(), Some("@@ -1,3 +1,3 @@"));
    }
}

#[test]
fn an_empty_line_in_a_body_is_context() {
    let hunks = read("@@ -1,4 +1,4 @@\n a\n\n-b\n+c\n\n", BINDING).unwrap();
    assert_eq!(shown(&hunks[0]), ["a\n\nb\n\n", "a\n\nc\n\n"]);
}

#[test]
fn a_remark_in_any_language_takes_the_line_feed() {
    let text = "@@ -1 +1 @@\n-a\n\\ Kein Zeilenumbruch am Dateiende.\n+a\n";
    assert_eq!(shown(&read(text, BINDING).unwrap()[0]), ["a$", "a\n"]);
    let twice = "@@ -1 +1 @@\n-a\n\\ No\n\\ No\n+a\n";
    assert!(read(twice, BINDING).is_err());
    assert!(read("@@ -1 +1 @@\n\\ No\n", BINDING).is_err());
}

#[test]
fn bare_headers_name_lines_above_them() {
    let text = "@@ class A\n@@ def f\n-a\n+b\n@@\n-c\n+d\n*** End of File\n";
    let hunks = read(text, BINDING).unwrap();
    assert_eq!(hunks[0].landmarks, ["class A", "def f"]);
    assert_eq!((hunks[1].ends_file, hunks[1].start), (true, None));
    for header in ["@@ ... @@", "@@ -?,3 +?,3 @@", "@@ -1,2"] {
        let error = read(&format!("{header}\n-a\n"), BINDING).unwrap_err();
        assert!(error.contains(header), "{error}");
    }
    let error = read("@@@ -1 -1 +1 @@@\n--a\n", BINDING).unwrap_err();
    assert!(error.contains("combined diff"), "{error}");
    let error = read("@@\n@@ def g\n-a\n+b\n", BINDING).unwrap_err();
    assert!(error.contains("no hunk follows"), "{error}");
}

#[test]
fn a_diff_that_was_checked_out_with_carriage_returns_has_none() {
    let mut cursor = Cursor::new("@@ -1 +1 @@\r\n-a\r\n+b\r\n");
    assert_eq!(cursor.line(1), Some("-a"));
    cursor.at = 3;
    assert_eq!(cursor.text_from(1), "-a\n+b\n");
    assert_eq!(Cursor::new("@@ -1 +1 @@\n-a\r\n").line(1), Some("-a\r"));
}

#[test]
fn the_signature_of_a_mail_is_no_removed_line() {
    let text = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n-- \n2.47.3\n";
    assert_eq!(
        shown(&read(text, BINDING).unwrap()[0]),
        ["a\nb\n", "a\nc\n"]
    );
}
