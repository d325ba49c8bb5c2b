//! Single changes, made and taken back.

mod originals;

use std::{fs, os::unix::fs::MetadataExt};

use camino::Utf8PathBuf;
use tempfile::TempDir;

use super::{
    apply,
    content::is_between,
    entry::{Entry, Post, Pre, Way},
    folder::Folder,
    undo::undo,
};
use crate::{plan::files::Root, task::RelPath};

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
fn make(place: &Place, entry: &Entry) {
    let folder = Folder::create(&place.root, "plan").unwrap();
    apply::apply(&folder, entry).unwrap();
}

fn path(name: &str) -> RelPath {
    RelPath::parse(name).unwrap()
}

fn gone() -> Entry {
    Entry::RemoveDir {
        path: path("made"),
        slot: path("slot"),
    }
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
fn what_was_written_in_place_is_as_old_as_before_when_it_is_taken_back() {
    let place = place();
    let (file, backup) = (place.path.join("bound"), place.path.join("bound.bak"));
    for path in [&file, &backup] {
        fs::write(path, "before").unwrap();
    }
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let opened = fs::File::open(&file).unwrap();
    opened.set_modified(long_ago).unwrap();
    let pre = Pre {
        facts: place.root.look(&path("bound")).unwrap().unwrap(),
        sha256: super::hash(b"before"),
        backup: path("bound.bak"),
        attributes: None,
    };
    let entry = Entry::Modify {
        path: path("bound"),
        slot: path("slot"),
        pre,
        post: Post {
            ino: 0,
            bytes: 5,
            sha256: super::hash(b"after"),
            attributes: None,
        },
        way: Way::InPlace,
    };
    fs::write(place.path.join("slot"), "after").unwrap();
    fs::write(&file, "after").unwrap();
    for _ in 0..2 {
        assert_eq!(undo(&place.root, &entry).unwrap(), None);
        assert_eq!(fs::read_to_string(&file).unwrap(), "before");
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), long_ago);
    }
    // What is neither the one nor the other was written by somebody else.
    fs::write(&file, "theirs").unwrap();
    let undone = undo(&place.root, &entry).unwrap();
    assert!(undone.is_some(), "{undone:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
}

#[test]
fn half_of_a_writing_in_place_is_told_from_the_work_of_others() {
    let (old, new) = (vec![b'o'; 10_000], vec![b'n'; 9_000]);
    let mut half = old.clone();
    half.splice(..4096, new.iter().copied().take(4096));
    assert!(is_between(&half, &old, &new));
    assert!(is_between(&new, &old, &new) && is_between(&old, &old, &new));
    *half.get_mut(100).unwrap() = b'x';
    assert!(!is_between(&half, &old, &new));
    assert!(!is_between(&[b'o'; 10_001], &old, &new));
}

#[test]
fn what_others_wrote_to_a_file_of_ours_while_it_was_taken_back_is_not_lost() {
    let place = place();
    let text = |name: &str| fs::read_to_string(place.path.join(name)).unwrap();
    fs::write(place.path.join("slot"), "new").unwrap();
    let facts = place.root.look(&path("slot")).unwrap().unwrap();
    let entry = Entry::Create {
        path: path("made.txt"),
        slot: path("slot"),
        post: Post {
            ino: facts.ino,
            bytes: 3,
            sha256: super::hash(b"new"),
            attributes: None,
        },
    };
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
    folder.clear_slots(&[]).unwrap();
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
        let pre = Pre {
            facts: place.root.look(&path("notes")).unwrap().unwrap(),
            sha256: super::hash(b"checked"),
            backup: path("notes.bak"),
            attributes: None,
        };
        // The plan comes too late: it has to give back what it takes.
        save(&place.path, "first");
        let folder = Folder::create(&place.root, &format!("plan_{round}")).unwrap();
        folder.make_slots().unwrap();
        let slot = folder.slot(0).unwrap();
        let staged = place.path.join(slot.as_str());
        fs::write(&staged, "ours").unwrap();
        let entry = Entry::Modify {
            path: path("notes"),
            slot,
            pre,
            post: Post {
                ino: fs::metadata(&staged).unwrap().ino(),
                bytes: 4,
                sha256: super::hash(b"ours"),
                attributes: None,
            },
            way: Way::Exchange,
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                for number in 2..5 {
                    save(&place.path, &format!("save {number}"));
                }
            });
            start.wait();
            let applied = apply::apply(&folder, &entry);
            assert!(
                matches!(applied, Err(apply::ApplyError::Changed(_))),
                "{applied:?}"
            );
        });
        let now = fs::read_to_string(place.path.join("notes")).unwrap();
        assert_eq!(now, "save 4", "in round {round}");
    }
}
