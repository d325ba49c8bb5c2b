//! The formats of results, and what they cannot hold.

use super::*;

#[test]
fn the_ending_decides_the_format() {
    let bench = Bench::new();
    let saved = |path: &str| {
        bench
            .ask("select 1 a, 'x' b union all select 2, null order by a")
            .saves(path)
            .run()
            .unwrap()
    };
    let text = |path: &str| String::from_utf8(saved(path).results.unwrap()).unwrap();
    assert_eq!(text("r.csv"), "a,b\n1,x\n2,\n");
    assert_eq!(
        text("R.JSON"),
        "[\n\t{\"a\":1,\"b\":\"x\"},\n\t{\"a\":2,\"b\":null}\n]\n"
    );
    assert_eq!(
        text("r.jsonl"),
        "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n"
    );
    let parquet = saved("r.parquet");
    assert_eq!(parquet.rows, Some(2));
    assert!(parquet.results.unwrap().starts_with(b"PAR1"));
}

#[test]
fn an_empty_result_is_saved_in_every_format() {
    let bench = Bench::new();
    for (path, whole) in [
        ("r.csv", Some("a\n")),
        ("r.json", Some("[\n\t\n]\n")),
        ("r.jsonl", Some("")),
        ("r.parquet", None),
    ] {
        let answer = bench
            .ask("select 1 a where false")
            .saves(path)
            .run()
            .unwrap();
        assert_eq!(answer.rows, Some(0), "{path}");
        if let Some(whole) = whole {
            assert_eq!(String::from_utf8(answer.results.unwrap()).unwrap(), whole);
        }
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused_or_told() {
    let bench = Bench::new();
    for value in ["'NaN'::double", "'-Infinity'::double", "['NaN'::float]"] {
        for path in ["r.json", "r.jsonl"] {
            let failure = bench
                .ask(&format!("select {value} a"))
                .saves(path)
                .failure();
            assert!(
                failure.contains("not JSON") && failure.contains("NaN or Infinity"),
                "{failure}"
            );
        }
        assert!(
            bench
                .ask(&format!("select {value} a"))
                .saves("r.csv")
                .run()
                .is_ok()
        );
    }
    let notes = |text: &str, path: &str| bench.ask(text).saves(path).run().unwrap().notes;
    let sum = "select sum(i) total from range(3) t(i)";
    assert!(notes(sum, "r.csv").is_empty());
    let told = notes(sum, "r.parquet").concat();
    assert!(
        told.contains("`total` (HUGEINT) is stored with DOUBLE") && told.contains("DECIMAL(38,0)"),
        "{told}"
    );
    assert!(
        notes(
            "select sum(i)::bigint total from range(3) t(i)",
            "r.parquet"
        )
        .is_empty()
    );
}

#[test]
fn a_guess_about_types_is_told() {
    let bench = Bench::new();
    let rows = |count: usize| format!("n\n{}", "1\n".repeat(count));
    bench
        .file("long.csv", rows(20_500))
        .file("short.csv", rows(10));
    let notes = |text: &str, path: &str| bench.ask(text).reads(path).run().unwrap().notes;
    assert!(notes("from 'short.csv'", "short.csv").is_empty());
    let told = notes("from 'long.csv'", "long.csv").concat();
    assert!(
        told.contains("long.csv has more rows than the 20480"),
        "{told}"
    );
    assert!(notes("from read_csv('long.csv', sample_size = -1)", "long.csv").is_empty());
    assert!(
        notes(
            "from read_csv('long.csv', columns={'n': 'INT'})",
            "long.csv"
        )
        .is_empty()
    );
}

#[test]
fn a_type_that_parquet_narrows_is_told_where_it_is_nested_too() {
    let bench = Bench::new();
    let notes = |value: &str| {
        let asked = bench.ask(&format!("select {value} as a"));
        asked.saves("r.parquet").run().unwrap().notes.concat()
    };
    for value in [
        "[1::hugeint]",
        "{'b': 1::uhugeint}",
        "map {1: 2::hugeint}",
        "array_value(1::hugeint)",
    ] {
        assert!(notes(value).contains("has no HUGEINT"), "{value}");
    }
    for value in ["interval 1 day", "[interval 1 day]"] {
        assert!(notes(value).contains("no microseconds"), "{value}");
    }
    assert_eq!(notes("{'hugeint': 1}"), "");
}

#[test]
fn a_guess_is_told_whatever_the_ending_of_the_file() {
    let bench = Bench::new();
    bench.file("long.log", format!("n\n{}", "1\n".repeat(20_500)));
    let notes = |text: &str| {
        let asked = bench.ask(text).reads("long.log");
        asked.run().unwrap().notes.concat()
    };
    let told = "long.log has more rows";
    assert!(notes("from read_csv('long.log')").contains(told));
    assert!(notes("select 1 as types from read_csv('long.log') where types = 1").contains(told));
    assert_eq!(notes("from read_csv('long.log', types = {'n': 'INT'})"), "");
    assert_eq!(notes("from read_text('long.log')"), "");
}
