//! Single changes, made and taken back.

mod originals;

use std::{fs, os::unix::fs::MetadataExt};

use camino::Utf8PathBuf;
use tempfile::TempDir;

use super::{
    apply::{self, Way},
    folder::Folder,
    undo::undo,
};
use crate::{
    plan::change::{Change, ChangeKind, Version},
    task::RelPath,
    tree::{Root, View},
};

struct Place {
    _dir: TempDir,
    path: Utf8PathBuf,
    root: Root,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::try_from(dir.path().canonicalize().unwrap()).unwrap();
    let root = Root::open(&path).unwrap();
    Place {
        _dir: dir,
        path,
        root,
    }
}

/// Makes a change as a plan does.
fn make(place: &Place, change: &Change) {
    apply::apply(&View::of(&place.root), change, Way::Exchange).unwrap();
}

/// The file at a path, as it is now.
fn version(place: &Place, name: &str) -> Version {
    let bytes = fs::read(place.path.join(name)).unwrap();
    Version {
        facts: place.root.look(&path(name)).unwrap().unwrap(),
        sha256: crate::plan::hash::hash(&bytes),
        attributes: String::new(),
    }
}

/// A change of a file with its slot, and its backup if there was a file.
fn change(
    kind: ChangeKind,
    at: [&str; 2],
    before: Option<Version>,
    after: Option<Version>,
) -> Change {
    let backup = before.as_ref().map(|_| path(&format!("{}.bak", at[0])));
    Change {
        before,
        after,
        backup,
        ..Change::of_dir(path(at[0]), kind, path(at[1]), None)
    }
}

fn path(name: &str) -> RelPath {
    RelPath::parse(name).unwrap()
}

fn gone() -> Change {
    Change::of_dir(path("made"), ChangeKind::RemoveDir, path("slot"), None)
}

#[test]
fn an_empty_directory_is_removed_and_the_same_one_comes_back() {
    let place = place();
    let made = place.path.join("made");
    fs::create_dir(&made).unwrap();
    let before = fs::metadata(&made).unwrap().ino();
    make(&place, &gone());
    assert!(!made.exists());
    for _ in 0..2 {
        assert_eq!(undo(&place.root, &gone()).unwrap(), None);
        assert_eq!(fs::metadata(&made).unwrap().ino(), before);
    }
}

#[test]
fn a_directory_in_which_others_have_files_stays() {
    let place = place();
    fs::create_dir(place.path.join("made")).unwrap();
    fs::write(place.path.join("made/theirs"), "theirs").unwrap();
    make(&place, &gone());
    assert!(place.path.join("made/theirs").exists());
    assert_eq!(undo(&place.root, &gone()).unwrap(), None);
}

#[test]
fn a_directory_that_others_have_made_anew_is_not_replaced() {
    let place = place();
    fs::create_dir(place.path.join("made")).unwrap();
    make(&place, &gone());
    fs::write(place.path.join("made"), "theirs").unwrap();
    let undone = undo(&place.root, &gone()).unwrap();
    assert!(undone.is_some(), "{undone:?}");
    assert!(place.path.join("slot").is_dir());
}

#[test]
fn what_others_wrote_to_a_file_of_ours_while_it_was_taken_back_is_not_lost() {
    let place = place();
    let text = |name: &str| fs::read_to_string(place.path.join(name)).unwrap();
    fs::write(place.path.join("slot"), "new").unwrap();
    let after = version(&place, "slot");
    let entry = change(ChangeKind::Create, ["made.txt", "slot"], None, Some(after));
    make(&place, &entry);
    fs::write(place.path.join("made.txt"), "new and theirs").unwrap();
    let undone = undo(&place.root, &entry).unwrap();
    assert!(undone.is_some(), "{undone:?}");
    assert_eq!(text("made.txt"), "new and theirs");
}

#[test]
fn slots_of_directories_yet_to_be_made_lie_beside_them_and_are_cleared_away() {
    let place = place();
    let folder = Folder::create(&place.root, "plan").unwrap();
    fs::create_dir(place.path.join("there")).unwrap();
    let dir = folder.slot_beside(&path("there/x/y"), 0).unwrap();
    let file = folder.slot_beside(&path("there/x/y/n.txt"), 1).unwrap();
    assert_eq!(dir, path("there/.oneact-plan-0"));
    assert_eq!(file, path("there/.oneact-plan-1"));
    fs::create_dir(place.path.join(dir.as_str())).unwrap();
    fs::write(place.path.join(file.as_str()), "new").unwrap();
    folder.clear_slots(&[dir, file], &[]).unwrap();
    let left = fs::read_dir(place.path.join("there")).unwrap().count();
    assert_eq!(left, 0);
}

/// What an editor does: a new file, renamed over the old one.
fn save(dir: &camino::Utf8Path, text: &str) {
    fs::write(dir.join("notes~"), text).unwrap();
    fs::rename(dir.join("notes~"), dir.join("notes")).unwrap();
}

#[test]
fn the_newest_of_the_saves_that_come_while_a_change_is_given_back_stays() {
    const ROUNDS: usize = 500;
    let place = place();
    let start = std::sync::Barrier::new(2);
    for round in 0..ROUNDS {
        save(&place.path, "checked");
        let before = version(&place, "notes");
        // The plan comes too late: it has to give back what it takes.
        save(&place.path, "first");
        let folder = Folder::create(&place.root, &format!("plan_{round}")).unwrap();
        folder.make_slots().unwrap();
        let slot = folder.slot(0).unwrap();
        let staged = place.path.join(slot.as_str());
        fs::write(&staged, "ours").unwrap();
        let after = version(&place, slot.as_str());
        let entry = change(
            ChangeKind::Modify,
            ["notes", slot.as_str()],
            Some(before),
            Some(after),
        );
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                for number in 2..5 {
                    save(&place.path, &format!("save {number}"));
                }
            });
            start.wait();
            let applied = apply::apply(&View::of(&place.root), &entry, Way::Exchange);
            assert!(
                matches!(applied, Err(apply::ApplyError::Changed(_))),
                "{applied:?}"
            );
        });
        let now = fs::read_to_string(place.path.join("notes")).unwrap();
        assert_eq!(now, "save 4", "in round {round}");
    }
}

/// Somebody may have used it, and the plan is not to make it once more.
#[test]
fn a_file_that_was_made_and_is_gone_does_not_show_that_its_plan_was_undone() {
    let place = place();
    fs::write(place.path.join("made"), "new").unwrap();
    let after = version(&place, "made");
    let made = change(ChangeKind::Create, ["made", "slot"], None, Some(after));
    fs::remove_file(place.path.join("made")).unwrap();
    assert!(!super::is_undone(&place.root, &[made]).unwrap());
}
