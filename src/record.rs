//! The ledger during a run: the run asks it before a task is performed, waits for an approval if it needs one, and
//! records how the task ended. [`Project`] says where the ledger and all other files of oneact are.

mod ask;
mod beside;
mod ended;
mod escalation;
mod redacted;
mod review;
mod said;
mod wording;
mod world;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    assets::{Store, reach},
    catalog::{
        Catalog, CatalogError, CatalogTables, LedgerRule, Storage, approval_settings, ledger_rule,
        storage,
    },
    evidence::{KeyError, can_sign, public_file},
    executor::Desk,
    host::{Host, new_at, resolved},
    ledger::Place,
    task::{Course, Failure, Fault, OperationId},
};

pub(crate) use crate::ledger::TaskRun;
pub(crate) use ask::worst;
pub(crate) use beside::{Begun, RunLedger, StepLedgers};
pub(crate) use escalation::plan_named;
pub(crate) use said::unrecorded;

#[derive(Debug, Clone)]
pub struct Project {
    pub root: Utf8PathBuf,
    pub catalog: Utf8PathBuf,
    /// The state directory: `.oneact` below the root, unless moved.
    pub state_dir: Utf8PathBuf,
    /// The value of `$ONEACT_LEDGER`, if it is set.
    pub ledger: Option<String>,
}

impl Project {
    /// Does work on file plans that belongs to no task.
    pub(crate) fn with_desk<T>(&self, host: &Host, work: impl FnOnce(Desk<'_>) -> T) -> T {
        let operation = OperationId::new(host.timestamp(), host.random_bytes());
        work(Desk {
            host,
            root: &self.root,
            task_id: "recover",
            operation_id: operation.as_str(),
            begun: host.moment(),
            budget: None,
            own: &|| self.own_files(),
            course: &Course::default(),
        })
    }

    /// The ledger in which runs record, or why they cannot; none if there is none yet, or it is switched off.
    pub(crate) fn recordable(&self, host: &Host) -> Result<Option<String>, String> {
        let (place, _) = self.found().map_err(|failure| failure.message)?;
        if let Some(dir) = place.missing().and_then(Utf8Path::parent) {
            reach::probe(dir).map_err(|error| error.to_string())?;
        }
        let operation = OperationId::new(host.timestamp(), host.random_bytes());
        let usable = place.usable(&self.state_dir, operation.as_str(), host);
        usable.map_err(|error| error.to_string())
    }

    /// Whether the head of the ledger can be signed, if the catalog names a key for this.
    pub(crate) fn can_sign(&self) -> Result<(), KeyError> {
        match self.found() {
            Ok((Place::File(_) | Place::Postgres(_), rule)) => {
                self.sign_key(&rule).map_or(Ok(()), |key| can_sign(&key))
            }
            Ok((Place::Nowhere, _)) | Err(_) => Ok(()),
        }
    }

    /// Whether the operator chose that nothing is recorded.
    pub(crate) fn records_nothing(&self) -> bool {
        matches!(self.found(), Ok((Place::Nowhere, _)))
    }

    /// The files and directories that oneact keeps for itself: no plan and no built-in server may touch them. An
    /// unreadable catalog adds none: then nothing is recorded either.
    pub(crate) fn own_files(&self) -> Vec<Utf8PathBuf> {
        let catalog = match Catalog::load(&self.catalog) {
            Err(CatalogError::Missing { .. }) => return self.own_files_in(None),
            catalog => catalog.ok(),
        };
        match catalog.as_ref().map(Catalog::tables) {
            Some(Ok(tables)) => self.own_files_in(Some(&tables)),
            Some(Err(_)) | None => self.own_files_by(&LedgerRule::default()),
        }
    }

    /// The same by this catalog; by the defaults if there is none.
    pub(crate) fn own_files_in(&self, tables: Option<&CatalogTables<'_>>) -> Vec<Utf8PathBuf> {
        let rule = tables.and_then(|tables| ledger_rule(tables).ok());
        let mut own = self.own_files_by(&rule.unwrap_or_default());
        let storage = tables.map_or_else(|| Ok(Storage::default()), storage).ok();
        own.extend(storage.and_then(|storage| Store::incoming(&storage, &self.root)));
        // The file of keys whose signatures approve: no plan may add a key.
        let settings = tables.and_then(|tables| approval_settings(tables).ok());
        let signers = settings.and_then(|settings| settings.allowed_signers);
        own.extend(signers.map(|file| self.root.join(file)));
        own
    }

    fn own_files_by(&self, rule: &LedgerRule) -> Vec<Utf8PathBuf> {
        let mut own = Place::kept_in(&self.state_dir);
        own.push(self.state_dir.clone());
        if let Some(key) = self.sign_key(rule) {
            own.extend([public_file(&key), key]);
        }
        if let Ok(place) = self.place(rule)
            && place != Place::default_in(&self.state_dir)
        {
            own.extend(place.files());
        }
        // A catalog of the usual name may be changed with an approval.
        let leads_to = Utf8PathBuf::try_from(resolved(self.catalog.as_std_path())).ok();
        let names = [Some(self.catalog.clone()), leads_to].into_iter().flatten();
        for path in names {
            own.extend(Utf8PathBuf::try_from(new_at(path.as_std_path())));
            own.extend(Some(path).filter(|path| path.file_name() != Some("catalog.toml")));
        }
        own
    }

    /// Where the ledger is, and the catalog's rules for it.
    pub(crate) fn found(&self) -> Result<(Place, LedgerRule), Failure> {
        let rule = match (&self.ledger, self.rule()) {
            // The environment takes precedence over the catalog, even over a broken one.
            (Some(_), Err(error)) => {
                tracing::warn!("The ledger settings of the catalog cannot be read: {error}");
                LedgerRule::default()
            }
            (_, rule) => rule?,
        };
        Ok((self.place(&rule)?, rule))
    }

    fn rule(&self) -> Result<LedgerRule, CatalogError> {
        match Catalog::load(&self.catalog) {
            Err(CatalogError::Missing { .. }) => Ok(LedgerRule::default()),
            catalog => ledger_rule(&catalog?.tables()?),
        }
    }

    /// Where the ledger is: `$ONEACT_LEDGER`, else `[ledger] uri`, else a file in the state directory.
    fn place(&self, rule: &LedgerRule) -> Result<Place, Failure> {
        let (text, who) = match (&self.ledger, &rule.uri) {
            (Some(text), _) => (text, "$ONEACT_LEDGER"),
            (None, Some(text)) => (text, "`[ledger] uri`"),
            (None, None) => return Ok(Place::default_in(&self.state_dir)),
        };
        Place::parse(text, &self.root).map_err(|problem| {
            let message = format!("{who} cannot be used: {problem}");
            Failure::new(Fault::CatalogInvalid, message)
        })
    }

    pub(crate) fn sign_key(&self, rule: &LedgerRule) -> Option<Utf8PathBuf> {
        rule.sign_key.as_ref().map(|path| self.root.join(path))
    }
}
