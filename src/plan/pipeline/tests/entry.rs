//! What the entry of a pipeline lets a plan give, and what is told of its files.

use super::*;

#[test]
fn each_parameter_is_one_argument_and_only_declared_ones_are_taken_c_23() {
    let mut program = pipeline(&["run", "{root}", "--day", "{day}", "{n}", "--", "{rest}"]);
    program.parameters = json!({
        "type": "object", "required": ["day", "n"],
        "properties": {"day": {}, "n": {"type": ["integer", "boolean"]}, "rest": {"type": "string", "default": "-x"}},
    });
    let given = |value: Value| arguments(&program, value.as_object().unwrap());
    let argv = given(json!({"day": "a b; $(c) {root}", "n": 7})).unwrap();
    assert_eq!(
        argv,
        [
            "run",
            "{root}",
            "--day",
            "a b; $(c) {root}",
            "7",
            "--",
            "-x"
        ]
    );
    assert_eq!(
        given(json!({"day": 1.50, "n": true})).unwrap()[3..5],
        ["1.5", "true"]
    );
    for (value, why) in [
        (
            json!({"day": "d", "n": 1, "Day": 1}),
            "include `Day`, which its entry does not declare; it has day, n, rest",
        ),
        (json!({"day": "d"}), "\"n\" is a required property"),
        (json!({"day": "d", "n": "x"}), "/n: "),
        (json!({"day": "a\0b", "n": 1}), "NUL character in `day`"),
        (json!({"day": "--drop", "n": 1}), "begins with `-`"),
        (
            json!({"day": ["d"], "n": 1}),
            "must have a text, a number, true or false in `day`",
        ),
        (json!({"day": null, "n": 1}), "must have a text"),
    ] {
        let failure = given(value).unwrap_err();
        assert_eq!(failure.fault, Fault::ParamsInvalid);
        assert!(
            failure.message.contains(why),
            "{} does not say {why}",
            failure.message
        );
    }
}

#[test]
fn no_pipeline_may_write_what_oneact_keeps_or_its_catalog() {
    let place = place();
    let own = [RelPath::parse("state/ledger.db").unwrap()];
    let mut program = writing(&["conf"], "true");
    can_start(&program, &place.root, &own).unwrap();
    program.catalog = place.root.join("conf/catalog.toml");
    for program in [
        &program,
        &writing(&["state"], ""),
        &writing(&["state/ledger.db/x"], ""),
    ] {
        let failure = can_start(program, &place.root, &own).unwrap_err();
        assert_eq!(failure.fault, Fault::CatalogInvalid, "{}", failure.message);
    }
}

#[test]
fn what_was_written_since_is_named_and_counted() {
    let place = place();
    let writes = ["a", "missing"].map(|dir| RelPath::parse(dir).unwrap());
    fs::create_dir_all(place.root.join("a/b")).unwrap();
    fs::write(place.root.join("a/old"), "").unwrap();
    thread::sleep(Duration::from_millis(20));
    let since = file_time();
    for n in 0..150 {
        fs::write(place.root.join(format!("a/b/{n:03}")), "").unwrap();
    }
    symlink("/etc", place.root.join("a/link")).unwrap();
    let unnamed = place
        .root
        .as_std_path()
        .join("a")
        .join(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&unnamed).unwrap();
    fs::write(unnamed.join("file"), "").unwrap();
    let (files, count) = written_since(&place.root, &writes, since);
    assert_eq!((files.len(), count), (100, 152));
    assert_eq!(
        (files[0].as_str(), files[99].as_str()),
        ("a/b/000", "a/b/099")
    );
}
