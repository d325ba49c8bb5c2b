//! Does the ledger say what it said? Every link is computed anew, every row compared with its link, and
//! the chain with what others remember of it (`oneact verify`).
//!
//! It is read in pages, each in a transaction of its own: a long chain needs no more memory than a short
//! one, and nobody who records waits for us. Kept are the ids of pruned rows and what is open.

mod walk;

use super::{
    Ledger, LedgerError,
    anchor::{Note, Written},
    record::Seq,
    signature::PublicKey,
    store::{Trouble, read},
    verdict::{Broken, Damage, HeadSays, Verdict, Whose},
};
use walk::{Progress, Stop, Walk};

/// Who may sign.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Signers<'a> {
    /// No public key is known.
    Nobody,
    /// Signatures are checked where there are any.
    Known(&'a [PublicKey]),
    /// And the head has to be signed.
    Demanded(&'a [PublicKey]),
}

impl Ledger<'_> {
    /// Examines all of it, and that it is the chain that `anchors` and the head file name.
    pub(crate) fn verify(
        &mut self,
        anchors: Vec<Note>,
        signers: Signers<'_>,
    ) -> Result<Verdict, LedgerError> {
        // Before the chain, which may grow meanwhile.
        let written = self.head.read();
        let mut remembered: Vec<(Note, Whose)> = Vec::with_capacity(anchors.len() + 1);
        remembered.extend(anchors.into_iter().map(|note| (note, Whose::Anchor)));
        if let Written::Note(note) = &written {
            remembered.push((note.clone(), Whose::HeadFile));
        }
        remembered.sort_by_key(|(note, _)| note.seq);
        let forged = remembered.iter().find_map(|note| forged(note, signers));
        let mut walk = Walk::new(remembered);
        let broken = loop {
            match read(&mut *self.store, |tx| walk.page(tx)) {
                Ok(Progress::More) => {}
                Ok(Progress::Ended) => break None,
                Err(Stop::Broken(broken)) => break Some(broken),
                Err(Stop::Store(error)) if error.trouble == Trouble::Corrupt => {
                    break Some(stored(walk.next(), error.why));
                }
                Err(Stop::Store(error)) => return Err(error.into()),
            }
        };
        let mut verdict = walk.verdict();
        self.store.place().clone_into(&mut verdict.place);
        verdict.head = head_says(written, signers);
        let said = forged.or_else(|| unsigned(&verdict.head, signers));
        let good = verdict.anchored;
        let said = said.map(|what| Broken {
            link: None,
            good,
            what,
        });
        verdict.broken = broken.or(said);
        Ok(verdict)
    }
}

impl<'a> Signers<'a> {
    fn keys(self) -> Option<&'a [PublicKey]> {
        match self {
            Self::Nobody => None,
            Self::Known(keys) | Self::Demanded(keys) => Some(keys),
        }
    }
}

/// What is stored for these links or beside them is nothing that a ledger holds.
fn stored(from: Seq, why: String) -> Broken {
    Broken {
        link: None,
        good: from.checked_sub(1),
        what: Damage::Stored { why },
    }
}

/// A signature that is there and is not one of the signers'.
fn forged((note, whose): &(Note, Whose), signers: Signers<'_>) -> Option<Damage> {
    let why = note.signer(signers.keys()?)?.err()?;
    let whose = *whose;
    Some(Damage::Forged { whose, why })
}

fn unsigned(head: &HeadSays, signers: Signers<'_>) -> Option<Damage> {
    let whose = Whose::HeadFile;
    match (signers, head) {
        (Signers::Nobody | Signers::Known(_), _) | (_, HeadSays::Signed { .. }) => None,
        (Signers::Demanded(_), _) => Some(Damage::NotSigned { whose }),
    }
}

fn head_says(written: Written, signers: Signers<'_>) -> HeadSays {
    let note = match written {
        Written::Nothing => return HeadSays::Nothing,
        Written::Blank | Written::Unreadable(_) | Written::Unopened(_) => {
            return HeadSays::Unreadable;
        }
        Written::Note(note) => note,
    };
    let seq = note.seq;
    let signer = match signers.keys() {
        Some(keys) => note.signer(keys),
        None if note.signature.is_some() => return HeadSays::Unchecked { seq },
        None => None,
    };
    match signer {
        None => HeadSays::Unsigned { seq },
        Some(Ok(key)) => HeadSays::Signed {
            seq,
            at: note.at,
            fingerprint: key.fingerprint(),
        },
        // Told as a forgery.
        Some(Err(_)) => HeadSays::Unchecked { seq },
    }
}
