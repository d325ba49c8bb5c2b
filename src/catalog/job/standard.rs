//! Standard actions (R-003-01): the entries with `is_action = true`. A proposal can name only these. They are a view of
//! the capabilities and workflows, not a list of their own.

use std::collections::BTreeSet;

use serde_json::Value;

use super::look_up::look_up;
use crate::{
    catalog::{
        entry::{
            common::Common,
            compile::{Capability, compile},
        },
        file::document::{CatalogError, Tables},
    },
    task::{Failure, Fault, few, nearest},
};

/// The most names that an error proposes.
const MOST: usize = 3;

/// The standard action of this id (R-003-04). No other name is used in its place.
pub(crate) fn standard(tables: &Tables<'_>, name: &str) -> Result<Capability, Failure> {
    let broken = |message| Err(Failure::new(Fault::KindRule, message));
    if tables.entries()?.contains(&name) {
        let capability = look_up(tables, name)?;
        if capability.common().is_action {
            return Ok(capability);
        }
        return broken(format!(
            "{name} is no standard action, because its entry does not say `is_action = true`; name another one"
        ));
    }
    let actions = actions(tables)?;
    if let Some(id) = called(name, &actions) {
        return broken(format!(
            "{name:?} is an alias of the standard action {id}; write its id: \"name\": \"{id}\""
        ));
    }
    let message = format!(
        "unknown standard action {name:?}; {}",
        instead(name, &actions)
    );
    Err(Failure::new(Fault::UnknownCapability, message))
}

/// Fails if the name that an agent gives to an improvised action is the id of an entry, or an alias of a standard action.
pub(crate) fn must_not_be(tables: &Tables<'_>, name: Option<&str>) -> Result<(), Failure> {
    let Some(name) = name else { return Ok(()) };
    let actions = actions(tables)?;
    let id = if tables.entries()?.contains(&name) {
        name
    } else if let Some(id) = called(name, &actions) {
        id
    } else {
        return Ok(());
    };
    let message = format!(
        "the proposal of kind `improvised` names {id}, which is in the catalog; use kind `standard`: \"name\": \"{id}\""
    );
    Err(Failure::new(Fault::KindRule, message))
}

/// The standard action for which a text is enough (R-003-21): the text is one of its examples or begins with one of its
/// aliases, and a proposal must set at most one of its parameters.
pub(crate) fn enough_for(
    tables: &Tables<'_>,
    texts: &[String],
) -> Result<Option<String>, CatalogError> {
    let fits = |action: &Capability| {
        open_parameters(action) <= 1 && texts.iter().any(|text| action.common().is_meant_by(text))
    };
    let actions = actions(tables)?;
    let found = actions.iter().find(|(_, action)| fits(action));
    Ok(found.map(|(id, _)| (*id).to_owned()))
}

type Actions<'t> = Vec<(&'t str, Capability)>;

/// All standard actions. An entry that cannot be read is left out, because a task that does not name it may still be answered.
fn actions<'t>(tables: &'t Tables<'_>) -> Result<Actions<'t>, CatalogError> {
    let entries = tables.entries()?.into_iter();
    let entries = entries.filter_map(|id| Some((id, compile(tables, id).ok()??)));
    Ok(entries
        .filter(|(_, entry)| entry.common().is_action)
        .collect())
}

/// The standard action that has this alias.
fn called<'t>(name: &str, actions: &Actions<'t>) -> Option<&'t str> {
    let mut actions = actions.iter();
    let is_called = |common: &Common| common.aliases.iter().any(|alias| alias == name);
    let found = actions.find(|(_, action)| is_called(action.common()));
    found.map(|(id, _)| *id)
}

/// The standard action with a similar id or alias; if there is none, the first ones of the catalog.
fn instead(name: &str, actions: &Actions<'_>) -> String {
    let names = actions.iter().flat_map(|(id, action)| {
        let aliases = action.common().aliases.iter().map(String::as_str);
        aliases.chain([*id])
    });
    match nearest(name, names) {
        Some(near) => format!("did you mean {}?", called(near, actions).unwrap_or(near)),
        None if actions.is_empty() => "no entry of the catalog says `is_action = true`".to_owned(),
        None => {
            let first = few(actions.iter().map(|(id, _)| id), MOST, ", ");
            format!("the standard actions of the catalog are {first}")
        }
    }
}

impl Common {
    fn is_meant_by(&self, text: &str) -> bool {
        let plain = |text: &str| text.trim().to_lowercase();
        let text = plain(text);
        let begins = |alias: &String| {
            let rest = text.strip_prefix(&plain(alias));
            rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        self.examples.iter().any(|example| plain(example) == text)
            || self.aliases.iter().any(begins)
    }
}

/// The number of parameters that a proposal must set: required, and neither bound nor with a default.
fn open_parameters(action: &Capability) -> usize {
    let (schema, entry) = match action {
        Capability::Tool(entry) => (entry.schema.as_ref(), Some(entry)),
        Capability::Workflow(workflow) => (Some(&workflow.schema), None),
        Capability::FilePlan(_) => (None, None),
    };
    let required = schema.and_then(|schema| schema.value.get("required"));
    let names = required.and_then(Value::as_array).into_iter().flatten();
    let names: BTreeSet<&str> = names.filter_map(Value::as_str).collect();
    let is_filled = |name: &str| {
        entry.is_some_and(|entry| {
            let mut bound = entry.bind.iter();
            entry.defaults.contains_key(name) || bound.any(|bound| bound.parameter == name)
        })
    };
    names.into_iter().filter(|name| !is_filled(name)).count()
}
