//! Links in the tree: followed inside the root, never out of it, and no way round the rules.

use super::*;

#[test]
fn a_link_is_followed_inside_the_root_and_stays_a_link() {
    let lab = Lab::new(&[("dir/real.txt", "one\n")]);
    std::os::unix::fs::symlink("dir/real.txt", lab.root.join("link.txt")).unwrap();
    let finished = lab.run(plan(json!([replace("a001", "link.txt", "one", "two")])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    assert_eq!(lab.read("dir/real.txt"), "two\n");
    assert!(
        fs::symlink_metadata(lab.root.join("link.txt"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn a_rule_about_a_file_in_a_linked_directory_is_held_against_the_file_itself() {
    let lab = Lab::new(&[("dir/real.txt", "one\n")]);
    std::os::unix::fs::symlink("dir", lab.root.join("link")).unwrap();
    let mut action = replace("a001", "link/real.txt", "one", "two");
    action["validation_rules"] = json!(["file_exists", {"type": "contains", "text": "two"}]);
    let finished = lab.run(plan(json!([action])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    assert_eq!(lab.read("dir/real.txt"), "two\n");
}

#[test]
fn no_link_leads_out_of_the_root_r_001_157_r_001_158() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("secret.txt");
    fs::write(&target, "one\n").unwrap();
    std::os::unix::fs::symlink(&target, lab.root.join("link.txt")).unwrap();
    std::os::unix::fs::symlink(outside.path(), lab.root.join("dir")).unwrap();
    for name in ["link.txt", "dir/secret.txt"] {
        let finished = lab.run(plan(json!([replace("a001", name, "one", "two")])));
        let failure = finished.failure.unwrap();
        assert_eq!(failure.fault, Fault::PathOutside, "{name}: {failure:?}");
        assert!(
            failure.message.contains("Path traversal attempt detected"),
            "{failure:?}"
        );
    }
    assert_eq!(fs::read_to_string(target).unwrap(), "one\n");
}

#[test]
fn a_protected_file_is_protected_through_a_link_too_r_001_25() {
    let lab = Lab::new(&[(".env", "KEY=one\n")]);
    std::os::unix::fs::symlink(".env", lab.root.join("plain.txt")).unwrap();
    let finished = lab.run(plan(json!([replace("a001", "plain.txt", "one", "two")])));
    assert_eq!(finished.failure.unwrap().fault, Fault::ProtectedFile);
    assert_eq!(lab.read(".env"), "KEY=one\n");
}

#[test]
fn a_link_to_a_path_of_more_than_128_names_is_refused_as_the_path_itself_is() {
    let lab = Lab::new(&[]);
    let deep = vec!["a"; 128].join("/");
    fs::create_dir_all(lab.root.join(&deep)).unwrap();
    let file = format!("{deep}/f");
    let links = [
        ("l", deep.clone()),
        ("relative", file.clone()),
        ("absolute", lab.root.join(&file).into_string()),
    ];
    for (name, target) in links {
        std::os::unix::fs::symlink(target, lab.root.join(name)).unwrap();
    }
    for name in ["l/f", "relative", "absolute"] {
        let finished = lab.run(plan(json!([replace("a001", name, "one", "two")])));
        let failed = finished.failure.unwrap();
        assert_eq!(failed.fault, Fault::PathOutside, "{failed:?}");
        let message = failed.message;
        assert!(message.ends_with("it has more than 128 names"), "{message}");
        assert!(!message.contains("traversal"), "{message}");
    }
}

#[test]
fn a_link_that_leaves_another_link_is_refused_because_its_target_is_elsewhere() {
    let lab = Lab::new(&[("b", "one\n"), ("c/b", "one\n"), ("c/d/x", "")]);
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, lab.root.join(name)).unwrap();
    };
    link("c/d", "a");
    link("c/d/../b", "plain");
    for (name, target) in [("l", "a/../b"), ("file", "b/../b"), ("gone", "nope/../b")] {
        link(target, name);
    }
    link(lab.root.join("a/../b").as_str(), "absolute");
    for name in ["l", "file", "gone", "absolute"] {
        let finished = lab.run(plan(json!([replace("a001", name, "one", "two")])));
        assert!(finished.failure.is_some(), "{name}");
    }
    let finished = lab.run(plan(json!([replace("a001", "plain", "one", "two")])));
    assert!(finished.failure.is_none(), "{:?}", finished.failure);
    assert_eq!(
        (lab.read("b"), lab.read("c/b")),
        ("one\n".into(), "two\n".into())
    );
}
