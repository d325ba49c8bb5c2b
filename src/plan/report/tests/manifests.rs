//! Facts about manifests that are read back.

use super::*;

fn manifest() -> Manifest {
    told(&story()).manifest.unwrap()
}

/// The manifest's text with one replaced by another.
fn parsed(from: &str, to: &str) -> Result<Manifest, String> {
    let text = String::from_utf8(bytes(&manifest())).unwrap();
    assert!(text.contains(from), "{from} is not in\n{text}");
    Manifest::parse(text.replacen(from, to, 1).as_bytes())
}

fn ids(points: &[&Point]) -> Vec<Uuid> {
    points.iter().map(|point| point.checkpoint_id).collect()
}

#[test]
fn what_is_written_is_read_back_as_it_was() {
    let mut whole = story();
    whole.undo.as_mut().unwrap().expires = Some(at(30));
    whole.rollback = Rollback::Stuck {
        at: at(8),
        left: vec![uuid(2)],
    };
    let manifest = told(&whole).manifest.unwrap();
    let written = bytes(&manifest);
    assert_eq!(Manifest::parse(&written), Ok(manifest.clone()));
    assert_eq!(bytes(&Manifest::parse(&written).unwrap()), written);
    assert_eq!(manifest.status, ManifestStatus::Active, "one is left");
}

#[test]
fn a_manifest_that_is_none_says_why() {
    for (from, to, says) in [
        (
            "\"ACTIVE\"",
            "\"DONE\"",
            "unknown variant `DONE`, expected one of `ACTIVE`",
        ),
        ("\"status\"", "\"state\"", "unknown field `state`"),
        (
            "\"old.txt\"",
            "\"../old.txt\"",
            "`../old.txt` is not a path below the root",
        ),
        ("\"DELETE\"", "\"UNLINK\"", "unknown variant `UNLINK`"),
        ("2026-02-24T10:00:01", "yesterday", "is no point in time"),
        ("\"plan_id\": \"plan-001\",", "", "missing field `plan_id`"),
    ] {
        match parsed(from, to) {
            Err(why) if why.starts_with("it is no rollback manifest: ") => {
                assert!(why.contains(says), "{why}");
            }
            other => panic!("{from}: {other:?}"),
        }
    }
    let why = Manifest::parse(b"{").unwrap_err();
    assert!(why.starts_with("it is no rollback manifest: "), "{why}");
}

#[test]
fn a_manifest_that_contradicts_itself_is_refused() {
    let (first, second) = (uuid(1).to_string(), uuid(2).to_string());
    for (from, to, says) in [
        (
            first.as_str(),
            second.as_str(),
            "two checkpoints have the same id",
        ),
        (
            "\"CREATE\"",
            "\"MODIFY\"",
            "the fields of the original do not fit",
        ),
        ("\"DELETE\"", "\"MODIFY\"", "`result_hash` does not fit"),
        ("\"RENAME\"", "\"MODIFY\"", "`new_path` does not fit"),
        ("\"0444\"", "\"rw\"", "no octal mode"),
        (
            "\"original_hash\": \"",
            "\"original_hash\": \"0",
            "no SHA-256",
        ),
    ] {
        match parsed(from, to) {
            Err(why) if why.starts_with("it contradicts itself: ") => {
                assert!(why.contains(says), "{why}");
            }
            other => panic!("{from}: {other:?}"),
        }
    }
    let mut manifest = manifest();
    manifest.rollback_order.pop();
    assert!(Manifest::parse(&bytes(&manifest)).is_err());
}

