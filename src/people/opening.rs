//! Opens the ledger of a project for people, and verifies it.

use camino::{Utf8Path, Utf8PathBuf};

use super::{naming::CommandError, reading::Reading};
use crate::{
    evidence::{
        self, AnchorError, KeyError, Signers, Verdict, public_half, read_anchors, read_signers,
        signing,
    },
    host::Host,
    ledger::{Ledger, LedgerError, Wish},
    record::Project,
    task::Failure,
};

/// Why the ledger of a project cannot be opened or verified.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("{}", .0.message)]
    Place(Failure),
    #[error(transparent)]
    Read(#[from] CommandError),
    #[error(
        "the request of {0} or of one of its calls was pruned, so it is not known what was called"
    )]
    Forgotten(String),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl Project {
    /// Opens the ledger for reading, if there is one.
    pub(crate) fn reading(&self, host: &Host) -> Result<Reading, OpenError> {
        let (place, _) = self.found().map_err(OpenError::Place)?;
        let reading = Reading::open(&place, host.timestamp())?;
        tracing::info!("The ledger is {}.", reading.place());
        Ok(reading)
    }

    /// Opens the ledger for `wish`. Returns it with the key that signs its head.
    pub(crate) fn open<'h>(
        &self,
        wish: Wish,
        host: &'h Host,
    ) -> Result<(Ledger<'h>, Option<Utf8PathBuf>), OpenError> {
        let (place, rule) = self.found().map_err(OpenError::Place)?;
        let key = self.sign_key(&rule);
        let ledger = Ledger::open(&place, &self.state_dir, wish, host)?;
        Ok((ledger.signed_by(key.clone().map(signing)), key))
    }
}

/// Verifies the ledger against a file of anchors, and signatures against the keys that may sign.
pub(crate) fn verify<'h>(
    anchors: Option<&Utf8Path>,
    signers: Option<&Utf8Path>,
    project: &Project,
    host: &'h Host,
) -> Result<(Ledger<'h>, Verdict), OpenError> {
    let anchors = anchors.map(read_anchors).transpose()?;
    let asked = signers.map(read_signers).transpose()?;
    let (mut ledger, key) = project.open(Wish::Read, host)?;
    let own = || key.map(|key| public_half(&key)).transpose();
    let keys = asked.map_or_else(own, |asked| Ok(Some(asked)))?;
    let signers = match &keys {
        Some(keys) => Signers::Demanded(keys),
        None => Signers::Nobody,
    };
    let verdict = evidence::verify::verify(&mut ledger, anchors.unwrap_or_default(), signers)?;
    Ok((ledger, verdict))
}
