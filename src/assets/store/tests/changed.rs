//! A file that changes after its check, or that has another name, does not change an asset.

use std::time::Duration;

use super::*;

#[test]
fn what_is_exchanged_after_the_check_is_no_asset() {
    let place = place();
    let staged = place.staged("good");
    let prepared = place.store.prepare("s", "f", &staged, None).unwrap();
    fs::remove_file(&staged).unwrap();
    symlink("/etc/passwd", &staged).unwrap();
    let error = prepared.commit().unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
    let path = place.root.join("agent_outputs/assets/s/f");
    assert!(fs::symlink_metadata(path).is_err());
}

#[test]
fn a_file_with_another_name_is_copied_and_not_changed() {
    let place = place();
    let other = place.root.join("other");
    fs::write(&other, "content").unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o6777)).unwrap();
    let staged = place.root.join("linked");
    fs::hard_link(&other, &staged).unwrap();
    let stored = place.store.place("s", "f", &staged).unwrap();
    let made = fs::metadata(&stored.path).unwrap();
    let known = fs::metadata(&other).unwrap();
    assert_ne!(made.ino(), known.ino());
    assert_eq!((made.nlink(), made.mode() & 0o7777 & !0o022), (1, 0o644));
    assert_eq!(known.mode() & 0o7777, 0o6777);
    fs::write(&other, "another").unwrap();
    assert_eq!(fs::read_to_string(&stored.path).unwrap(), "content");
}

#[test]
fn what_grows_after_the_check_is_no_asset() {
    let place = place();
    let staged = place.staged("good");
    let prepared = place.store.prepare("s", "f", &staged, None).unwrap();
    fs::write(&staged, "good and more").unwrap();
    let error = prepared.commit().unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
}

/// A later step may have written to the asset of an earlier one: only what was checked is stored.
#[test]
fn what_is_written_between_the_check_and_the_end_of_the_task_is_no_asset() {
    let place = place();
    let staged = place.staged("good");
    let seen = stat_at(&staged).unwrap();
    // A new name of the same file is no change.
    fs::hard_link(&staged, place.root.join("another name")).unwrap();
    let kept = place.store.prepare("s", "f", &staged, Some(&seen)).unwrap();
    kept.commit().unwrap();

    let staged = place.staged("good");
    let seen = stat_at(&staged).unwrap();
    thread::sleep(Duration::from_millis(30));
    fs::write(&staged, "evil").unwrap();
    let error = place
        .store
        .prepare("s", "g", &staged, Some(&seen))
        .unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
}