#[test]
fn a_manifest_is_usable_until_it_is_used_up_or_has_expired() {
    let now = at(20).timestamp();
    let mut manifest = manifest();
    assert_eq!(manifest.usable(now), Ok(()));
    manifest.expires_at = Some(At::from(&at(20)));
    let expired = manifest.usable(now).unwrap_err();
    let says = "it expired at 2026-02-24T10:00:20.250+08:00; if `backups/` still contains files, ";
    assert!(expired.starts_with(says), "{expired}");
    assert_eq!(manifest.usable(at(19).timestamp()), Ok(()));
    let every: Vec<Uuid> = (1..=5).map(uuid).collect();
    manifest.restored(&every, &at(21));
    let executed = manifest.usable(now).unwrap_err();
    let says = "it was used up at 2026-02-24T10:00:21.250+08:00: ";
    assert!(executed.starts_with(says), "{executed}");
}

#[test]
fn a_whole_rollback_goes_backwards_r_001_66() {
    let manifest = manifest();
    let all = manifest.to_restore(&[]).unwrap();
    assert_eq!(ids(&all), [5, 4, 3, 2, 1].map(uuid));
}

#[test]
fn a_checkpoint_takes_all_that_rests_on_it_with_it_r_001_110() {
    let manifest = manifest();
    let some = manifest.to_restore(&[uuid(3).to_string()]).unwrap();
    assert_eq!(ids(&some), [5, 3].map(uuid));
    let alone = manifest.to_restore(&[uuid(4).to_string()]).unwrap();
    assert_eq!(ids(&alone), [uuid(4)]);
    let unknown = manifest.to_restore(&["nope".to_owned()]).unwrap_err();
    assert!(unknown.contains("no checkpoint `nope`"), "{unknown}");
    assert!(unknown.contains("(old.txt)"), "{unknown}");
}

#[test]
fn the_last_checkpoint_that_is_restored_uses_the_manifest_up_r_001_118() {
    let mut manifest = manifest();
    manifest.restored(&[uuid(5), uuid(3)], &at(20));
    assert_eq!(manifest.status, ManifestStatus::Active);
    manifest.restored(&[4, 2, 1].map(uuid), &at(21));
    assert_eq!(manifest.status, ManifestStatus::Executed);
    assert_eq!(manifest.executed_at, Some(At::from(&at(21))), "R-001-119");
    assert_eq!(manifest.checkpoints[4].undone_at, Some(At::from(&at(20))));
}

/// For each of these changes, the numbers of those that must be restored before it. Each has an action of its own.
fn resting(changes: &[(ChangeKind, Option<&str>, &str)]) -> Vec<Vec<u128>> {
    let mut story = story();
    story.run.actions.clear();
    let told = changes
        .iter()
        .enumerate()
        .map(|(n, (kind, from, path))| Told {
            n: n as u128 + 1,
            action: ["a", "b", "c"][n],
            kind: *kind,
            from: *from,
            path,
            before: (*kind != ChangeKind::Create).then_some("x"),
            after: (*kind != ChangeKind::Delete).then_some("x"),
            mode: 0o644,
        });
    let made: Vec<Change> = told.map(|told| change(&told)).collect();
    story.undo.as_mut().unwrap().changes = made;
    let manifest = Manifest::at_the_end(&story).unwrap();
    let number = |id: &Uuid| id.as_u128() & 0xff;
    let each = manifest.checkpoints.iter();
    each.map(|point| point.depends_on.iter().map(number).collect())
        .collect()
}

#[test]
fn changes_in_one_place_are_taken_back_in_their_order() {
    use ChangeKind::{Create, Delete, Rename};
    // A name that was freed by a rename is used again.
    let swap = [
        (Rename, Some("a"), "b"),
        (Rename, Some("c"), "a"),
        (Create, None, "c"),
    ];
    assert_eq!(resting(&swap), [vec![2], vec![3], vec![]]);
    // A file makes room for a directory.
    let room = [
        (Delete, None, "d"),
        (Create, None, "d/x"),
        (Create, None, "e"),
    ];
    assert_eq!(resting(&room), [vec![2], vec![], vec![]]);
    assert_eq!(
        resting(&[(Create, None, "ab"), (Create, None, "a")]),
        [vec![], Vec::new()]
    );
}
