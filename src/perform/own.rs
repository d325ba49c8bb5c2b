//! What oneact keeps for itself, wherever its settings put it: no plan may touch it.

use camino::Utf8PathBuf;

use crate::{
    catalog::{Catalog, LedgerRule, ledger_rule},
    ledger::Place,
};

use super::{
    Settings,
    book::{place, sign_key},
};

/// The name of a catalog that plans may change with an approval.
const CATALOG: &str = "catalog.toml";

/// Files and directories. What cannot be read of the settings names none: then nothing is recorded either.
pub(super) fn files(settings: &Settings) -> Vec<Utf8PathBuf> {
    let rule = rule(settings);
    let mut own = Place::kept_in(&settings.state_dir);
    own.push(settings.state_dir.clone());
    own.extend(sign_key(settings, &rule));
    if let Ok(place) = place(settings, &rule) {
        own.extend(place.files());
    }
    if settings.catalog.file_name() != Some(CATALOG) {
        own.push(settings.catalog.clone());
    }
    own
}

fn rule(settings: &Settings) -> LedgerRule {
    let rule = || {
        let catalog = Catalog::load(&settings.catalog).ok()?;
        let tables = catalog.tables().ok()?;
        ledger_rule(&tables).ok()
    };
    rule().unwrap_or_default()
}
