//! Facts about manifests that are read back.

use super::*;

fn manifest() -> Manifest<'static> {
    manifest_of(story())
}

/// The manifest after rollbacks.
fn undone(undone: &[(Uuid, At)]) -> Manifest<'static> {
    manifest_of(Story {
        undone: undone.to_vec(),
        ..story()
    })
}

fn ids(points: &[&Point<'_>]) -> Vec<Uuid> {
    points.iter().map(|point| point.id()).collect()
}

#[test]
fn of_a_plan_that_is_stuck_what_was_put_back_is_noted() {
    let mut whole = story();
    whole.end.rollback = Rollback::Stuck {
        at: at(8),
        left: vec![uuid(2)],
    };
    let manifest = manifest_of(whole);
    assert_eq!(manifest.status, ManifestStatus::Active, "one is left");
    let undone = manifest.checkpoints.iter();
    assert_eq!(undone.filter(|it| it.undone_at.is_some()).count(), 4);
}

#[test]
fn a_manifest_is_usable_until_it_is_used_up_or_has_expired() {
    let now = at(20).timestamp();
    assert_eq!(manifest().usable(now), Ok(()));
    let mut expiring = story();
    expiring.undo.as_mut().unwrap().expires = Some(at(20));
    let manifest = manifest_of(expiring);
    let expired = manifest.usable(now).unwrap_err();
    let says = "it expired at 2026-02-24T10:00:20.250+08:00; if `backups/` still contains files, ";
    assert!(expired.starts_with(says), "{expired}");
    assert_eq!(manifest.usable(at(19).timestamp()), Ok(()));
    let every: Vec<(Uuid, At)> = (1..=5).map(|n| (uuid(n), at(21))).collect();
    let manifest = undone(&every);
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
    let some = [(uuid(5), at(20)), (uuid(3), at(20))];
    assert_eq!(undone(&some).status, ManifestStatus::Active);
    let rest = [4, 2, 1].map(|n| (uuid(n), at(21)));
    let manifest = undone(&[some.as_slice(), &rest].concat());
    assert_eq!(manifest.status, ManifestStatus::Executed);
    assert_eq!(manifest.executed_at, Some(&at(21)), "R-001-119");
    assert_eq!(manifest.checkpoints[4].undone_at, Some(&at(20)));
}

/// For each of these changes, the numbers of those that must be restored before it. Each has an action of its own.
fn resting(changes: &[(ReportedChange, Option<&str>, &str)]) -> Vec<Vec<u128>> {
    let mut story = story();
    story.run.actions.clear();
    let each = changes
        .iter()
        .enumerate()
        .map(|(n, (kind, from, path))| Told {
            n: n as u128 + 1,
            action: ["a", "b", "c"][n],
            kind: *kind,
            from: *from,
            path,
            before: (*kind != ReportedChange::Create).then_some("x"),
            after: (*kind != ReportedChange::Delete).then_some("x"),
            mode: 0o644,
        });
    let made: Vec<Change> = each.map(|told| change(&told)).collect();
    story.undo.as_mut().unwrap().changes = made;
    let manifest = manifest_of(story);
    let number = |id: &Uuid| id.as_u128() & 0xff;
    let each = manifest.checkpoints.iter();
    each.map(|point| point.depends_on.iter().map(number).collect())
        .collect()
}

#[test]
fn changes_in_one_place_are_taken_back_in_their_order() {
    use ReportedChange::{Create, Delete, Rename};
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
