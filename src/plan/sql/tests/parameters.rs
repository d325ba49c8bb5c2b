//! Parameters are bound by name, and arrive as they are (R-001-190).

use super::*;

#[test]
fn a_query_binds_parameters_by_name_and_saves_its_rows_r_001_190() {
    let bench = Bench::new();
    bench.file("data/in.csv", "id,amount\n1,10\n2,20\n3,30\n");
    let asked = bench
        .ask("-- only some\nSELECT id, amount * $factor AS \"total\"\nFROM read_csv('data/in.csv')\nWHERE id >= $Least ORDER BY id; -- done\n")
        .with("factor", json!(2))
        .with("least", json!(2))
        .reads("data/in.csv")
        .saves("out/r.csv");
    let answer = asked.run().unwrap();
    assert_eq!(answer.results.unwrap(), b"id,total\n2,40\n3,60\n");
    assert_eq!((answer.rows, answer.notes.len()), (Some(2), 0));
    assert_eq!(answer.engine, "DuckDB v1.5.6");
}

#[test]
fn every_value_of_a_parameter_arrives_as_it_is() {
    let bench = Bench::new();
    let big: Value = serde_json::from_str("170141183460469231731687303715884105727").unwrap();
    let asked = bench.ask(
        "SELECT typeof($n) n, $b AS b, $i AS i, $u AS u, $h AS h, $d AS d, $t AS t, $neg AS neg, typeof($h) th",
    );
    let asked = asked
        .with("n", Value::Null)
        .with("b", json!(true))
        .with("i", json!(i64::MIN));
    let asked = asked
        .with("u", json!(u64::MAX))
        .with("h", big)
        .with("d", json!(0.1));
    let asked = asked
        .with("t", json!("o'é \u{1F600}"))
        .with("neg", serde_json::from_str("-9223372036854775809").unwrap());
    assert_eq!(
        asked.saves("r.jsonl").saved(),
        "{\"n\":\"\\\"NULL\\\"\",\"b\":true,\"i\":-9223372036854775808,\"u\":18446744073709551615,\
         \"h\":170141183460469231731687303715884105727,\"d\":0.1,\"t\":\"o'é \u{1F600}\",\"neg\":-9223372036854775809,\"th\":\"HUGEINT\"}\n"
    );
}
