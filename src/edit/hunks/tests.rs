//! Where a hunk ends, and what is said of wrong counts and headers.

use super::*;

fn read(text: &str, counts: Counts) -> Result<Vec<Hunk>, String> {
    let mut cursor = Cursor::new(text);
    cursor.hunks(counts).map_err(|error| error.to_string())
}

fn shown(hunk: &Hunk) -> String {
    let line = |line: &Line| {
        let mark = match line.mark {
            Mark::Kept => ' ',
            Mark::Removed => '-',
            Mark::Added => '+',
        };
        let end = if line.end == End::Feed { "\n" } else { "$" };
        format!("{mark}{}{end}", line.text)
    };
    hunk.lines.iter().map(line).collect()
}

#[test]
fn a_hunk_ends_where_its_counts_say() {
    let hunks = read(
        "@@ -1,3 +1,3 @@ f\n a\n--- x\n+++ y\n c\n@@ -9 +9 @@\n-a\n+b\n",
        Counts::Binding,
    );
    let hunks = hunks.unwrap();
    assert_eq!(shown(&hunks[0]), " a\n--- x\n+++ y\n c\n");
    assert_eq!(
        (hunks[1].start, shown(&hunks[1])),
        (Some(9), "-a\n+b\n".to_owned())
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
        let error = read(&text, Counts::Binding).unwrap_err();
        assert!(error.starts_with("line 1 of the diff:"), "{error}");
        assert!(error.contains("`@@ -1,3 +1,3 @@`"), "{error}");
        let hunks = read(&text, Counts::Recounted).unwrap();
        assert_eq!(shown(&hunks[0]), " a\n-b\n+c\n d\n");
        assert_eq!(hunks[0].recounted.as_deref(), Some("@@ -1,3 +1,3 @@"));
    }
}

#[test]
fn an_empty_line_in_a_body_is_context() {
    let hunks = read("@@ -1,4 +1,4 @@\n a\n\n-b\n+c\n\n", Counts::Binding).unwrap();
    assert_eq!(shown(&hunks[0]), " a\n \n-b\n+c\n \n");
}

#[test]
fn a_remark_in_any_language_takes_the_line_feed() {
    let text = "@@ -1 +1 @@\n-a\n\\ Kein Zeilenumbruch am Dateiende.\n+a\n";
    assert_eq!(shown(&read(text, Counts::Binding).unwrap()[0]), "-a$+a\n");
    assert!(read("@@ -1 +1 @@\n\\ No\n", Counts::Binding).is_err());
}

#[test]
fn bare_headers_name_lines_above_them() {
    let text = "@@ class A\n@@ def f\n-a\n+b\n@@\n-c\n+d\n*** End of File\n";
    let hunks = read(text, Counts::Binding).unwrap();
    assert_eq!(hunks[0].landmarks, ["class A", "def f"]);
    assert_eq!((hunks[1].reach, hunks[1].start), (Reach::End, None));
    for header in ["@@ ... @@", "@@ -?,3 +?,3 @@", "@@ -1,2"] {
        let error = read(&format!("{header}\n-a\n"), Counts::Binding).unwrap_err();
        assert!(error.contains(header), "{error}");
    }
    let error = read("@@@ -1 -1 +1 @@@\n--a\n", Counts::Binding).unwrap_err();
    assert!(error.contains("combined diff"), "{error}");
}

#[test]
fn a_diff_that_was_checked_out_with_carriage_returns_has_none() {
    let cursor = Cursor::new("@@ -1 +1 @@\r\n-a\r\n+b\r\n");
    assert_eq!(
        (cursor.returns, cursor.line(1)),
        (Returns::Everywhere, Some("-a"))
    );
    assert_eq!(cursor.text(1, 3), "-a\r\n+b\r\n");
    assert_eq!(Cursor::new("@@ -1 +1 @@\n-a\r\n").line(1), Some("-a\r"));
}

#[test]
fn the_signature_of_a_mail_is_no_removed_line() {
    let text = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n-- \n2.47.3\n";
    assert_eq!(
        shown(&read(text, Counts::Binding).unwrap()[0]),
        " a\n-b\n+c\n"
    );
}
