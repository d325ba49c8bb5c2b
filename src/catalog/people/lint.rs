//! Findings about a whole catalog, for `oneact catalog check`: what does not compile, and what compiles but is
//! probably not meant.

use std::collections::BTreeMap;

use super::{
    check::check,
    finding::Finding,
    listing::Listed,
    rules::{Reachable, Subject},
};
use crate::catalog::{
    entry::compile::compile,
    file::{
        cut::CAPABILITY,
        document::{CatalogError, Tables},
    },
};

/// All findings, in the order of the file, and the number of entries.
pub(crate) fn lint(
    tables: &Tables<'_>,
    reachable: Reachable<'_>,
) -> Result<(Vec<Finding>, usize), CatalogError> {
    let wrong = check(tables, &[]).problems.into_iter();
    let mut findings: Vec<Finding> = wrong.map(|problem| Finding::of(problem.wrong)).collect();
    let ids = tables.entries()?;
    // What does not compile is a finding already.
    let compiled = ids
        .iter()
        .filter_map(|id| Some((*id, compile(tables, id).ok()??)));
    let compiled: Vec<_> = compiled.collect();
    let aliases = compiled
        .iter()
        .flat_map(|(_, capability)| &capability.common().aliases);
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for name in aliases.map(String::as_str).chain(ids.iter().copied()) {
        *names.entry(name.to_lowercase()).or_default() += 1;
    }
    let workflows = tables.names("workflow")?;
    for (id, capability) in &compiled {
        let subject = Subject {
            listed: &Listed::of(capability),
            capability,
            names: &names,
            reachable,
        };
        let group = if workflows.contains(id) {
            "workflow"
        } else {
            CAPABILITY
        };
        let found = subject.findings().into_iter();
        let about = Some((group, *id));
        findings.extend(
            found.map(|(code, level, text)| Finding::about(tables, about, (code, level), &text)),
        );
    }
    findings.sort_by(|a, b| (&a.place, a.code).cmp(&(&b.place, b.code)));
    Ok((findings, ids.len()))
}

#[cfg(test)]
mod tests;
