//! Plans that start pipelines, as their documents show them.

use std::{fs, process::Command};

use camino::Utf8Path;

use crate::{
    installed::installed,
    program::{Answer, ONEACT, Root, run},
};

pub(crate) fn document(path: &str) -> String {
    fs::read_to_string(Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The files of `examples/dbt`.
fn shop() -> Root {
    let root = Root::with_catalog(&document("examples/dbt/catalog.toml"));
    let project = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/dbt/shop");
    let copied = Command::new("cp")
        .arg("-r")
        .args([project.as_str(), root.path.as_str()])
        .status();
    assert!(copied.unwrap().success());
    root
}

/// With dbt in the `PATH`.
fn oneact(root: &Root) -> Command {
    let dbt = installed("dbt/bin/dbt");
    let mut command = root.command();
    command.env("PATH", path_behind(dbt.parent().unwrap()));
    command
}

/// The `PATH` with another directory in front.
#[expect(
    clippy::disallowed_methods,
    reason = "the programs of the tests are found in the PATH"
)]
pub(crate) fn path_behind(dir: &Utf8Path) -> String {
    format!("{dir}:{}", std::env::var("PATH").unwrap())
}

/// What Python's DuckDB reads from the tables that dbt has made.
fn queried(root: &Root, query: &str) -> String {
    let script = "import duckdb, sys; print(duckdb.connect(sys.argv[1], read_only=True).sql(sys.argv[2]).fetchall())";
    let told = Command::new(installed("dbt/bin/python"))
        .args([
            "-c",
            script,
            root.path.join("warehouse/shop.duckdb").as_str(),
            query,
        ])
        .output()
        .unwrap();
    String::from_utf8(told.stdout).unwrap()
}

#[test]
fn a_plan_changes_a_seed_and_dbt_builds_the_tables_r_001_21_r_001_93() {
    let root = shop();
    let answer: Answer = run(oneact(&root), document("examples/dbt/plan.json").as_bytes());
    assert_eq!(answer.exit, 0, "{:#}", answer.envelope);
    assert_eq!(
        queried(
            &root,
            "select orders, amount::varchar from monthly_sales order by month"
        ),
        "[(2, '47.25'), (2, '19.75')]\n"
    );
}

#[test]
fn a_change_before_a_pipeline_that_fails_is_undone_and_what_stays_is_named_r_001_122() {
    let root = shop();
    fs::write(
        root.path.join("shop/models/monthly_sales.sql"),
        "select * from nowhere",
    )
    .unwrap();
    let before = fs::read(root.path.join("shop/seeds/orders.csv")).unwrap();
    let answer = run(oneact(&root), document("examples/dbt/plan.json").as_bytes());
    assert_eq!(
        (answer.exit, answer.fault()),
        (1, &"pipeline_failed".into())
    );
    assert_eq!(
        fs::read(root.path.join("shop/seeds/orders.csv")).unwrap(),
        before
    );
    let text = answer.envelope.to_string();
    assert!(
        text.contains("warehouse/shop.duckdb") && text.contains("nowhere"),
        "{text}"
    );
}

#[test]
fn the_example_of_the_page_works_as_pasted() {
    let page = document("docs/pipelines.md");
    let (_, rest) = page.split_once("```sh\n").unwrap();
    let (script, _) = rest.split_once("```").unwrap();
    let dir = tempfile::TempDir::new().unwrap();
    let bin = Utf8Path::new(ONEACT).parent().unwrap();
    let told = Command::new("sh")
        .args(["-euc", script])
        .current_dir(dir.path())
        .env("PATH", path_behind(bin))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        told.ends_with("{\"orders\": 2, \"total\": 111.50}\n"),
        "{told}"
    );
}

#[test]
fn doctor_names_a_program_that_is_missing() {
    let root =
        Root::with_catalog("catalog = 1\n[pipeline.p]\ncommand = [\"oneact-no-such-program\"]\n");
    let mut command = root.command();
    command.arg("doctor");
    let told = command.output().unwrap();
    let text = String::from_utf8(told.stdout).unwrap();
    assert_eq!(told.status.code(), Some(1), "{text}");
    assert!(
        text.contains(
            "pipeline p: its command `oneact-no-such-program` is in no directory of PATH"
        ),
        "{text}"
    );
}
