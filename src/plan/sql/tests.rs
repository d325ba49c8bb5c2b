//! What queries give, with the libraries that `scripts/setup-tests` installs.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use serde_json::{Value, json};

use super::*;
use crate::plan::model::{Access, Database};

mod engines;
mod escapes;
mod formats;
mod parameters;

/// Where `scripts/setup-tests` installs the libraries of DuckDB.
fn library(version: &str) -> Utf8PathBuf {
    let here = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let servers = crate::host::path_variable("ONEACT_TEST_SERVERS").unwrap();
    let servers = servers.unwrap_or_else(|| here.join("target/test-servers"));
    let platform = format!(
        "node-bindings-linux-{}",
        if cfg!(target_arch = "aarch64") {
            "arm64"
        } else {
            "x64"
        }
    );
    servers.join(format!(
        "duckdb_{version}/node_modules/@duckdb/{platform}/libduckdb.so"
    ))
}

/// A root with files, and the engine that performs queries in it.
pub(super) struct Bench {
    root: tempfile::TempDir,
    settings: DuckDb,
    most: u64,
}

/// A query under construction.
pub(super) struct Asked<'b> {
    bench: &'b Bench,
    text: String,
    sql: Sql,
    planned: Option<Vec<u8>>,
    stopped: fn() -> Option<Failure>,
}

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with("1.5.6")
    }

    pub(super) fn with(version: &str) -> Self {
        let settings = DuckDb {
            library: Some(library(version)),
            memory: 256 << 20,
            threads: 2,
        };
        Self {
            root: tempfile::tempdir().unwrap(),
            settings,
            most: 50 << 20,
        }
    }

    fn path(&self) -> Utf8PathBuf {
        let path = Utf8Path::from_path(self.root.path()).unwrap();
        path.canonicalize_utf8().unwrap()
    }

    pub(super) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(super) fn ask(&self, text: &str) -> Asked<'_> {
        Asked {
            bench: self,
            text: text.to_owned(),
            sql: Sql::default(),
            planned: None,
            stopped: || None,
        }
    }
}

impl Asked<'_> {
    fn with(mut self, name: &str, value: Value) -> Self {
        self.sql.parameters.insert(name.to_owned(), value);
        self
    }

    pub(super) fn reads(mut self, path: &str) -> Self {
        self.sql.reads.push(rel(path));
        self
    }

    /// Reads a file that the plan makes, as the last one.
    fn planned(mut self, path: &str, content: &str) -> Self {
        self.planned = Some(content.into());
        self.reads(path)
    }

    fn database(mut self, path: &str, access: Access) -> Self {
        let path = rel(path);
        self.sql.database = Some(Database { path, access });
        self
    }

    pub(super) fn saves(mut self, path: &str) -> Self {
        self.sql.results = Some(rel(path));
        self
    }

    fn input(&self, path: &RelPath) -> Source<'_> {
        let at = self.bench.path().join(path.as_str());
        if let (Err(_), Some(bytes)) = (at.metadata(), &self.planned) {
            return Source::Planned(bytes);
        }
        let facts = at.metadata().unwrap();
        Source::File(Held {
            at: at.canonicalize_utf8().unwrap(),
            device: facts.dev(),
            inode: facts.ino(),
        })
    }

    pub(super) fn run(&self) -> Result<Answer, Failure> {
        self.run_with(self.sql.inputs().map(|path| self.input(path)).collect())
    }

    fn run_with(&self, inputs: Vec<Source<'_>>) -> Result<Answer, Failure> {
        let scratch = tempfile::tempdir().unwrap();
        self.run_in(Utf8Path::from_path(scratch.path()).unwrap(), inputs)
    }

    fn run_in(&self, scratch: &Utf8Path, inputs: Vec<Source<'_>>) -> Result<Answer, Failure> {
        let database = self.sql.database.as_ref();
        let written = database.filter(|database| database.access == Access::Write);
        let written = written
            .and_then(|database| fs::read(self.bench.path().join(database.path.as_str())).ok());
        let query = Query {
            path: &rel("q.sql"),
            text: &self.text,
            sql: &self.sql,
            inputs,
            written: written.as_deref(),
        };
        let engine = Engine {
            settings: &self.bench.settings,
            root: &self.bench.path(),
            scratch,
            most: self.bench.most,
            stopped: &self.stopped,
        };
        perform(&query, &engine)
    }

    fn rows(&self) -> u64 {
        self.run().unwrap().rows.unwrap()
    }

    /// The failure, as `fault: message`.
    pub(super) fn failure(&self) -> String {
        let failure = self.run().expect_err(&self.text);
        format!("{}: {}", failure.fault.name(), failure.message)
    }

    fn saved(&self) -> String {
        String::from_utf8(self.run().unwrap().results.unwrap()).unwrap()
    }
}

