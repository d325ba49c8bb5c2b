//! Standard actions (R-003-01): the entries with `is_action = true`. A proposal can name only these. They are a view of
//! the capabilities and workflows, not a list of their own.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::task::{Failure, Fault, ProposalKind};

use super::{
    code::Code,
    document::{CatalogError, Named, Tables},
    file_plan::ROLLBACK,
};

/// The most names that an error proposes.
const MOST: usize = 3;

/// The ids by which the ledger names what is no entry.
pub(super) const TAKEN: [&str; 4] = [
    ProposalKind::Improvised.name(),
    ProposalKind::Suggestion.name(),
    ProposalKind::Clarification.name(),
    ROLLBACK,
];

/// What a proposal needs to know of an entry. [`compile`](super::compile) checks the entry that is performed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    is_action: bool,
    aliases: Vec<String>,
    examples: Vec<String>,
    defaults: Map<String, Value>,
    bind: Map<String, Value>,
    parameter_schema_for_action: Value,
}

/// Fails if the ledger would name something else by the id of the entry. It writes a `+` between the ids of several
/// entries.
pub(super) fn is_free(named: Named<'_>) -> Result<(), CatalogError> {
    if TAKEN.contains(&named.name) || named.name.contains('+') {
        let problem =
            "has an id by which the ledger names something else; choose another one without `+`";
        return Err(named.wrong(problem).coded(Code::CAT002));
    }
    Ok(())
}

/// Fails unless the name is the id of a standard action (R-003-04). No other name is used in its place.
pub(super) fn must_be(tables: &Tables<'_>, name: &str) -> Result<(), Failure> {
    let broken = |message| Err(Failure::new(Fault::KindRule, message));
    match said(tables, name)? {
        Some((_, said)) if said.is_action => return Ok(()),
        Some((named, _)) => {
            return broken(format!(
                "{name} is no standard action, because its entry ({}) does not say `is_action = true`; name another one",
                named.place(named.at)
            ));
        }
        None => {}
    }
    let actions = actions(tables)?;
    if let Some((id, _)) = actions.iter().find(|(_, said)| said.is_called(name)) {
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

/// Fails if the name that an agent gives to an improvised action leads to an entry.
pub(crate) fn must_not_be(tables: &Tables<'_>, name: Option<&str>) -> Result<(), Failure> {
    let Some(id) = name.map_or(Ok(None), |name| named(tables, name))? else {
        return Ok(());
    };
    let message = format!(
        "the proposal of kind `improvised` names {id}, which is in the catalog; use kind `standard`: \"name\": \"{id}\""
    );
    Err(Failure::new(Fault::KindRule, message))
}

/// The entry that has this id, or the standard action that has this alias.
fn named(tables: &Tables<'_>, name: &str) -> Result<Option<String>, CatalogError> {
    if tables.entries()?.contains(&name) {
        return Ok(Some(name.to_owned()));
    }
    let actions = actions(tables)?;
    let mut called = actions.iter().filter(|(_, said)| said.is_called(name));
    Ok(called.next().map(|(id, _)| (*id).to_owned()))
}

/// The standard action for which a text is enough (R-003-21): the text is one of its examples or begins with one of its
/// aliases, and a proposal must set at most one of its parameters.
pub(crate) fn enough_for(
    tables: &Tables<'_>,
    texts: &[String],
) -> Result<Option<String>, CatalogError> {
    let fits = |said: &Said| {
        said.open_parameters() <= 1 && texts.iter().any(|text| said.is_meant_by(text))
    };
    let actions = actions(tables)?;
    let found = actions.iter().find(|(_, said)| fits(said));
    Ok(found.map(|(id, _)| (*id).to_owned()))
}

fn said<'t>(
    tables: &'t Tables<'_>,
    name: &'t str,
) -> Result<Option<(Named<'t>, Said)>, CatalogError> {
    match tables.entry::<Said>("workflow", name)? {
        Some(found) => Ok(Some(found)),
        None => tables.entry::<Said>("capability", name),
    }
}

/// All standard actions. An entry that cannot be read is left out, because a task that does not name it may still be answered.
fn actions<'t>(tables: &'t Tables<'_>) -> Result<Vec<(&'t str, Said)>, CatalogError> {
    let names = tables.entries()?.into_iter();
    let entry = |name| Some((name, said(tables, name).ok()??.1));
    let entries = names.filter_map(entry);
    Ok(entries.filter(|(_, said)| said.is_action).collect())
}

/// The standard actions with similar ids or aliases; if there are none, the first ones of the catalog.
fn instead(name: &str, actions: &[(&str, Said)]) -> String {
    let name = name.to_lowercase();
    let alike = |other: &str| strsim::normalized_damerau_levenshtein(&name, &other.to_lowercase());
    let mut near: Vec<(f64, &str)> = actions
        .iter()
        .map(|(id, said)| {
            let names = said.aliases.iter().map(String::as_str).chain([*id]);
            (names.map(alike).fold(0.0, f64::max), *id)
        })
        .filter(|(score, _)| *score >= 0.6)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let near: Vec<&str> = near.into_iter().map(|(_, id)| id).take(MOST).collect();
    let first = || {
        let ids: Vec<&str> = actions.iter().map(|(id, _)| *id).take(MOST).collect();
        ids.join(", ")
    };
    match (near.as_slice(), actions.len()) {
        ([], 0) => "no entry of the catalog says `is_action = true`".to_owned(),
        ([], 1..=MOST) => format!("the standard actions of the catalog are {}", first()),
        ([], all) => format!("the catalog has {all} standard actions, e.g. {}", first()),
        (near, _) => format!("did you mean {}?", near.join(", ")),
    }
}

impl Said {
    fn is_called(&self, name: &str) -> bool {
        self.aliases.iter().any(|alias| alias == name)
    }

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

    /// The number of parameters that a proposal must set: required, and neither bound nor with a default.
    fn open_parameters(&self) -> usize {
        let required = self.parameter_schema_for_action.get("required");
        let names = required.and_then(Value::as_array).into_iter().flatten();
        let names: BTreeSet<&str> = names.filter_map(Value::as_str).collect();
        let open =
            |name: &&str| !self.bind.contains_key(*name) && !self.defaults.contains_key(*name);
        names.into_iter().filter(open).count()
    }
}
