//! Queries (001 §A.2) and pipelines.

use super::*;
use crate::{
    plan::model::{Expects, Order},
    task::RelPath,
};

fn sql(fields: &Value) -> Result<Plan, PlanError> {
    let mut sql = json!({"type": "sql_execute"});
    for (key, value) in fields.as_object().unwrap() {
        sql[key] = value.clone();
    }
    read_one("SQL_EXECUTE", &sql)
}

fn read_one(kind: &str, operation: &Value) -> Result<Plan, PlanError> {
    read(
        &order(one(kind, operation)),
        &Bounds::default(),
        &Kept::default(),
    )
}

#[test]
fn a_query_has_its_parameters_files_and_results_r_001_189() {
    let plan = sql(&json!({
        "query_file": "a.json", "connection": "duckdb", "expect_results": true,
        "parameters": {"day": "2026-01-01", "n": 1}, "save_results_to": "out/r.parquet",
        "reads": ["in/a.csv"], "database": "w.duckdb", "read_only": true, "deterministic": true,
    }))
    .unwrap();
    let Operation::Sql(sql) = &plan.actions[0].operation else {
        panic!("{plan:?}");
    };
    assert_eq!(sql.parameters.len(), 2);
    assert_eq!(sql.expects, Expects::Rows);
    assert_eq!(sql.order, Order::Deterministic);
    let paths = |paths: Vec<&RelPath>| {
        paths
            .into_iter()
            .map(RelPath::as_str)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(paths(sql.inputs().collect()), "in/a.csv w.duckdb");
    assert_eq!(paths(sql.changes().collect()), "out/r.parquet");
}

#[test]
fn a_query_that_is_not_clear_is_refused() {
    for (fields, fault, why) in [
        (
            json!({"database": "k.csv", "save_results_to": "k.csv"}),
            Fault::PlanConflict,
            "is both",
        ),
        (
            json!({"query_file": "b.sql"}),
            Fault::PlanInvalid,
            "differs from `target`",
        ),
        (
            json!({"connection": "postgres"}),
            Fault::PlanInvalid,
            "known are `duckdb`",
        ),
        (
            json!({"parameters": {"a": 1, "A": 2}}),
            Fault::PlanInvalid,
            "takes for the same name",
        ),
        (
            json!({"parameters": {"a": [1]}}),
            Fault::PlanInvalid,
            "an array or an object for \"a\"",
        ),
        (
            json!({"save_results_to": "r.tsv"}),
            Fault::PlanInvalid,
            "names no format",
        ),
        (
            json!({"save_results_to": "../r.csv"}),
            Fault::PathOutside,
            "Path traversal",
        ),
        (
            json!({"read_only": true}),
            Fault::PlanInvalid,
            "has no `database`",
        ),
        (
            json!({"reads": [".env"]}),
            Fault::ProtectedFile,
            "(`action_plan[0].operation.reads`)",
        ),
        (
            json!({"database": ".git/d"}),
            Fault::ProtectedFile,
            "operation.database",
        ),
        (
            json!({"save_result_to": "r.csv"}),
            Fault::PlanInvalid,
            "did you mean",
        ),
    ] {
        says(&sql(&fields).unwrap_err(), fault, why);
    }
}

#[test]
fn a_pipeline_is_one_of_the_catalog_c_23() {
    let run = json!({"type": "pipeline_run", "parameters": {}});
    says(
        &read_one("PIPELINE_RUN", &run).unwrap_err(),
        Fault::OperationNotAllowed,
        "no `[pipeline.NAME]` of the catalog has this name: the catalog has no pipelines",
    );
}
