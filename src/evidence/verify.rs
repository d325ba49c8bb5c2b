//! Verifies the ledger (`oneact verify`): computes every link again, and compares every row with its link, and the
//! chain with copies of its links.
//!
//! Links up to the last knot are read in pages, each in a transaction of its own, and later ones in one transaction. So a long
//! ledger needs no more memory than a short one, and writers do not wait. Only the ends of chains since the last knot, the open
//! claims and the requests for approvals are kept.

mod damage;
mod verdict;
mod vouched;
mod walk;

use std::ops::ControlFlow;

use super::{anchor::signer, signature::PublicKey};
use crate::ledger::{Anchor, Ledger, LedgerError, Trouble, Written, read};
use walk::{Stop, Walk};

pub(crate) use damage::{Broken, Damage, Whose};
pub(crate) use verdict::{HeadSays, Verdict};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Signers<'a> {
    /// No public key is known.
    Nobody,
    /// Signatures are checked, and the head must be signed.
    Demanded(&'a [PublicKey]),
}

/// Examines the whole ledger, and whether it is the chain that `anchors` and the head file name.
pub(crate) fn verify(
    ledger: &mut Ledger<'_>,
    anchors: Vec<Anchor>,
    signers: Signers<'_>,
) -> Result<Verdict, LedgerError> {
    // The head file is read before the chain, which may grow meanwhile.
    let written = ledger.head.read();
    let mut remembered: Vec<(Anchor, Whose)> = Vec::with_capacity(anchors.len() + 1);
    remembered.extend(anchors.into_iter().map(|note| (note, Whose::Anchor)));
    if let Written::Link(note) = &written {
        remembered.push((note.clone(), Whose::HeadFile));
    }
    remembered.sort_by_key(|(note, _)| note.seq);
    let forged = remembered.iter().find_map(|(note, whose)| {
        let why = signer(note, signers.keys()?)?.err()?;
        Some(Damage::Forged { whose: *whose, why })
    });
    let head = head_says(written, signers);
    let mut walk = Walk::new(remembered, head.signed());
    let broken = loop {
        match read(&mut *ledger.store, |tx| walk.page(tx)) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => break None,
            Err(Stop::Broken(broken)) => break Some(broken),
            Err(Stop::Store(error)) if error.trouble == Trouble::Corrupt => {
                break Some(Broken {
                    link: None,
                    good: walk.last(),
                    what: Damage::Stored { why: error.why },
                });
            }
            Err(Stop::Store(error)) => return Err(error.into()),
        }
    };
    ledger.sync();
    let confirmed = walk.confirmed;
    let mut verdict = walk.verdict();
    ledger.store.place().clone_into(&mut verdict.place);
    verdict.head = head;
    let unsigned = match (signers, &verdict.head) {
        (Signers::Nobody, _) | (_, HeadSays::Signed { .. }) => None,
        (Signers::Demanded(_), HeadSays::Nothing) if verdict.links == 0 => None,
        (Signers::Demanded(_), _) => Some(Damage::NotSigned {
            whose: Whose::HeadFile,
        }),
    };
    let said = forged.or(unsigned).map(|what| Broken {
        link: None,
        good: confirmed,
        what,
    });
    verdict.broken = broken.or(said);
    Ok(verdict)
}

impl<'a> Signers<'a> {
    fn keys(self) -> Option<&'a [PublicKey]> {
        match self {
            Self::Nobody => None,
            Self::Demanded(keys) => Some(keys),
        }
    }
}

fn head_says(written: Written, signers: Signers<'_>) -> HeadSays {
    let note = match written {
        Written::Link(note) => note,
        Written::Nothing => return HeadSays::Nothing,
        Written::Blank | Written::Unreadable(_) | Written::Unopened(_) => {
            return HeadSays::Unreadable;
        }
    };
    let seq = note.seq;
    match signers.keys().map(|keys| signer(&note, keys)) {
        None if note.signature.is_some() => HeadSays::Unchecked { seq },
        None | Some(None) => HeadSays::Unsigned { seq },
        Some(Some(Ok(key))) => HeadSays::Signed {
            seq,
            at: note.at,
            fingerprint: key.fingerprint(),
        },
        // The verdict reports it as forged.
        Some(Some(Err(_))) => HeadSays::Unchecked { seq },
    }
}