#[test]
fn several_statements_are_performed_in_their_order_on_both_versions() {
    for version in ["1.4.5", "1.5.6"] {
        let bench = Bench::with(version);
        bench.file("d/a.csv", "x\n1\n").file("d/b.csv", "x\n2\n");
        let asked = bench.ask(
            "CREATE TABLE t AS FROM 'd/a.csv'; INSERT INTO t FROM 'd/b.csv';\n\
             /* ; */ UPDATE t SET x = $first FROM (SELECT $second AS s) u WHERE x = s;\n\
             SELECT x, ';' AS \"a;b\" FROM t -- ; select\n ORDER BY x;;",
        );
        let asked = asked.reads("d/a.csv").reads("d/b.csv");
        let asked = asked.with("first", json!(7)).with("second", json!(2));
        assert_eq!(asked.rows(), 2);
        assert_eq!(
            asked.saves("r.csv").saved(),
            "x,a;b\n1,;\n7,;\n",
            "{version}"
        );
    }
}

#[test]
fn a_pattern_finds_the_listed_files_alone() {
    let bench = Bench::new();
    bench
        .file("d/a.csv", "x\n1\n")
        .file("d/b.csv", "x\n2\n")
        .file("d/c.csv", "x\n3\n");
    let asked = bench
        .ask("FROM read_csv('d/*.csv')")
        .reads("d/a.csv")
        .reads("d/c.csv");
    assert_eq!(asked.rows(), 2);
    let asked = bench
        .ask("FROM 'd/new.csv' UNION ALL FROM 'd/a.csv'")
        .reads("d/a.csv");
    assert_eq!(asked.planned("d/new.csv", "x\n9\n8\n").rows(), 3);
}

#[test]
fn a_wrong_query_is_told_with_its_place_and_the_engine_s_sentence() {
    let bench = Bench::new();
    bench.file("t.csv", "a,b\n1,x\n");
    let ask = |text: &str| bench.ask(text).reads("t.csv");
    for (asked, told) in [
        (
            ask("select 1;\n  selekt 2"),
            "sql_failed: q.sql:2:3: syntax error at or near \"selekt\"",
        ),
        (
            ask("select 1;\nselect 'é', nope from 't.csv'").saves("r.csv"),
            "sql_failed: q.sql:2:13: ",
        ),
        (
            ask("select 1;\nselect 'é', nope from 't.csv'"),
            "sql_failed: q.sql:2:13: ",
        ),
        (
            ask("select cast(b as int) from 't.csv'"),
            "sql_failed: q.sql",
        ),
        (
            ask("-- nothing\n;"),
            "sql_failed: q.sql: there is no statement in it",
        ),
        (ask("select 1;\0 select 2"), "sql_failed: q.sql:1:10: a NUL"),
        (
            ask("select $a"),
            "sql_failed: q.sql: statement 1 has the parameter $a, for which",
        ),
        (
            ask("select ?"),
            "sql_failed: q.sql: statement 1 has a parameter without a name",
        ),
        (
            ask("select 1").with("a", json!(1)),
            "sql_failed: q.sql: the parameter `a` is given, but",
        ),
        (
            ask("select $a::int").with("a", json!("x")),
            "sql_failed: q.sql",
        ),
        (
            ask("select $a").with("a", json!([1])),
            "sql_failed: q.sql: the parameter `a` is an array",
        ),
        (ask("from 'other.csv'"), "sql_refused: q.sql"),
        (
            ask("select 1; commit; select 2"),
            "sql_refused: q.sql: statement 2 is BEGIN, COMMIT",
        ),
        (
            ask("create table t (a int)").saves("r.csv"),
            "sql_failed: q.sql: the last statement gives no rows",
        ),
        (
            ask("select a, 1 as A from 't.csv'").saves("r.json"),
            "sql_failed: q.sql: the result has two columns named `A`",
        ),
        (
            ask("select $x as a, 1 as A")
                .with("x", json!(1))
                .saves("r.csv"),
            "sql_failed: q.sql: the result has two columns",
        ),
    ] {
        let failure = asked.failure();
        assert!(failure.starts_with(told), "{failure}\n{told}");
        assert!(!failure.contains("LINE "), "{failure}");
    }
    assert!(fits_results(&rel("r.xlsx")).is_err() && fits_results(&rel("r.json")).is_ok());
}

#[test]
fn rows_can_be_expected_r_001_189() {
    let bench = Bench::new();
    let mut asked = bench.ask("select 1 where false");
    assert_eq!(asked.rows(), 0);
    asked.sql.expects = Expects::Rows;
    assert!(
        asked
            .failure()
            .starts_with("rule_failed: the last statement of q.sql gave no row")
    );
    asked.text = "select 1".to_owned();
    assert_eq!(asked.rows(), 1);
    asked.text = "create table t (a int)".to_owned();
    assert!(asked.failure().starts_with("rule_failed"));
    asked.text = "select 1 where false".to_owned();
    assert!(
        asked
            .saves("r.parquet")
            .failure()
            .starts_with("rule_failed")
    );
}

