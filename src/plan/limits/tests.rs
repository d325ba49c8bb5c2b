//! What tightens, what never widens, and what is said of it.

use super::*;

fn limits(config: Option<&Constraints>) -> (Limits, Vec<String>) {
    let mut notes = Vec::new();
    let limits = Limits::of(&Bounds::default(), &Kept::default(), config, &mut notes).unwrap();
    (limits, notes)
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

#[test]
fn without_a_configuration_the_limits_are_those_of_001_11_2() {
    let (limits, notes) = limits(None);
    assert_eq!(
        (
            limits.max_files,
            limits.max_file_bytes,
            limits.max_backup_bytes,
            limits.max_concurrency
        ),
        (100, 52_428_800, 524_288_000, 4)
    );
    assert_eq!(limits.operations.len(), 7);
    assert!(notes.is_empty());
}

#[test]
fn a_configuration_without_keys_means_the_origins_defaults_and_says_so() {
    let (limits, notes) = limits(Some(&Constraints::default()));
    assert_eq!((limits.max_files, limits.max_file_bytes), (10, 10_485_760));
    assert_eq!(limits.operations, BTreeSet::from([ActionType::FileModify]));
    assert_eq!(notes.len(), 3);
    let refused = limits.allows(ActionType::FileCreate).unwrap_err();
    assert_eq!(refused.fault, Fault::OperationNotAllowed);
    assert!(
        refused.message.contains("which the plan does not give"),
        "{}",
        refused.message
    );
    let refused = limits.fits_files(11).unwrap_err();
    assert_eq!(refused.fault, Fault::LimitExceeded);
    assert!(
        refused.message.contains("default of"),
        "{}",
        refused.message
    );
    assert!(limits.fits_files(10).is_ok());
}

#[test]
fn the_paths_of_the_directories_of_a_plan_are_bounded_together() {
    assert!(fits_directories(2_097_152).is_ok());
    let refused = fits_directories(2_097_153).unwrap_err();
    assert_eq!(refused.fault, Fault::LimitExceeded);
    assert!(
        refused.message.contains("split the plan"),
        "{}",
        refused.message
    );
}

#[test]
fn a_configuration_tightens_and_never_widens() {
    let bounds = Bounds {
        operations: BTreeSet::from([ActionType::FileModify, ActionType::FileCreate]),
        max_files: 20,
        max_file_bytes: 1000,
        ..Bounds::default()
    };
    let wide = Constraints {
        max_files: Some(100),
        operations: Some(BTreeSet::from([
            ActionType::FileModify,
            ActionType::FileDelete,
        ])),
        max_file_bytes: Some(5000),
        ..Constraints::default()
    };
    let mut notes = Vec::new();
    let limits = Limits::of(&bounds, &Kept::default(), Some(&wide), &mut notes).unwrap();
    assert_eq!((limits.max_files, limits.max_file_bytes), (20, 1000));
    assert_eq!(limits.operations, BTreeSet::from([ActionType::FileModify]));
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(limits.fits_file(&path("a"), 1000).is_ok());
    assert_eq!(
        limits.fits_file(&path("a"), 1001).unwrap_err().fault,
        Fault::LimitExceeded
    );
    let tight = Constraints {
        max_files: Some(1),
        max_file_bytes: Some(5),
        ..wide
    };
    let limits = Limits::of(&bounds, &Kept::default(), Some(&tight), &mut notes).unwrap();
    assert_eq!((limits.max_files, limits.max_file_bytes), (1, 5));
}

#[test]
fn the_configurations_defaults_do_not_widen_a_tighter_catalog() {
    let bounds = Bounds {
        operations: BTreeSet::from([ActionType::FileCreate]),
        max_files: 3,
        ..Bounds::default()
    };
    let limits = Limits::of(
        &bounds,
        &Kept::default(),
        Some(&Constraints::default()),
        &mut Vec::new(),
    );
    let limits = limits.unwrap();
    assert_eq!(limits.max_files, 3);
    assert!(limits.operations.is_empty());
}

#[test]
fn a_protected_file_needs_an_approval_and_the_message_says_for_what() {
    let (limits, _) = limits(None);
    let refused = limits.admits(&path("sub/.env")).unwrap_err();
    assert_eq!(
        (refused.fault, refused.fault.number()),
        (Fault::ProtectedFile, 3100)
    );
    assert!(
        refused
            .message
            .contains("an approval for exactly this plan"),
        "{}",
        refused.message
    );
    assert!(limits.admits(&path("src/main.rs")).is_ok());
}

#[test]
fn a_class_that_the_catalog_protects_for_good_promises_no_approval() {
    let mut bounds = Bounds::default();
    bounds.protection.critical.rule = Protection::Never;
    let limits = Limits::of(&bounds, &Kept::default(), None, &mut Vec::new()).unwrap();
    let refused = limits.admits(&path(".git/HEAD")).unwrap_err();
    assert!(
        refused.message.contains("no approval"),
        "{}",
        refused.message
    );
}

#[test]
fn forbidden_files_are_told_apart_by_who_forbids_them() {
    let (limits, _) = limits(Some(&Constraints {
        forbidden: vec![PathPattern::parse("*.lock").unwrap()],
        ..Constraints::default()
    }));
    let fault = |text: &str| limits.admits(&path(text)).unwrap_err().fault;
    assert_eq!(fault("a/Cargo.lock"), Fault::OperationNotAllowed);
    assert_eq!(fault(".oneact/ledger"), Fault::ProtectedFile);
}
