//! The actions that a diff becomes, and what a plan cannot express.

use super::*;

fn plan(diff: &str) -> Result<Vec<Value>, String> {
    let made = from_diff(
        diff.as_bytes(),
        DiffRules::default(),
        Utf8Path::new("/nowhere"),
    );
    let made = made.map_err(|failure| failure.message)?;
    Ok(made["action_plan"].as_array().unwrap().clone())
}

/// The type, the target and what an action waits for.
fn told(actions: &[Value]) -> Vec<(String, String, Value)> {
    let text = |of: &Value| of.as_str().unwrap().to_owned();
    actions
        .iter()
        .map(|action| {
            let after = action.get("depends_on").cloned().unwrap_or(json!([]));
            (
                text(&action["operation"]["type"]),
                text(&action["target"]),
                after,
            )
        })
        .collect()
}

fn renamed(from: &str, to: &str) -> String {
    format!(
        "diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n"
    )
}

#[test]
fn a_file_takes_a_path_after_it_is_free() {
    let actions = plan(&(renamed("a", "b") + &renamed("b", "c"))).unwrap();
    let row = |kind: &str, target: &str, after: Value| (kind.to_owned(), target.to_owned(), after);
    assert_eq!(
        told(&actions),
        [
            row("rename", "a", json!(["a002"])),
            row("rename", "b", json!([]))
        ]
    );
    let created =
        "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n";
    let actions = plan(&(created.to_owned() + &renamed("a", "b"))).unwrap();
    assert_eq!(told(&actions)[0], row("create", "a", json!(["a002"])));
}

#[test]
fn a_copy_without_hunks_has_no_index_line_to_be_required() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x"), "a\n").unwrap();
    let rules = DiffRules {
        require_index: true,
        ..DiffRules::default()
    };
    let diff = "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n";
    let root = Utf8Path::from_path(dir.path()).unwrap();
    let made = from_diff(diff.as_bytes(), rules, root).unwrap();
    assert_eq!(made["action_plan"][0]["operation"]["content"], "a\n");
}

#[test]
fn sections_of_one_file_follow_each_other() {
    let section = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";
    let actions = plan(&section.repeat(2)).unwrap();
    assert_eq!(actions[1]["depends_on"], json!(["a001"]));
}

#[test]
fn names_are_read_without_their_prefixes() {
    let target =
        |diff: &str| plan(diff).map(|actions| actions[0]["target"].as_str().unwrap().to_owned());
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    for (names, path) in [
        ("--- a/x/y.c\n+++ b/x/y.c\n", "x/y.c"),
        (
            "--- pkg-1.0/y.c\t2026-01-01 00:00:00 +0000\n+++ pkg-1.1/y.c\t2026-01-02 00:00:00 +0000\n",
            "y.c",
        ),
        ("--- y.c.orig\n+++ y.c\n", "y.c"),
        (
            "Index: y.c\n===\n--- y.c\t(revision 1)\n+++ y.c\t(working copy)\n",
            "y.c",
        ),
        ("diff --git a/y.c a/y.c\n--- a/y.c\n+++ a/y.c\n", "a/y.c"),
        (
            "diff --git \"a/\\303\\251.c\" \"b/\\303\\251.c\"\n--- \"a/\\303\\251.c\"\n+++ \"b/\\303\\251.c\"\n",
            "é.c",
        ),
    ] {
        assert_eq!(
            target(&format!("{names}{hunk}")).as_deref(),
            Ok(path),
            "{names}"
        );
    }
    let error = target(&format!("--- a/x\n+++ b/y\n{hunk}")).unwrap_err();
    assert!(error.contains("two files"), "{error}");
}

#[test]
fn all_that_a_plan_cannot_express_is_named() {
    let diff = "diff --git a/l b/l\ndeleted file mode 120000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline\n\
        diff --cc m\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\nBinary files x and y differ\n";
    let error = plan(diff).unwrap_err();
    for words in [
        "line 1 of the diff: `a/l b/l`: a plan can make a symbolic link",
        "line 8 of the diff",
        "line 12 of the diff",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn begin_patch_has_its_own_shape() {
    let of = |inner: &str| plan(&format!("*** Begin Patch\n{inner}*** End Patch\n"));
    let kinds = |inner| {
        told(&of(inner).unwrap())
            .into_iter()
            .map(|(kind, ..)| kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        kinds("*** Add File: a\n+x\n*** Delete File: b\n"),
        ["create", "delete"]
    );
    assert_eq!(kinds("*** Update File: a\n*** Move to: b\n"), ["rename"]);
    assert_eq!(kinds("*** Update File: a\n x\n-y\n"), ["patch"]);
    for (inner, words) in [
        ("*** Update File: a\n", "no hunk follows"),
        (
            "*** Update File: a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n",
            "unified diff inside",
        ),
        (
            "*** Add File: a\nx\n",
            "no part of a `*** Begin Patch` text",
        ),
    ] {
        let error = of(inner).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    let error = plan("*** Begin Patch\n*** Add File: a\n+x\n").unwrap_err();
    assert!(error.contains("`*** End Patch` is missing"), "{error}");
}
