//! Who calls. The launch decides it: the profile, the user and the terminal. Of a stored call, it is who requested it.

use crate::{
    approval::Through,
    catalog::{Caller, CatalogTables, only_profile, profile},
    host,
    perform::settings::Settings,
    task::{CallContext, Failure, Fault},
};

/// The caller in the profile that the operator named, or in the only profile of the catalog. Without either, a run whose
/// input is a terminal was started by a person (R-003-35).
pub(crate) fn caller_of_launch(
    named: Option<&str>,
    tables: Option<&CatalogTables<'_>>,
) -> Result<Caller, Failure> {
    let found = match (named, tables) {
        (Some(name), None) => {
            let message = format!("--profile names `{name}`, but there is no catalog");
            return Err(Failure::new(Fault::InvalidUsage, message));
        }
        (None, Some(tables)) => only_profile(tables)?.map(|name| (name, tables)),
        (Some(name), Some(tables)) => Some((name, tables)),
        (None, None) => None,
    };
    let Some((name, tables)) = found else {
        let context = if host::input_is_a_terminal() {
            CallContext::UserInvocation
        } else {
            CallContext::AgentAutonomous
        };
        return Ok(Caller {
            context,
            profile: None,
        });
    };
    let profile = profile(tables, name)?;
    let us = host::user_id();
    if let Some(uid) = profile.uid.filter(|uid| *uid != us) {
        let message = format!(
            "the profile `{name}` is only for user {uid}, but oneact runs as user {us}; choose another profile with --profile"
        );
        return Err(Failure::new(Fault::ContextDenied, message));
    }
    Ok(Caller {
        context: profile.context,
        profile: Some(name.to_owned()),
    })
}

/// Who started the run; of a stored call, who requested it. A host performs only what was requested in its own context.
pub(super) fn caller(
    settings: &Settings,
    tables: Option<&CatalogTables<'_>>,
) -> Result<Caller, Failure> {
    let own = || caller_of_launch(settings.profile.as_deref(), tables);
    let Some(approved) = &settings.approved else {
        return own();
    };
    let caller = match &approved.profile {
        Some(profile) => caller_of_launch(Some(profile), tables)?,
        None => Caller {
            context: approved.context,
            profile: None,
        },
    };
    let is_own = settings.profile.is_none() && settings.through == Through::Command;
    if caller.context != approved.context || !(is_own || own()? == caller) {
        let id = &approved.joined.id;
        return Err(Failure::new(
            Fault::ContextDenied,
            format!(
                "{id} was requested in the context {}, which is not the context of this run; `oneact run --approved {id}` \
                 performs it in the context of the request",
                approved.context.name()
            ),
        ));
    }
    Ok(caller)
}
