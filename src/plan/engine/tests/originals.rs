//! Only the original is put back, and what stands in its place is kept.

use super::*;

/// A change of `file` that was made, with its original in a slot, and a copy in its backup.
fn made(place: &Place, kind: ChangeKind) -> Change {
    let at = |name: &str| place.path.join(name);
    fs::write(at("file"), "old").unwrap();
    fs::copy(at("file"), at("file.bak")).unwrap();
    let before = version(place, "file");
    let after = match kind {
        ChangeKind::Modify => {
            fs::write(at("slot"), "new").unwrap();
            Some(version(place, "slot"))
        }
        _ => None,
    };
    let made = change(kind, ["file", "slot"], Some(before), after);
    make(place, &made);
    made
}

/// What somebody puts in the place of an original, whose time they can set.
fn plant(at: &camino::Utf8Path, what: Planted) {
    match what {
        Planted::Nothing => {}
        Planted::Gone => fs::remove_file(at).unwrap(),
        Planted::Written => {
            let time = fs::metadata(at).unwrap().modified().unwrap();
            fs::write(at, "bad").unwrap();
            let opened = fs::File::open(at).unwrap();
            opened.set_modified(time).unwrap();
        }
        Planted::Exchanged => {
            fs::remove_file(at).unwrap();
            fs::write(at, "bad").unwrap();
        }
        Planted::Link => {
            fs::remove_file(at).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", at).unwrap();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Planted {
    Nothing,
    Gone,
    Written,
    Exchanged,
    Link,
}

#[test]
fn nothing_but_the_original_is_put_back_and_what_is_in_its_place_is_kept() {
    use Planted::{Exchanged, Gone, Link, Nothing, Written};
    for kind in [ChangeKind::Modify, ChangeKind::Delete] {
        for (in_slot, in_backup, restored) in [
            (Nothing, Nothing, true),
            (Nothing, Gone, true),
            (Nothing, Link, true),
            (Gone, Nothing, true),
            (Exchanged, Nothing, true),
            (Link, Nothing, true),
            (Written, Nothing, true),
            (Written, Gone, false),
            (Exchanged, Exchanged, false),
            (Gone, Exchanged, false),
            (Gone, Link, false),
            (Link, Link, false),
        ] {
            let place = place();
            let entry = made(&place, kind.clone());
            plant(&place.path.join("slot"), in_slot);
            plant(&place.path.join("file.bak"), in_backup);
            let undone = undo(&place.root, &entry).unwrap();
            let told = format!("{in_slot:?}, {in_backup:?}: {undone:?}");
            let text = |name: &str| {
                let at = place.path.join(name);
                let plain = fs::symlink_metadata(&at).is_ok_and(|facts| facts.is_file());
                plain.then(|| fs::read_to_string(at).unwrap())
            };
            let left = (kind == ChangeKind::Modify).then_some("new");
            let wanted = if restored { Some("old") } else { left };
            assert_eq!(text("file").as_deref(), wanted, "{told}");
            // Whatever was found in the slot is kept: the caller removes nothing about which there is a conflict.
            let silent = restored && matches!(in_slot, Nothing | Gone);
            assert_eq!(undone.is_none(), silent, "{told}");
            if in_slot == Exchanged {
                let kept = [text("slot"), text("file.bak")];
                assert!(kept.contains(&Some("bad".to_owned())), "{told}");
            }
        }
    }
}

#[test]
fn a_second_name_of_the_new_content_in_the_slot_does_not_hide_that_a_file_was_changed() {
    let place = place();
    let entry = made(&place, ChangeKind::Modify);
    let at = |name: &str| place.path.join(name);
    fs::remove_file(at("slot")).unwrap();
    fs::hard_link(at("file"), at("slot")).unwrap();
    assert!(undo(&place.root, &entry).unwrap().is_some());
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "old");
}

#[test]
fn a_file_that_stands_in_the_place_of_a_renamed_one_is_a_conflict_unless_it_is_the_original() {
    let place = place();
    fs::write(place.path.join("a"), "old").unwrap();
    let before = Some(version(&place, "a"));
    let renamed = ChangeKind::Rename { to: path("c") };
    let rename = change(renamed, ["a", "slot"], before.clone(), before.clone());
    let delete = change(ChangeKind::Delete, ["a", "slot"], before, None);
    // Its inode stays in use.
    fs::hard_link(place.path.join("a"), place.path.join("kept")).unwrap();
    for (saved, conflict) in [("old", false), ("new", true)] {
        fs::write(place.path.join("b"), saved).unwrap();
        fs::rename(place.path.join("b"), place.path.join("a")).unwrap();
        for entry in [&rename, &delete] {
            let undone = undo(&place.root, entry).unwrap();
            assert_eq!(undone.is_some(), conflict, "{entry:?}: {undone:?}");
        }
        assert_eq!(fs::read_to_string(place.path.join("a")).unwrap(), saved);
    }
}

#[test]
fn a_directory_into_which_somebody_put_files_is_not_put_back_with_them() {
    let place = place();
    fs::create_dir(place.path.join("slot")).unwrap();
    fs::write(place.path.join("slot/catalog.toml"), "theirs").unwrap();
    let entry = Change::of_dir(path("dir"), ChangeKind::RemoveDir, path("slot"), None);
    assert!(undo(&place.root, &entry).unwrap().is_some());
    assert_eq!(fs::read_dir(place.path.join("dir")).unwrap().count(), 0);
    assert!(place.path.join("slot/catalog.toml").exists());
}

#[test]
fn a_copy_with_more_permissions_than_the_original_is_not_put_back() {
    let place = place();
    fs::write(place.path.join("slot"), "old").unwrap();
    let before = version(&place, "slot");
    let more = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    fs::set_permissions(place.path.join("slot"), more).unwrap();
    let entry = change(ChangeKind::Delete, ["a", "slot"], Some(before), None);
    assert!(undo(&place.root, &entry).unwrap().is_some());
    assert!(!place.path.join("a").exists());
}

#[test]
fn an_inode_number_does_not_make_a_file_the_original() {
    let text = |place: &Place, name: &str| fs::read_to_string(place.path.join(name)).ok();
    for kind in ["delete", "rename", "modify", "modify back"] {
        let place = place();
        let at = |name: &str| place.path.join(name);
        // What somebody put there. The file system gave it the number of the original, which it had removed.
        fs::write(at("file"), "other").unwrap();
        let mut before = version(&place, "file");
        fs::write(at("file.bak"), "old").unwrap();
        fs::write(at("slot"), "new").unwrap();
        before.facts.bytes = 3;
        before.sha256 = crate::plan::hash::hash(b"old");
        let before = Some(before);
        let entry = match kind {
            "delete" => change(ChangeKind::Delete, ["file", "gone"], before, None),
            "rename" => {
                let kind = ChangeKind::Rename { to: path("gone") };
                change(kind, ["file", "kept"], before.clone(), before)
            }
            _ => {
                let after = Some(version(&place, "slot"));
                // Of the second, the new content was moved back to its slot.
                let slot = if kind == "modify" { "gone" } else { "slot" };
                change(ChangeKind::Modify, ["file", slot], before, after)
            }
        };
        let undone = undo(&place.root, &entry).unwrap();
        let told = undone.unwrap_or_else(|| panic!("{kind}")).to_string();
        assert!(told.contains("its original is kept as file.bak"), "{told}");
        assert_eq!(text(&place, "file").as_deref(), Some("other"), "{kind}");
    }
}

#[test]
fn a_renamed_file_that_somebody_wrote_to_stays_and_its_original_comes_back() {
    let place = place();
    let at = |name: &str| place.path.join(name);
    fs::write(at("c"), "old").unwrap();
    let before = Some(version(&place, "c"));
    fs::copy(at("c"), at("a.bak")).unwrap();
    fs::write(at("c"), "bad").unwrap();
    let kind = ChangeKind::Rename { to: path("c") };
    let rename = change(kind, ["a", "slot"], before.clone(), before);
    assert!(undo(&place.root, &rename).unwrap().is_some());
    assert_eq!(fs::read_to_string(at("a")).unwrap(), "old");
    assert_eq!(fs::metadata(at("a")).unwrap().nlink(), 1);
    assert_eq!(fs::read_to_string(at("c")).unwrap(), "bad");
}
