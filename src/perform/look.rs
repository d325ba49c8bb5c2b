//! For people who look at the record: where it is, opened to be read.

use crate::{
    catalog::{Catalog, CatalogError, LedgerRule, ledger_rule},
    ledger::Place,
    task::Failure,
};

use super::{Settings, book::place};

pub(crate) use crate::ledger::{
    Decision, Difference, Fact, How, Made, Most, Open, Page, Reading, RecordError, Row, RowOutcome,
    RowState, Step, Whole,
};

/// Why nothing can be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    #[error("{}", .0.message)]
    Place(Failure),
    #[error(transparent)]
    Read(#[from] RecordError),
}

/// Opens the ledger of a project, where there is one.
pub(crate) fn look(settings: &Settings) -> Result<Reading, LookError> {
    let (place, _) = found(settings).map_err(LookError::Place)?;
    let reading = Reading::open(&place)?;
    tracing::info!("The ledger is {}.", reading.place());
    Ok(reading)
}

/// Whether runs can record: in which ledger, or why not; none where there is nothing to look at yet.
pub(crate) fn recordable(settings: &Settings) -> Result<Option<String>, String> {
    let (place, _) = found(settings).map_err(|failure| failure.message)?;
    place.usable().map_err(|error| error.to_string())
}

/// Where the ledger of a project is, with or without a catalog, and what else the catalog says of it.
pub(super) fn found(settings: &Settings) -> Result<(Place, LedgerRule), Failure> {
    let said = || match Catalog::load(&settings.catalog) {
        Err(CatalogError::Missing { .. }) => Ok(LedgerRule::default()),
        catalog => ledger_rule(&catalog?.tables()?),
    };
    let rule = match (&settings.ledger, said()) {
        // What the environment says stands above the catalog, also above a broken one.
        (Some(_), Err(error)) => {
            tracing::warn!("What the catalog says of the ledger is not known: {error}");
            LedgerRule::default()
        }
        (_, said) => said?,
    };
    Ok((place(settings, &rule)?, rule))
}
