//! Engines that are missing, foreign, slow or crash, and what they are kept from.

use super::*;

#[test]
fn a_query_that_takes_too_long_or_too_much_is_ended() {
    let mut bench = Bench::new();
    let mut asked = bench.ask("select count(*) from range(100000000) a, range(100000000) b");
    asked.stopped = || Some(Failure::new(Fault::ToolTimeout, "late"));
    assert_eq!(asked.failure(), "timeout: late");
    let asked = bench.ask("select list(i) from range(1000000000) t(i)");
    let failure = asked.failure();
    assert!(failure.starts_with("oom: q.sql: "), "{failure}");
    let asked = bench.ask("select length(repeat('x', 2000000000))");
    let failure = asked.failure();
    assert!(failure.starts_with("oom: q.sql: "), "{failure}");
    bench.most = 1 << 20;
    let failure = bench
        .ask("select random() from range(10000000)")
        .saves("r.csv")
        .failure();
    assert!(
        failure.starts_with("limit_exceeded: the results"),
        "{failure}"
    );
    let failure = bench.ask("create table t as select random() from range(1000000)");
    let failure = failure.database("x.duckdb", Access::Write).failure();
    assert!(
        failure.starts_with("limit_exceeded: the results"),
        "{failure}"
    );
}

#[test]
fn the_doctor_is_told_which_engine_there_is() {
    let bench = Bench::new();
    match probe(&bench.settings, &bench.path()) {
        EngineState::Ready(what) => {
            assert_eq!(what, format!("DuckDB v1.5.6 at {}", library("1.5.6")));
        }
        EngineState::Absent(why) | EngineState::Unusable(why) => panic!("{why}"),
    }
}

#[test]
fn a_library_that_is_missing_foreign_or_in_the_wrong_place_is_told_with_the_way_to_get_one() {
    let mut bench = Bench::new();
    bench.file("libduckdb.so", "");
    let below = bench.path().join("libduckdb.so");
    let other = tempfile::tempdir().unwrap();
    let other = Utf8Path::from_path(other.path()).unwrap();
    let made = |name: &str, mode: u32| {
        let path = other.join(name);
        fs::write(&path, "no library").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(&path, mode).unwrap();
        path
    };
    for (path, told) in [
        (other.join("none"), "cannot be used: No such file"),
        (below, "lies below the root"),
        (made("open", 0o666), "other users can change"),
        (made("garbage", 0o644), "cannot be used"),
        (
            Utf8PathBuf::from("/lib/x86_64-linux-gnu/libm.so.6"),
            "undefined symbol: duckdb_library_version",
        ),
    ] {
        bench.settings.library = Some(path);
        let failure = bench.ask("select 1").failure();
        assert!(failure.starts_with("engine_missing: "), "{failure}");
        assert!(failure.contains(told), "{failure}");
        assert!(matches!(
            probe(&bench.settings, &bench.path()),
            EngineState::Unusable(_)
        ));
    }
}

#[test]
fn a_file_that_is_replaced_after_the_check_is_not_read() {
    let bench = Bench::new();
    bench.file("a.csv", "x\n1\n").file("b.csv", "x\n2\n");
    let asked = bench.ask("from 'a.csv'").reads("a.csv");
    let mut input = asked.input(&rel("a.csv"));
    if let Source::File(file) = &mut input {
        file.inode += 1;
    }
    let failure = asked.run_with(vec![input]).unwrap_err();
    assert_eq!(failure.fault, Fault::HashMismatch);
}

#[test]
fn an_engine_that_crashes_or_is_unknown_is_told_and_the_run_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new();
    for (does, told) in [
        (
            "abort();",
            "engine_failed: the engine was ended by signal 6 while it performed q.sql",
        ),
        (
            "exit(0);",
            "engine_failed: the engine ended with exit status: 0",
        ),
        (
            "return \"v1.3.2\";",
            "engine_missing: q.sql: DuckDB's library ",
        ),
        (
            "return \"v3.0.0\";",
            "engine_missing: q.sql: DuckDB's library ",
        ),
    ] {
        bench.settings.library = Some(fake(dir.path(), does));
        let failure = bench.ask("select 1").failure();
        assert!(failure.starts_with(told), "{failure}");
    }
}

#[test]
fn the_last_statement_is_found_fast_behind_many_semicolons() {
    let many = ";".repeat(400_000);
    let texts = [
        format!("select 1; select length('{many}') as a"),
        format!(
            "select length('{many}') as a {}{}",
            "/*".repeat(500),
            "*/".repeat(500)
        ),
        format!("select 1; select length($t$'{many}$t$) - 1 as a {many}"),
        format!("select 1; select length(e'\\'{many}') - 1 as a -- {many}"),
    ];
    let bench = Bench::new();
    let began = std::time::Instant::now();
    for text in texts {
        assert_eq!(bench.ask(&text).saves("r.csv").saved(), "a\n400000\n");
    }
    assert!(began.elapsed().as_secs() < 30);
}

#[test]
fn a_disk_without_space_is_told_as_such() {
    let fault = |kind: &str, message: &str| {
        let said = format!(r#"{{"exception_type":"{kind}","exception_message":"{message}"}}"#);
        job::understood(&said).0
    };
    let full = "Could not write file: No space left on device";
    assert_eq!(fault("IO", full), Fault::DiskFull);
    assert_eq!(fault("FATAL", full), Fault::DiskFull);
    assert_eq!(fault("IO", "No files found"), Fault::SqlRefused);
    assert_eq!(fault("Invalid Input", full), Fault::SqlFailed);
}

#[test]
fn a_path_or_a_number_that_the_engine_would_misread_is_told() {
    let bench = Bench::new();
    bench.file("~x.csv", "a\n1\n");
    let failure = bench.ask("from '~x.csv'").reads("~x.csv").failure();
    assert!(failure.contains("takes `~` at the beginning"), "{failure}");
    let big: Value = serde_json::from_str("170141183460469231731687303715884105728").unwrap();
    let failure = bench.ask("select $n").with("n", big).failure();
    assert!(failure.contains("outside of HUGEINT"), "{failure}");
    let root = tempfile::Builder::new().prefix("a[b]").tempdir().unwrap();
    let scratch = Utf8Path::from_path(root.path()).unwrap();
    let failure = bench.ask("select 1").run_in(scratch, Vec::new());
    let failure = failure.unwrap_err().message;
    assert!(
        failure.contains("takes `[` in a path for a pattern"),
        "{failure}"
    );
}
