//! Attempts to break out of a query, each of which fails.

use super::*;

/// Attempts to reach what a query may not use (C-22). `OUT` stands for a directory outside, `ROOT` for the root, which
/// has `listed.csv` and, not listed, `secret.csv`.
const ATTEMPTS: &[&str] = &[
    // Functions that read.
    "from 'secret.csv'",
    "from 'ROOT/secret.csv'",
    "from './../secret.csv'",
    "from 'listed.csv/../secret.csv'",
    "from read_csv('OUT/canary.csv')",
    "from read_csv(['listed.csv', 'OUT/canary.csv'])",
    "from read_csv('OUT/*.csv')",
    "from read_csv('file://OUT/canary.csv')",
    "from read_csv_auto('/etc/passwd', delim=':')",
    "from sniff_csv('OUT/canary.csv')",
    "from read_text('/etc/passwd')",
    "from read_blob('/proc/self/environ')",
    "from read_text('/proc/self/maps')",
    "from read_text('/proc/self/fd/3')",
    "from read_json('OUT/canary.csv')",
    "from read_json_objects('OUT/canary.csv')",
    "from read_ndjson('OUT/canary.csv')",
    "from read_parquet('OUT/canary.csv')",
    "from parquet_metadata('OUT/canary.csv')",
    "from parquet_schema('OUT/canary.csv')",
    "from parquet_file_metadata('OUT/canary.csv')",
    "from glob('OUT/*')",
    "from glob('/etc/*')",
    "from glob('../*')",
    "from read_text('/dev/stdin')",
    "select getenv('HOME')",
    "from query('from read_text(''/etc/passwd'')')",
    "from query_table('secret.csv')",
    "from read_csv($path)",
    // The network.
    "from 'http://127.0.0.1:1/x.csv'",
    "from 'https://localhost/x.parquet'",
    "from 's3://bucket/x.parquet'",
    "from 'hf://datasets/x/y.csv'",
    // Links and views.
    "from 'link.csv'",
    "create view v as from 'secret.csv'; from v",
    "create macro m() as table from read_text('/etc/passwd'); from m()",
    "create view v as select 1; create or replace view v as from read_csv('OUT/canary.csv'); from v",
    "create table t as from read_csv('OUT/canary.csv')",
    "create table t (a text); copy t from 'OUT/canary.csv'",
    // Writes.
    "copy (select 1) to 'OUT/new.csv'",
    "copy (select 1) to 'OUT/canary.csv'",
    "copy (select 1) to 'listed.csv'",
    "copy (select 1) to 'new.csv'",
    "copy (select 1) to '/dev/stdout'",
    "copy (select 1) to '/proc/self/fd/1'",
    "copy (select 1 a, 2 b) to 'OUT' (format parquet, partition_by (a))",
    "copy (select 1) to 'OUT/many' (per_thread_output)",
    "export database 'OUT/exported'",
    "import database 'OUT'",
    "attach 'OUT/new.duckdb' as other",
    "attach ':memory:' as other",
    "attach 'OUT/canary.csv' (type sqlite)",
    "copy from database memory to memory",
    // Settings.
    "set enable_external_access = true",
    "set allowed_directories = ['/']",
    "reset lock_configuration",
    "set memory_limit = '100GB'",
    "set temp_directory = 'OUT'",
    "set variable x = 1",
    "pragma enable_profiling",
    "pragma disable_optimizer",
    "call enable_logging(storage = 'file', storage_path = 'OUT/log')",
    "from enable_logging(storage = 'stdout')",
    "from \"enable_profiling\"(save_location = 'OUT/profile')",
    // Extensions and secrets.
    "install httpfs",
    "load 'OUT/canary.csv'",
    "force install spatial from community",
    "create persistent secret s (type http)",
    // Statements that hide others.
    "prepare p as from read_text('/etc/passwd'); execute p",
    "begin; select 1; commit",
];

/// What is below a directory, with the contents.
fn tree(dir: &Utf8Path) -> Vec<(Utf8PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in dir.read_dir_utf8().unwrap() {
        let path = entry.unwrap().into_path();
        if path.is_dir() {
            all.extend(tree(&path));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn no_query_reaches_beyond_its_files_c_22() {
    assert!(ATTEMPTS.len() >= 60);
    let mut escaped = Vec::new();
    for version in ["1.5.6", "1.4.5"] {
        let bench = Bench::with(version);
        let outside = tempfile::tempdir().unwrap();
        let out = Utf8Path::from_path(outside.path()).unwrap();
        fs::write(out.join("canary.csv"), "a\n1\n").unwrap();
        bench
            .file("listed.csv", "a\n1\n")
            .file("secret.csv", "a\n2\n");
        std::os::unix::fs::symlink(out.join("canary.csv"), bench.path().join("link.csv")).unwrap();
        let before = (tree(&bench.path()), tree(out));
        for attempt in ATTEMPTS {
            let text = attempt
                .replace("OUT", out.as_str())
                .replace("ROOT", bench.path().as_str());
            let mut asked = bench.ask(&text).reads("listed.csv");
            if text.contains("$path") {
                asked = asked.with("path", json!("/etc/passwd"));
            }
            match asked.run() {
                Err(Failure {
                    fault: Fault::SqlRefused | Fault::SqlFailed,
                    ..
                }) => {}
                other => escaped.push(format!("{version}: {attempt}: {other:?}")),
            }
        }
        assert!((tree(&bench.path()), tree(out)) == before, "{version}");
        assert_eq!(bench.ask("from 'listed.csv'").reads("listed.csv").rows(), 1);
    }
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
}
