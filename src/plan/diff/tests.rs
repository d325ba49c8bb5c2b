//! Facts about diffs, some of them asked of git itself.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use super::*;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// A file of a tree: content and mode.
type File<'a> = Option<(&'a str, &'a [u8], u32)>;

fn with_pair<T>(before: File<'_>, after: File<'_>, act: impl FnOnce(Pair<'_>) -> T) -> T {
    fn side<'s>((name, file): &'s (RelPath, (&'s [u8], u32))) -> Side<'s> {
        let &(bytes, mode) = file;
        Side { name, bytes, mode }
    }
    let of = |(name, bytes, mode)| (path(name), (bytes, mode));
    let (before, after) = (before.map(of), after.map(of));
    act(Pair {
        before: before.as_ref().map(side),
        after: after.as_ref().map(side),
    })
}

fn whole(pair: Pair<'_>) -> String {
    unified(pair, Reader::User).0
}

fn changed(before: &str, after: &str) -> DiffSummary {
    let (old, new) = (
        ("f", before.as_bytes(), 0o644),
        ("f", after.as_bytes(), 0o644),
    );
    with_pair(Some(old), Some(new), summary)
}

fn write(dir: &Path, file: File<'_>) {
    let Some((name, bytes, mode)) = file else {
        return;
    };
    let at = dir.join(name);
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(&at, bytes).unwrap();
    fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
}

/// Every file below a directory: name, content, mode.
fn tree(dir: &Path) -> Vec<(String, Vec<u8>, u32)> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let at = entry.unwrap().path();
            if at.is_dir() {
                todo.push(at);
            } else {
                let name = at.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                let mode = fs::metadata(&at).unwrap().permissions().mode() & 0o777;
                found.push((name, fs::read(&at).unwrap(), mode));
            }
        }
    }
    found.sort();
    found
}

/// Lets `git apply` make the change, and compares with the change itself.
fn git_makes(before: File<'_>, after: File<'_>) {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(here.path(), before);
    write(there.path(), after);
    let patch = with_pair(before, after, whole);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &patch).unwrap();
    let applied = Command::new("git")
        .args(["apply", "--whitespace=nowarn"])
        .arg(file.path())
        .current_dir(here.path())
        .env("GIT_CEILING_DIRECTORIES", "/")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&applied.stderr);
    assert!(applied.status.success(), "{said}\n{patch}");
    assert_eq!(tree(here.path()), tree(there.path()), "{patch}");
}

#[test]
fn git_apply_makes_the_same_change() {
    let m = 0o644;
    let long = (0..200)
        .map(|n| format!("line {n}\n"))
        .collect::<Vec<_>>()
        .concat();
    let edited = long
        .replace("line 3\n", "")
        .replace("line 50\n", "line fifty\nand more\n");
    let edited = edited.replace("line 199\n", "the end");
    for (before, after) in [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("a\nb", "a\nc"),
        ("a\n", ""),
        ("", "a\n"),
        ("", "a"),
        ("a\r\nb\r\nc", "a\r\nB\r\nc"),
        ("\u{feff}a\n", "\u{feff}b\n"),
        ("x\nx\nx\nx\nx\nx\nx\nx\n", "x\nx\nx\nx\nx\nx\nx\n"),
        ("a\n", "a\na\na\na\na\n"),
        ("\n\n\n", "\n\n\n\n"),
        ("--- a/f\n+++ b/f\n", "--- a/f\n"),
        ("ü\u{85}ü\n", "ü\u{85}\u{2028}\n"),
        (&long, &edited),
        (&edited, &long),
    ] {
        git_makes(
            Some(("dir/f.txt", before.as_bytes(), m)),
            Some(("dir/f.txt", after.as_bytes(), m)),
        );
    }
}

#[test]
fn of_more_than_a_million_lines_all_are_replaced_and_git_applies_it() {
    let with = |middle: &str| format!("1\n2\n3\n4\n{}5\n", middle.repeat(1_000_100));
    let (before, after) = (with("a\n"), with("b\n"));
    let told = changed(&before, &after);
    assert_eq!(
        (told.lines_added, told.lines_removed),
        (1_000_100, 1_000_100)
    );
    let begins = "@@ -2,1000104 +2,1000104 @@\n 2\n 3\n 4\n-a\n";
    assert!(told.preview.contains(begins), "{}", told.preview);
    git_makes(
        Some(("f", before.as_bytes(), 0o644)),
        Some(("f", after.as_bytes(), 0o644)),
    );
}

#[test]
fn git_apply_creates_deletes_and_renames() {
    let text = b"one\ntwo\nthree\nfour\nfive\n".as_slice();
    let other = b"one\ntwo\n3\nfour\nfive\n".as_slice();
    git_makes(None, Some(("new/deep/f", text, 0o644)));
    git_makes(None, Some(("run.sh", b"#!/bin/sh\n", 0o755)));
    git_makes(None, Some(("empty", b"", 0o644)));
    git_makes(Some(("f", text, 0o644)), None);
    git_makes(Some(("empty", b"", 0o644)), None);
    git_makes(Some(("a", text, 0o644)), Some(("d/b", text, 0o644)));
    git_makes(Some(("a", text, 0o644)), Some(("d/b", other, 0o755)));
    git_makes(Some(("a", text, 0o644)), Some(("a", text, 0o755)));
    git_makes(Some(("a", b"\0bin", 0o644)), Some(("b", b"\0bin", 0o644)));
}

