//! Symbolic links on the way to an asset.

use super::*;
use crate::assets::open_within;

#[test]
fn the_usual_place_is_no_link_and_a_named_one_may_be() {
    for link in ["agent_outputs", "agent_outputs/assets"] {
        let place = place();
        let (elsewhere, link) = (place.root.join("elsewhere"), place.root.join(link));
        fs::create_dir_all(&elsewhere).unwrap();
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&elsewhere, &link).unwrap();
        let usual = Directory::open(ASSETS, &place.root);
        assert!(matches!(usual, Err(StoreError::Symlink(_))), "{link}");
        symlink(&elsewhere, place.root.join("named")).unwrap();
        assert!(Directory::open("named", &place.root).is_ok());
    }
}

#[test]
fn a_session_directory_that_is_a_link_is_not_followed() {
    let place = place();
    let outside = place.root.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(place.root.join("agent_outputs/assets")).unwrap();
    symlink(&outside, place.root.join("agent_outputs/assets/s")).unwrap();
    let error = place.store.place("s", "f", &place.staged("x")).unwrap_err();
    assert!(matches!(error, StoreError::Symlink { .. }), "{error}");
    assert_eq!(files_under(&outside), Vec::<String>::new());
}

#[test]
fn a_link_at_the_final_name_is_replaced_and_its_target_untouched() {
    let place = place();
    let path = place
        .store
        .place("s", "f", &place.staged("old"))
        .unwrap()
        .path();
    let target = place.root.join("target");
    fs::write(&target, "target").unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&target, &path).unwrap();
    place.store.place("s", "f", &place.staged("new")).unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "target");
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
}

#[test]
fn only_what_lies_below_the_place_is_opened_whatever_leads_there() {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(folder.path()).unwrap();
    let place = root.join("place");
    fs::create_dir_all(place.join("deep")).unwrap();
    for file in ["secret", "place/a", "place/deep/b", "placebo"] {
        fs::write(root.join(file), file).unwrap();
    }
    symlink("place", root.join("linked")).unwrap();
    symlink("..", place.join("up")).unwrap();
    symlink("../secret", place.join("leak")).unwrap();
    let open = |path: &str| open_within(&place, &root.join(path));
    for inside in [
        "place/a",
        "linked/a",
        "place/deep/b",
        "place/deep/../a",
        "place/up/place/a",
    ] {
        assert!(matches!(open(inside), Ok(Some(_))), "{inside}");
    }
    for outside in [
        "secret",
        "placebo",
        "place/../secret",
        "place/up/secret",
        "missing",
        "place/..",
        "/etc/passwd",
        "/proc/self/environ",
    ] {
        assert!(matches!(open(outside), Ok(None)), "{outside}");
    }
    for unusable in [
        "place/leak",
        "place/missing",
        "place/missing/../../secret",
        "place/deep",
    ] {
        assert!(open(unusable).is_err(), "{unusable}");
    }
    assert!(matches!(
        open_within(&root.join("none"), &root.join("none/a")),
        Ok(None)
    ));
}