#[test]
fn a_database_is_changed_as_a_copy_and_read_as_it_is_c_22() {
    for version in ["1.4.5", "1.5.6"] {
        let bench = Bench::with(version);
        let made = bench
            .ask("create table t as select 42 as a")
            .database("d/x.duckdb", Access::Write);
        let made = made.run().unwrap().database.unwrap();
        assert!(!bench.path().join("d").exists());
        bench.file("d/x.duckdb", &made);
        let changed = bench
            .ask("update t set a = 43; select * from x.t")
            .database("d/x.duckdb", Access::Write);
        let changed = changed.saves("r.csv").run().unwrap();
        assert_eq!(changed.results.unwrap(), b"a\n43\n");
        assert_ne!(changed.database.unwrap(), made);
        let reads = |text: &str| bench.ask(text).database("d/x.duckdb", Access::Read);
        assert_eq!(reads("from t").saves("r.csv").saved(), "a\n42\n");
        assert!(reads("delete from t").failure().contains("read-only"));
        assert!(
            reads("explain analyze delete from t")
                .failure()
                .contains("read-only")
        );
        assert!(fs::read(bench.path().join("d/x.duckdb")).unwrap() == made);
        bench.file("d/x.duckdb.wal", "");
        let failure = reads("from t").failure();
        assert!(
            failure.starts_with("in_flight: d/x.duckdb.wal exists"),
            "{failure}"
        );
        let mut newer = made.clone();
        newer[12] = 200;
        bench
            .file("d/y.duckdb", newer)
            .file("d/z.duckdb", "no database, but long enough to be one");
        for path in ["d/y.duckdb", "d/z.duckdb"] {
            for access in [Access::Read, Access::Write] {
                let failure = bench.ask("select 1").database(path, access).failure();
                assert!(
                    failure.starts_with("sql_failed: q.sql: the database cannot be opened: "),
                    "{failure}"
                );
                assert!(
                    failure.contains(&format!("with DuckDB v{version}")),
                    "{failure}"
                );
            }
        }
    }
}

#[test]
fn a_deterministic_query_gives_the_same_bytes_twice_r_001_92() {
    let bench = Bench::new();
    let mut asked = bench.ask("select i % 1000 k, sum(i * 0.1::double) s, list(i)[1] f from range(300000) t(i) group by k");
    asked.sql.order = Order::Deterministic;
    let mut asked = asked.saves("r.parquet");
    let bytes = || asked.run().unwrap().results.unwrap();
    assert!(bytes() == bytes());
    asked.text = "select uuid()".to_owned();
    assert!(
        asked
            .failure()
            .starts_with("sql_failed: q.sql has uuid, which differs in each run")
    );
}

/// A library with the names of DuckDB's, of which each function does the same.
fn fake(dir: &Path, does: &str) -> Utf8PathBuf {
    let names = include_str!("library.rs")
        .split_once("functions! {")
        .unwrap()
        .1;
    let names = names.split_once("\n}").unwrap().0.lines();
    let names = names.filter_map(|line| line.trim().split_once('('));
    let each = names.map(|(name, _)| format!("char *duckdb_{name}(void) {{ {does} }}"));
    let code = each.collect::<Vec<_>>().join("\n");
    let (source, library) = (dir.join("fake.c"), dir.join("libduckdb.so"));
    fs::write(&source, format!("#include <stdlib.h>\n{code}")).unwrap();
    let mut compiler = std::process::Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source);
    assert!(compiler.status().unwrap().success());
    library.try_into().unwrap()
}

#[test]
fn rows_are_saved_whatever_ends_the_last_statement_r_001_190() {
    for version in ["1.4.5", "1.5.6"] {
        let bench = Bench::with(version);
        let saved = |text: &str| bench.ask(text).saves("r.csv").saved();
        for text in [
            "select 1 as a order by a limit 1",
            "select 1 as a union all select 2 order by a limit 1;;",
            "select 2; with t as (select 1 as a) from t limit 1 -- ;",
            "from (values (0), (1)) t(a) order by a offset 1 /* ; /* ; */ */;",
            "values (2); (select 1 as a) limit 1",
        ] {
            assert_eq!(saved(text), "a\n1\n", "{version}: {text}");
        }
        assert_eq!(saved("values (1) limit 1"), "col0\n1\n");
        let twice = bench.ask("select 1 as a, 2 as A limit 1").saves("r.csv");
        assert!(twice.failure().contains("two columns named `A`"));
        for text in ["show tables", "describe select 1", "summarize select 1"] {
            let failure = bench.ask(text).saves("r.csv").failure();
            assert!(
                failure.contains("gives no rows that can be saved"),
                "{failure}"
            );
        }
    }
}