#[test]
fn git_apply_reads_odd_names() {
    for name in [
        "a b",
        "ü/ö",
        "say \"hi\"",
        "-rf",
        "a b/ü \"",
        "日本/語.txt",
        "'$(id)'",
        "#x",
    ] {
        git_makes(Some((name, b"a\n", 0o644)), Some((name, b"b\n", 0o644)));
        git_makes(None, Some((name, b"b\n", 0o644)));
        git_makes(Some((name, b"b\n", 0o644)), None);
        git_makes(Some((name, b"b\n", 0o644)), Some(("to/x y", b"b\n", 0o644)));
    }
}

#[test]
fn random_edits_are_applied_by_git() {
    let mut random = fastrand::Rng::with_seed(4);
    for _ in 0..60 {
        let lines = |random: &mut fastrand::Rng, n: usize| -> Vec<String> {
            (0..n).map(|_| format!("{}\n", random.u8(0..6))).collect()
        };
        let n = random.usize(0..40);
        let mut text = lines(&mut random, n);
        let before = text.concat();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..=text.len());
            let end = random.usize(at..=text.len().min(at + 3));
            let n = random.usize(0..4);
            let put = lines(&mut random, n);
            text.splice(at..end, put);
        }
        let mut after = text.concat();
        if random.bool() {
            after = after.trim_end().to_owned();
        }
        if before != after {
            git_makes(
                Some(("f", before.as_bytes(), 0o644)),
                Some(("f", after.as_bytes(), 0o644)),
            );
        }
    }
}

#[test]
fn a_diff_reads_as_git_prints_it() {
    let old = Some(("a b/ü.txt", b"1\n2\n3\n4\n5".as_slice(), 0o644));
    let new = Some(("a b/ü.txt", b"1\n2\n3\n4\n6\n".as_slice(), 0o644));
    let text = with_pair(old, new, whole);
    assert_eq!(
        text,
        "diff --git \"a/a b/\\303\\274.txt\" \"b/a b/\\303\\274.txt\"\n\
         --- \"a/a b/\\303\\274.txt\"\t\n\
         +++ \"b/a b/\\303\\274.txt\"\t\n\
         @@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n\\ No newline at end of file\n+6\n"
    );
    let nothing = with_pair(old, old, whole);
    assert_eq!(nothing, "");
}

#[test]
fn binary_files_are_said_to_differ() {
    let (old, new) = (
        Some(("x", b"\0a".as_slice(), 0o644)),
        Some(("x", b"\0bc".as_slice(), 0o644)),
    );
    assert_eq!(
        with_pair(old, new, whole),
        format!(
            "diff --git a/x b/x\nBinary files a/x and b/x differ\nbefore: 2 bytes, SHA-256 {}\nafter: 3 bytes, SHA-256 {}\n",
            hash(b"\0a"),
            hash(b"\0bc")
        )
    );
    let told = with_pair(old, new, summary);
    assert_eq!(
        told.preview,
        "Binary files differ: 2 bytes before, 3 bytes after."
    );
    assert_eq!((told.lines_added, told.lines_removed), (0, 0));
    assert_eq!(
        with_pair(None, Some(("x", b"\xff".as_slice(), 0o644)), summary).preview,
        "Binary file of 1 bytes."
    );
}

#[test]
fn a_summary_counts_lines_and_begins_the_diff_r_001_58() {
    let told = changed("a\nb\nc\n", "a\nB\nbb\nc\n");
    assert_eq!((told.lines_added, told.lines_removed), (2, 1));
    assert_eq!(
        told.preview,
        "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+bb\n c\n"
    );
}

#[test]
fn a_preview_has_500_characters_at_most_and_counts_characters_not_bytes_r_001_58() {
    let after: String = (0..400).map(|_| "ü\n").collect();
    let told = changed("", &after);
    assert_eq!(told.preview.chars().count(), 500);
    assert!(told.preview.ends_with("+ü\n+ü\n+"), "{}", told.preview);
    assert_eq!((told.lines_added, told.lines_removed), (400, 0));
    let one_line = changed("", &"ü".repeat(100_000));
    assert_eq!(one_line.preview.chars().count(), 500);
}

#[test]
fn a_preview_of_a_mere_rename_names_both() {
    let text = b"a\n".as_slice();
    let told = with_pair(Some(("a", text, 0o644)), Some(("b", text, 0o644)), summary);
    assert_eq!(told.preview, "rename from a\nrename to b\n");
    assert_eq!((told.lines_added, told.lines_removed), (0, 0));
}

#[test]
fn only_the_diff_for_the_user_shows_credentials_r_001_161() {
    let (old, new) = (
        b"password = a\n".as_slice(),
        b"password = hunter2\n".as_slice(),
    );
    let (old, new) = (Some(("f", old, 0o644)), Some(("f", new, 0o644)));
    let told = with_pair(old, new, summary).preview;
    assert!(
        told.contains("-password = ***\n+password = ***\n"),
        "{told}"
    );
    assert!(with_pair(old, new, whole).contains("hunter2"));
    let (shown, hidden) = with_pair(old, new, |pair| unified(pair, Reader::Approvers));
    assert_eq!(hidden, 2);
    assert!(
        shown.contains("-password = ***\n+password = ***\n"),
        "{shown}"
    );
}

#[test]
fn only_what_lies_between_the_differences_is_compared() {
    let lines = |n: usize| {
        (0..n)
            .map(|n| format!("{n}\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    let before = lines(20_000);
    let after = before.replace("\n10000\n", "\nten thousand\n");
    let told = changed(&before, &after);
    assert_eq!((told.lines_added, told.lines_removed), (1, 1));
    assert_eq!(
        told.preview,
        "--- a/f\n+++ b/f\n@@ -9998,7 +9998,7 @@\n 9997\n 9998\n 9999\n-10000\n+ten thousand\n \
         10001\n 10002\n 10003\n"
    );
}
