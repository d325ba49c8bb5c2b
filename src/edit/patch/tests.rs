//! Where hunks fit, and which diffs are refused whatever the file contains.

use super::*;
use crate::edit::patched;

fn apply(diff: &str, before: &str) -> Result<(String, String), String> {
    let file = RelPath::parse("f.txt").unwrap();
    let patch = Patch::parse(diff, &file, DiffRules::default());
    let patch = patch.map_err(|error| error.to_string())?;
    let edited = patched(&patch, before.as_bytes(), &|| None);
    let edited = edited.map_err(|error| error.to_string())?;
    Ok((String::from_utf8(edited.bytes).unwrap(), edited.said))
}

/// Six lines that occur twice, with others between them.
const TWICE: &str = "a\nb\nc\n1\n2\n3\na\nb\nc\n";

#[test]
fn a_stated_line_counts_if_all_hunks_fit_at_theirs() {
    let (after, said) = apply("@@ -7,3 +7,3 @@\n a\n-b\n+B\n c\n", TWICE).unwrap();
    assert_eq!(after, "a\nb\nc\n1\n2\n3\na\nB\nc\n");
    assert_eq!(said, "1 hunk applied");
}

#[test]
fn a_stated_line_proves_nothing_if_another_hunk_is_elsewhere() {
    let diff = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -9,2 +9,2 @@\n-2\n+two\n 3\n";
    let error = apply(diff, TWICE).unwrap_err();
    assert!(error.contains("several places (lines 1, 7)"), "{error}");
    let diff = "@@ -9,2 +9,2 @@\n-2\n+two\n 3\n";
    let (after, said) = apply(diff, TWICE).unwrap();
    assert_eq!(after, "a\nb\nc\n1\ntwo\n3\na\nb\nc\n");
    assert_eq!(said, "1 hunk applied; hunk 1 at line 5, not at line 9");
}

#[test]
fn a_bare_hunk_fits_below_its_landmarks() {
    let file = "def f():\n  x\n  y\ndef g():\n  x\n  y\n";
    let (after, _) = apply("@@ def g():\n   x\n-  y\n+  z\n", file).unwrap();
    assert_eq!(after, "def f():\n  x\n  y\ndef g():\n  x\n  z\n");
    for header in ["@@", "@@ def f():"] {
        let error = apply(&format!("{header}\n   x\n-  y\n+  z\n"), file).unwrap_err();
        assert!(error.contains("lines 2, 5"), "{error}");
    }
    let error = apply("@@ def h():\n   x\n-  y\n", file).unwrap_err();
    assert!(
        error.contains("`def h():`, which the file does not have"),
        "{error}"
    );
    let (after, _) = apply("@@ x\n   q\n-r\n", "x\n  y\nx\n  q\nr\n").unwrap();
    assert_eq!(after, "x\n  y\nx\n  q\n");
    let (after, _) = apply("@@\n   x\n-  y\n+  z\n*** End of File\n", file).unwrap();
    assert!(after.starts_with("def f():\n  x\n  y\n"), "{after}");
}

#[test]
fn the_hash_of_the_file_before_is_proof() {
    // The hash that git gives to "a\n".
    let diff = |hash: &str| format!("index {hash}..0000000 100644\n@@ -1 +1 @@\n-a\n+b\n");
    let (_, said) = apply(&diff("78981922613b2afb6025042ff6bd878ac1994e85"), "a\n").unwrap();
    assert!(
        said.ends_with("proves that the diff was made from this file"),
        "{said}"
    );
    let (_, said) = apply(&diff("7898192"), "a\n").unwrap();
    assert!(said.contains("proves"), "{said}");
    let (_, said) = apply(&diff("1111111"), "a\n").unwrap();
    assert!(said.contains("another version"), "{said}");
}

#[test]
fn a_diff_of_another_file_or_of_more_than_content_is_refused() {
    let error = |diff: &str| apply(diff, "a\n").unwrap_err();
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    assert!(error(&format!("--- a/g.txt\n+++ b/g.txt\n{hunk}")).contains("names `f.txt`"));
    assert!(error(&format!("{hunk}--- a/f.txt\n+++ b/f.txt\n{hunk}")).contains("another file"));
    assert!(error("*** Begin Patch\n").contains("of coding agents"));
    assert!(error(&format!("rename from f.txt\nrename to g.txt\n{hunk}")).contains("renames"));
    assert!(error("@@ -1 +1 @@\n-a\n+a\n").contains("hunk 1 changes nothing"));
}

#[test]
fn an_insertion_without_context_needs_an_empty_file() {
    let diff = "@@ -0,0 +1 @@\n+b\n";
    assert_eq!(apply(diff, "").unwrap().0, "b\n");
    let error = apply(diff, "a\n").unwrap_err();
    assert!(error.contains("without a line around them"), "{error}");
}
