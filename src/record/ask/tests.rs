//! What the ledger is asked of a task of several steps.

use super::*;

#[test]
fn the_gravest_of_several_counts() {
    let hints = |read_only, idempotent| task::Effects {
        read_only,
        idempotent,
        ..task::Effects::default()
    };
    let reads = hints(Some(true), None);
    let again = hints(None, Some(true));
    let once = hints(Some(false), None);
    assert_eq!(worst([reads].into_iter()), Effects::None);
    assert_eq!(worst([again, reads].into_iter()), Effects::Idempotent);
    assert_eq!(worst([once, reads, again].into_iter()), Effects::Once);
}
