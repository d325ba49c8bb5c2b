//! Reads the operations that start a program: queries (001 §A.2) and pipelines.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    plan::{
        limits::Limits,
        model::{Access, Database, Expects, Order, Sql},
        pipeline, sql as engine,
    },
    task::{Fault, PipelineApproval, RelPath},
};

use super::{
    fields::{Fields, Found, quoted},
    findings::Findings,
};

/// The most files that a query may read.
const MOST_READS: usize = 1000;

pub(super) fn sql(target: Option<&RelPath>, fields: &mut Fields<'_>) -> Sql {
    if let Some(found) = fields.get("query_file")
        && let Some(path) = found.path()
        && target.is_some_and(|target| *target != path)
    {
        found.invalid::<()>("differs from `target`, which is the query file; leave it out");
    }
    fields.optional("connection", |found| found.word(&[("duckdb", ())]));
    let parameters = fields.optional("parameters", parameters);
    let reads = fields.optional("reads", paths).unwrap_or_default();
    let access = match fields.optional("read_only", Found::flag) {
        Some(true) => Access::Read,
        Some(false) | None => Access::Write,
    };
    let place = fields.place("read_only");
    let database = fields.optional("database", Found::path);
    if let (Access::Read, None, Some(target)) = (access, &database, target) {
        fields.findings.invalid(format!(
            "`{place}` is true, but the query of `{target}` has no `database`"
        ));
    }
    let expects = match fields.optional("expect_results", Found::flag) {
        Some(true) => Expects::Rows,
        Some(false) | None => Expects::Nothing,
    };
    let results = fields.optional("save_results_to", |found| {
        let path = found.path()?;
        found.good(engine::fits_results(&path))?;
        Some(path)
    });
    if let (Some(database), Some(results)) = (&database, &results)
        && database == results
    {
        let message = format!("`{database}` is both `database` and `save_results_to`");
        fields.findings.problem(Fault::PlanConflict, message);
    }
    let order = match fields.optional("deterministic", Found::flag) {
        Some(true) => Order::Deterministic,
        Some(false) | None => Order::Any,
    };
    Sql {
        parameters: parameters.unwrap_or_default(),
        reads,
        database: database.map(|path| Database { path, access }),
        results,
        expects,
        order,
    }
}

/// The names of parameters of a query are compared without case, as the engine does.
fn parameters(found: &Found<'_>) -> Option<BTreeMap<String, Value>> {
    let mut parameters = BTreeMap::new();
    for (name, value) in found.object()? {
        let same = |known: &&String| known.to_lowercase() == name.to_lowercase();
        if let Some(known) = parameters.keys().find(same) {
            return found.invalid(format!(
                "has {} and {}, which the engine takes for the same name",
                quoted(known),
                quoted(&name)
            ));
        }
        if value.is_array() || value.is_object() {
            return found.invalid(format!(
                "gives an array or an object for {}; a parameter is null, a boolean, a number or a text",
                quoted(&name)
            ));
        }
        parameters.insert(name, value);
    }
    Some(parameters)
}

fn paths(found: &Found<'_>) -> Option<Vec<RelPath>> {
    let items = found.list()?;
    if items.len() > MOST_READS {
        return found.invalid(format!("has more than {MOST_READS} files"));
    }
    let mut paths: Vec<RelPath> = Vec::new();
    for item in items {
        let path = item.path()?;
        if paths.contains(&path) {
            return item.invalid("is listed twice");
        }
        paths.push(path);
    }
    Some(paths)
}

/// The limits hold for what a query reads, too: its rows may end up in any file.
pub(super) fn sql_within(limits: &Limits, place: &str, sql: &Sql, findings: &Findings) {
    let database = sql.database.iter().map(|it| ("database", &it.path));
    let results = sql.results.iter().map(|path| ("save_results_to", path));
    let reads = sql.reads.iter().map(|path| ("reads", path));
    for (key, path) in reads.chain(database).chain(results) {
        findings.within(place, &format!("operation.{key}"), limits.admits(path));
    }
}

pub(super) fn pipeline_within(
    limits: &Limits,
    place: &str,
    name: &RelPath,
    parameters: &Map<String, Value>,
    findings: &Findings,
) {
    let Some(pipeline) = limits.pipeline(name) else {
        let known: Vec<&str> = limits.pipelines.iter().map(|it| it.name.as_str()).collect();
        let known = match known.as_slice() {
            [] => "the catalog has no pipelines".to_owned(),
            known => format!("the catalog has {}", known.join(", ")),
        };
        let message = format!(
            "`{place}.target` is {}, and no `[pipeline.NAME]` of the catalog has this name: {known}",
            quoted(name.as_str())
        );
        findings.problem(Fault::OperationNotAllowed, message);
        return;
    };
    let arguments = pipeline::arguments(pipeline, parameters).map(drop);
    findings.within(place, "operation.parameters", arguments);
    if pipeline.approval == PipelineApproval::Needed {
        findings.asks_for_approval(format!(
            "the pipeline `{name}` needs the approval of a person, as the catalog says (`{place}`)"
        ));
    }
}
