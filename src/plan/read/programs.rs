//! Reads the operations that start a program: queries (001 §A.2) and pipelines.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use crate::{
    plan::{
        limits::Limits,
        model::{Access, Database, Expects, Operation, Order, Sql},
        pipeline, sql as engine,
    },
    task::{Failure, Fault, Found, PipelineApproval, RelPath, quoted},
};

use super::{
    fields::{Fields, path},
    findings::Findings,
};

/// The most files that a query may read.
const MOST_READS: usize = 1000;

pub(super) fn sql(fields: &mut Fields<'_>, target: Option<&RelPath>) -> Operation {
    fields.optional("query_file", |found| match path(found)? {
        file if target.is_some_and(|target| *target != file) => {
            Err(found.wrong("differs from `target`, which is the query file; leave it out"))
        }
        _ => Ok(()),
    });
    fields.optional("connection", |found| found.word(&[("duckdb", ())]));
    let parameters = fields.optional("parameters", parameters);
    let reads = fields.optional("reads", paths);
    let access = fields.choice("read_only", [Access::Write, Access::Read]);
    let database = fields.optional("database", path);
    if access == Access::Read && fields.get("database").is_none() {
        let place = fields.place("read_only");
        let message = format!("`{place}` is true, but the query has no `database`");
        fields.findings.invalid(message);
    }
    let expects = fields.choice("expect_results", [Expects::Nothing, Expects::Rows]);
    let results = fields.optional("save_results_to", |found| {
        let path = path(found)?;
        found.fits(engine::fits_results(&path))?;
        Ok(path)
    });
    if let (Some(database), Some(results)) = (&database, &results)
        && database == results
    {
        let message = format!("`{database}` is both `database` and `save_results_to`");
        fields.findings.problem(Fault::PlanConflict, message);
    }
    Operation::Sql(Sql {
        parameters: parameters.unwrap_or_default(),
        reads: reads.unwrap_or_default(),
        database: database.map(|path| Database { path, access }),
        results,
        expects,
        order: fields.choice("deterministic", [Order::Any, Order::Deterministic]),
    })
}

/// The names of parameters of a query are compared without case, as the engine does.
fn parameters(found: &Found<'_>) -> Result<BTreeMap<String, Value>, Failure> {
    let mut parameters: BTreeMap<String, Value> = BTreeMap::new();
    for (name, value) in found.object()? {
        let same = |known: &&String| known.to_lowercase() == name.to_lowercase();
        if let Some(known) = parameters.keys().find(same) {
            return Err(found.wrong(format!(
                "has {} and {}, which the engine takes for the same name",
                quoted(known),
                quoted(name)
            )));
        }
        if value.is_array() || value.is_object() {
            return Err(found.wrong(format!(
                "gives an array or an object for {}; a parameter is null, a boolean, a number or a text",
                quoted(name)
            )));
        }
        parameters.insert(name.clone(), value.clone());
    }
    Ok(parameters)
}

fn paths(found: &Found<'_>) -> Result<Vec<RelPath>, Failure> {
    let paths = found.each(path)?;
    if paths.len() > MOST_READS {
        return Err(found.wrong(format!("has more than {MOST_READS} files")));
    }
    let mut seen = HashSet::new();
    match paths.iter().find(|path| !seen.insert(*path)) {
        Some(twice) => Err(found.wrong(format!("lists `{twice}` twice"))),
        None => Ok(paths),
    }
}

/// The limits hold for what a query reads, too: its rows may end up in any file.
pub(super) fn sql_within(limits: &Limits, place: &str, sql: &Sql, findings: Findings<'_>) {
    let database = sql.database.iter().map(|it| ("database", &it.path));
    let results = sql.results.iter().map(|path| ("save_results_to", path));
    let reads = sql.reads.iter().map(|path| ("reads", path));
    for (key, path) in reads.chain(database).chain(results) {
        findings.within(&format!("{place}.operation.{key}"), limits.admits(path));
    }
}

pub(super) fn pipeline_within(
    limits: &Limits,
    place: &str,
    name: &RelPath,
    parameters: &Map<String, Value>,
    findings: Findings<'_>,
) {
    let Some(pipeline) = limits.pipeline(name) else {
        let known: Vec<&str> = limits.pipelines.iter().map(|it| it.name.as_str()).collect();
        let known = match known.as_slice() {
            [] => "no pipelines".to_owned(),
            known => known.join(", "),
        };
        let message = format!(
            "`{place}.target` is {}, and no `[pipeline.NAME]` of the catalog has this name: the catalog has {known}",
            quoted(name.as_str())
        );
        return findings.problem(Fault::OperationNotAllowed, message);
    };
    let arguments = pipeline::arguments(pipeline, parameters).map(drop);
    findings.within(&format!("{place}.operation.parameters"), arguments);
    if pipeline.approval == PipelineApproval::Needed {
        findings.asks_for_approval(format!(
            "the pipeline `{name}` needs the approval of a person, as the catalog says (`{place}`)"
        ));
    }
}
