//! A file that changes after its check, or that has another name, does not change an asset.

use std::time::Duration;

use super::*;

#[test]
fn what_is_exchanged_after_the_check_is_no_asset() {
    let place = place();
    let staged = place.staged("good");
    let prepared = place.store.prepared("s", "f", &staged, None).unwrap();
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
    let made = fs::metadata(stored.path()).unwrap();
    let known = fs::metadata(&other).unwrap();
    assert_ne!(made.ino(), known.ino());
    assert_eq!((made.nlink(), made.mode() & 0o7777 & !0o022), (1, 0o644));
    assert_eq!(known.mode() & 0o7777, 0o6777);
    fs::write(&other, "another").unwrap();
    assert_eq!(fs::read_to_string(stored.path()).unwrap(), "content");
}

#[test]
fn what_grows_after_the_check_is_no_asset() {
    let place = place();
    let staged = place.staged("good");
    let prepared = place.store.prepared("s", "f", &staged, None).unwrap();
    fs::write(&staged, "good and more").unwrap();
    let error = prepared.commit().unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
}

#[test]
fn what_is_written_between_the_check_and_the_store_is_no_asset_even_with_its_old_time() {
    let place = place();
    let staged = place.staged("good");
    let seen = stat_at(&staged).unwrap();
    let time = fs::metadata(&staged).unwrap().modified().unwrap();
    thread::sleep(Duration::from_millis(30));
    fs::write(&staged, "evil").unwrap();
    File::open(&staged).unwrap().set_modified(time).unwrap();
    let refused = place.store.prepared("s", "g", &staged, Some(&seen));
    assert!(
        matches!(refused, Err(StoreError::Changed(_))),
        "{refused:?}"
    );
}

#[test]
fn a_file_that_is_exchanged_for_the_checked_one_is_no_asset() {
    let place = place();
    let staged = place.staged("good");
    let seen = stat_at(&staged).unwrap();
    let other = place.root.join("other");
    fs::write(&other, "evil").unwrap();
    let time = fs::metadata(&staged).unwrap().modified().unwrap();
    File::open(&other).unwrap().set_modified(time).unwrap();
    fs::rename(&other, &staged).unwrap();
    let refused = place.store.prepared("s", "f", &staged, Some(&seen));
    assert!(
        matches!(refused, Err(StoreError::Changed(_))),
        "{refused:?}"
    );
}
