//! Findings about a whole catalog, for `oneact catalog check`: what does not compile, and what compiles but is
//! probably not meant.

mod rules;

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

use super::{
    check::check,
    code::{Code, Place, Wrong},
    compile::Capability,
    document::{CatalogError, Tables},
    listing::listed,
    raw::{Described, described},
};
use crate::task::Approver;
use rules::{RULES, Rule, Subject};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Error,
    Warning,
}

#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) code: Code,
    pub(crate) level: Level,
    pub(crate) place: Option<Place>,
    /// What is wrong, and what to do.
    pub(crate) text: String,
}

/// Whether an agent of this user could give an approval in an approver's place.
pub(crate) type Reachable<'f> = &'f dyn Fn(&Approver) -> bool;

/// All findings, in the order of the file, and the number of entries.
pub(crate) fn lint(
    tables: &Tables<'_>,
    reachable: Reachable<'_>,
) -> Result<(Vec<Finding>, usize), CatalogError> {
    by(&RULES.each_ref(), tables, reachable)
}

fn by(
    rules: &[&Rule],
    tables: &Tables<'_>,
    reachable: Reachable<'_>,
) -> Result<(Vec<Finding>, usize), CatalogError> {
    let wrong = check(tables, &[]).problems.into_iter();
    let mut findings: Vec<Finding> = wrong.map(|problem| Finding::of(problem.wrong)).collect();
    let ids = tables.entries()?;
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let raws = ids.iter().filter_map(|id| described(tables, id).ok()?);
    let raws: Vec<(_, Described)> = raws.collect();
    for (named, raw) in &raws {
        let aliases = raw.aliases.iter().map(|alias| alias.to_lowercase());
        for name in aliases.chain([named.name.to_lowercase()]) {
            *names.entry(name).or_default() += 1;
        }
    }
    for (named, raw) in &raws {
        // What does not compile is a finding already.
        let Ok(Some(listed)) = listed(tables, named.name) else {
            continue;
        };
        let capability = super::compile::compile(tables, named.name)?;
        let subject = Subject {
            raw,
            listed: &listed,
            tool: match &capability {
                Some(Capability::Tool(entry)) => Some(entry),
                _ => None,
            },
            capability: capability.as_ref(),
            names: &names,
            reachable,
        };
        let found = rules.iter().flat_map(|rule| {
            let texts = (rule.finds)(&subject).into_iter();
            texts.map(|text| Finding {
                code: rule.code,
                level: rule.level,
                place: Some(named.place(named.at)),
                text: format!("{}: {text}", named.name),
            })
        });
        findings.extend(found);
    }
    findings.sort_by(|a, b| (&a.place, a.code).cmp(&(&b.place, b.code)));
    Ok((findings, ids.len()))
}

impl From<CatalogError> for Finding {
    fn from(error: CatalogError) -> Self {
        Self::of(error.into())
    }
}

impl Finding {
    /// A finding about a table of the file, e.g. about `[server.NAME]`.
    pub(crate) fn about(
        tables: &Tables<'_>,
        table: Option<(&str, &str)>,
        (code, level): (Code, Level),
        text: &str,
    ) -> Self {
        let named = table.and_then(|(group, name)| {
            let found = tables.entry::<IgnoredAny>(group, name).ok()??;
            Some(found.0.place(found.0.at))
        });
        let name = table.map_or_else(String::new, |(_, name)| format!("{name}: "));
        Self {
            code,
            level,
            place: named,
            text: format!("{name}{text}"),
        }
    }

    pub(super) fn of(wrong: Wrong) -> Self {
        Self {
            code: wrong.code,
            level: Level::Error,
            place: wrong.place,
            text: wrong.problem,
        }
    }
}

#[cfg(test)]
mod tests;
