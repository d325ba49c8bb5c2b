//! The ledger of a run: where it is, which rules the catalog gives for it, and the connection.

use camino::Utf8PathBuf;

use crate::{
    catalog::{CatalogTables, LedgerRule, ledger_rule, profile},
    envelope::Received,
    host::Host,
    ledger::{Ledger, LedgerError, Place, Wish},
    task::{CallContext, Failure, Fault},
};

use super::{Mode, Settings, ids::Ids};

/// The settings of the ledger for a run, and the connection once it is open.
pub(super) struct Book<'h> {
    pub(super) place: Place,
    pub(super) rule: LedgerRule,
    pub(super) context: CallContext,
    pub(super) profile: String,
    pub(super) open: Option<Ledger<'h>>,
}

/// Where the ledger is: `$ONEACT_LEDGER`, else `[ledger] uri`, else a file in the state directory.
pub(super) fn place(settings: &Settings, rule: &LedgerRule) -> Result<Place, Failure> {
    let said = [
        (settings.ledger.as_ref(), "$ONEACT_LEDGER"),
        (rule.uri.as_ref(), "`[ledger] uri`"),
    ];
    let said = said.into_iter().find_map(|(text, who)| Some((text?, who)));
    let Some((text, who)) = said else {
        return Ok(Place::default_in(&settings.state_dir));
    };
    Place::parse(text, &settings.root).map_err(|problem| {
        let message = format!("{who} cannot be used: {problem}");
        Failure::new(Fault::CatalogInvalid, message)
    })
}

impl<'h> Book<'h> {
    pub(super) fn of(settings: &Settings, tables: &CatalogTables<'_>) -> Result<Self, Failure> {
        let rule = ledger_rule(tables)?;
        let context = match &settings.profile {
            Some(name) => profile(tables, name)?,
            None => CallContext::AgentAutonomous,
        };
        Self::new(settings, rule, context)
    }

    pub(super) fn without_catalog(settings: &Settings) -> Result<Self, Failure> {
        if let Some(name) = &settings.profile {
            let message = format!("--profile names `{name}`, and there is no catalog to have it");
            return Err(Failure::new(Fault::InvalidUsage, message));
        }
        Self::new(
            settings,
            LedgerRule::default(),
            CallContext::AgentAutonomous,
        )
    }

    fn new(settings: &Settings, rule: LedgerRule, context: CallContext) -> Result<Self, Failure> {
        Ok(Self {
            place: place(settings, &rule)?,
            rule,
            context,
            profile: settings
                .profile
                .clone()
                .unwrap_or_else(|| "default".to_owned()),
            open: None,
        })
    }

    /// The ledger, opened if it was not.
    fn ledger(
        &mut self,
        settings: &Settings,
        host: &'h Host,
    ) -> Result<&mut Ledger<'h>, LedgerError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => Ledger::open(&self.place, &settings.state_dir, Wish::Write, host)?
                .signed_by(sign_key(settings, &self.rule)),
        };
        Ok(self.open.insert(open))
    }

    /// Why the last attempt at a task failed: what retry rules answer (R-000-64 … R-000-66). A first
    /// attempt asks nobody, and a dry run no other machine.
    pub(super) fn last_failure(
        &mut self,
        received: &Received,
        settings: &Settings,
        host: &'h Host,
    ) -> Result<Option<Fault>, Failure> {
        if received.attempt < 2 || self.place == Place::Nowhere {
            return Ok(None);
        }
        if settings.mode == Mode::DryRun && matches!(self.place, Place::Postgres(_)) {
            tracing::warn!("A dry run does not ask the shared ledger why the last attempt failed.");
            return Ok(None);
        }
        let (session, task) = (received.identity.session_id.clone(), Ids::of(received).task);
        let row = match self.ledger(settings, host) {
            Ok(ledger) => ledger.last_failure(&session, &task)?,
            // Whether anything may be done without it is asked when something is to be done.
            Err(_) => None,
        };
        Ok(row.and_then(|row| Fault::named(row.fault.as_deref()?)))
    }
}

/// The key by which the ledger's head is signed.
pub(super) fn sign_key(settings: &Settings, rule: &LedgerRule) -> Option<Utf8PathBuf> {
    rule.sign_key.as_ref().map(|path| settings.root.join(path))
}
