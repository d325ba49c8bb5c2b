//! Facts about claims and who holds them.

use super::Ledger;
use super::given::{begun, claim, refused, seen, written};
use crate::ledger::{
    record::{Claim, ClaimState, Effects},
    store::{Store, Trouble, Tx},
};

pub(crate) fn a_claim_takes_the_place_of_the_one_before_and_goes_by_its_number(
    ledger: &dyn Ledger,
) {
    let mut store = begun(ledger);
    let (first, other) = (claim("a", 2), claim("b", 1));
    written(&mut *store, |tx| {
        tx.put_claim(&first)?;
        tx.put_claim(&other)
    });
    let taken_over = Claim {
        state: ClaimState::Unknown,
        effects: Effects::Idempotent,
        ..claim("a", 4)
    };
    let mut second = ledger.open();
    assert_eq!(
        seen(&mut *second, |tx| tx.claim(&first.key)),
        Some(first.clone())
    );
    written(&mut *second, |tx| tx.put_claim(&taken_over));
    assert_eq!(
        seen(&mut *store, Tx::claims),
        [other.clone(), taken_over.clone()]
    );
    let drop_it =
        |store: &mut dyn Store, seq| written(store, |tx| tx.drop_claim(&first.key, Some(seq)));
    drop_it(&mut *store, 2);
    assert_eq!(
        seen(&mut *store, |tx| tx.claim(&first.key)),
        Some(taken_over)
    );
    drop_it(&mut *second, 4);
    drop_it(&mut *second, 4);
    assert_eq!(seen(&mut *store, |tx| tx.claim(&first.key)), None);
    assert_eq!(seen(&mut *store, Tx::claims), [other]);
}

pub(crate) fn two_claims_never_have_one_number(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    written(&mut *store, |tx| tx.put_claim(&claim("a", 2)));
    refused(&mut *store, |tx| tx.put_claim(&claim("b", 2)));
    refused(&mut *store, |tx| tx.put_claim(&claim("b", 10)));
}

pub(crate) fn whoever_holds_a_claim_is_seen_by_others_until_it_ends(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let mut other = ledger.open();
    assert!(!other.held(3).unwrap());
    store.hold(3).unwrap();
    store.hold(5).unwrap();
    assert!(store.held(3).unwrap());
    assert!(other.held(3).unwrap());
    assert!(!other.held(4).unwrap());
    assert!(matches!(&other.hold(3), Err(error) if error.trouble == Trouble::Busy));
    other.hold(4).unwrap();
    assert!(store.held(4).unwrap());
    store.release(3);
    store.release(4);
    assert!(!other.held(3).unwrap());
    assert!(!store.held(3).unwrap());
    assert!(store.held(4).unwrap());
    assert!(other.held(5).unwrap());
    drop(store);
    assert!(!other.held(5).unwrap());
    other.hold(5).unwrap();
}
