//! Facts about what an edit may cost: counted in bytes and in questions, never in seconds.

use std::cell::Cell;

use super::*;
use crate::edit::check_syntax;

const T: &str = "a.txt";

fn bounded(change: &Edit, before: &str, most: u64) -> Result<Edited, Failure> {
    let budget = Budget {
        most,
        stopped: &|| None,
    };
    crate::edit::edit(
        change,
        &name(T),
        before.as_bytes(),
        before.as_bytes(),
        &budget,
    )
    .map_err(Failure::from)
}

/// How often an edit asks whether to go on, and how it ends if the answer is no from the `last` question on.
fn asked(file: &str, change: &Edit, before: &str, last: usize) -> (usize, Result<Edited, Failure>) {
    let asked = Cell::new(0);
    let stopped = || {
        asked.set(asked.get() + 1);
        (asked.get() >= last).then(|| Failure::new(Fault::Cancelled, "cancelled by SIGTERM"))
    };
    let budget = Budget {
        most: u64::MAX,
        stopped: &stopped,
    };
    let ended = crate::edit::edit(
        change,
        &name(file),
        before.as_bytes(),
        before.as_bytes(),
        &budget,
    );
    (asked.get(), ended.map_err(Failure::from))
}

#[test]
fn a_result_that_would_be_too_large_is_never_built() {
    // Built, these would be 100 GB and 400 GB.
    let text = "a".repeat(1_000_000);
    let long = "x".repeat(100_000);
    let groups = "$0".repeat(400_000);
    let braced = "${0}${1}".repeat(200_000);
    for change in [
        literal("a", &long, Count::All),
        literal("a", &long, Count::Exactly(1_000_000)),
        regex(".", &long, Count::All),
        regex(".", &groups, Count::All),
        regex("(a)", &braced, Count::All),
        regex("(a+)", &"$1".repeat(400_000), Count::Exactly(1)),
    ] {
        let failed = bounded(&change, &text, 1 << 20).unwrap_err();
        assert_eq!(failed.fault, Fault::LimitExceeded, "{}", failed.message);
        assert!(
            failed.message.contains("1048576 bytes"),
            "{}",
            failed.message
        );
    }
    // A folded literal has replacements, too.
    let lines = "a\r\n".repeat(100_000);
    let failed = bounded(&literal("a\n", &long, Count::All), &lines, 1 << 20).unwrap_err();
    assert_eq!(failed.fault, Fault::LimitExceeded);
}

#[test]
fn the_last_byte_that_fits_fits() {
    for change in [
        literal("b", "xyz", Count::All),
        regex("(b)", "$1$1${1}", Count::All),
    ] {
        assert_eq!(bounded(&change, "abcbd", 9).unwrap().bytes.len(), 9);
        let failed = bounded(&change, "abcbd", 8).unwrap_err();
        assert_eq!(failed.fault, Fault::LimitExceeded);
    }
}

#[test]
fn too_many_matches_are_counted_and_not_built() {
    let text = "a".repeat(100_000);
    let change = literal("a", &"x".repeat(1_000), Count::Exactly(1));
    let failed = bounded(&change, &text, 200_000).unwrap_err();
    assert_eq!(failed.fault, Fault::PatternAmbiguous, "{}", failed.message);
    assert!(
        failed.message.contains("100000 times"),
        "{}",
        failed.message
    );
}

#[test]
fn a_signal_is_heeded_between_any_two_matches() {
    let text = "a\r\n".repeat(10_000);
    for change in [
        literal("a", "b", Count::All),
        literal("\n", "", Count::All),
        literal("a\n", "b\n", Count::All),
        regex("a", "b", Count::All),
        regex("(?s).", "b", Count::All),
        regex(r"(a)\s", "$1", Count::All),
        regex("a", "b", Count::Exactly(1)),
    ] {
        let (times, ended) = asked(T, &change, &text, 7);
        assert_eq!(ended.unwrap_err().fault, Fault::Cancelled);
        assert_eq!(times, 7, "{change:?}");
    }
}

/// Such a search cannot be stopped, and takes time in proportion to the text × the compiled expression.
#[test]
fn an_expression_is_not_searched_for_in_a_text_that_is_too_long() {
    let line = ["a".repeat((8 << 20) - 1), "b".to_owned()].concat();
    let change = regex(r"a{5}b", "c", Count::All);
    let after = bounded(&change, &line, u64::MAX).unwrap().bytes;
    assert_eq!(after.len(), (8 << 20) - 5);
    let longer = format!("{line}\n");
    let failed = bounded(&change, &longer, u64::MAX).unwrap_err();
    assert_eq!(failed.fault, Fault::LimitExceeded);
    assert_eq!(
        failed.message,
        "the text has 8388609 bytes; use a literal pattern: a regular expression is searched for in texts of up to \
         8388608 bytes"
    );
    let literal = literal("aaaaab", "c", Count::All);
    assert!(bounded(&literal, &longer, u64::MAX).is_ok());
}

#[test]
fn an_expression_finds_what_the_library_finds() {
    let mut rng = fastrand::Rng::with_seed(20);
    let mut text = String::new();
    while text.len() < 400_000 {
        let length = rng.usize(0..200);
        text.extend((0..length).map(|_| rng.choice(['a', 'b', ' ', 'é', '\r']).unwrap()));
        text.push('\n');
    }
    text.push_str("ab");
    // The library knows nothing of the line ends of a file.
    let lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
    let plain = lines.collect::<Vec<_>>().join("\n");
    for (pattern, replacement) in [
        ("a+b", "<$0>"),
        ("(?m)^.", "<$0>"),
        ("(?m).$", "<$0>"),
        (r"(?m)\r$", ""),
        (r"(a)(b)?\b", "$2$1"),
        (r"[^\n]+", "x"),
        (r"b\z", "x"),
        (r"\A.", "x"),
        ("b$", "x"),
        (r"\ba(?s:.)b", "$0$0"),
        (r"\s+a", "-"),
        (r"(?R)(?m).$", "x"),
    ] {
        let text = match pattern {
            r"(?m)\r$" => &text,
            _ => &plain,
        };
        let whole = ::regex::bytes::Regex::new(pattern).unwrap();
        let expected = whole.replace_all(text.as_bytes(), replacement.as_bytes());
        let is = edit(
            &regex(pattern, replacement, Count::All),
            &name(T),
            text.as_bytes(),
        );
        assert!(is.unwrap().bytes == expected.as_ref(), "{pattern}");
    }
}

#[test]
fn a_literal_across_line_ends_is_found_where_an_expression_finds_it() {
    let mut rng = fastrand::Rng::with_seed(21);
    for _ in 0..5_000 {
        let mut some = |parts: &[&str], length: usize| -> String {
            let length = rng.usize(1..=length);
            (0..length)
                .map(|_| rng.choice(parts).copied().unwrap())
                .collect()
        };
        let body = some(&["a", "b", "é", "\n", "\r\n"], 24);
        let pattern = some(&["a", "b", "\n"], 3);
        if !pattern.contains('\n') || body.contains(&pattern) {
            continue;
        }
        let expression = pattern.replace('\n', "\r?\n");
        let expected = ::regex::Regex::new(&expression)
            .unwrap()
            .replace_all(&body, "<x>");
        let is = edit(
            &literal(&pattern, "<x>", Count::All),
            &name(T),
            body.as_bytes(),
        );
        match is {
            Ok(is) => assert_eq!(text(is), expected, "{pattern:?} in {body:?}"),
            Err(EditError::Ambiguous(_)) => {}
            Err(_) => assert_eq!(body, expected, "{pattern:?} in {body:?}"),
        }
    }
}

/// Two before the first edit of a text, and two after the last.
const JSON_PASSES: usize = 4;

#[test]
fn a_json_edit_is_told_to_stop_between_its_passes_and_makes_a_bounded_number_of_them() {
    let items = vec!["[0,[1]]"; 1_000].join(",");
    let before = format!("[{items}]");
    for change in [
        update("$[3]", "1"),
        remove("$[3]", "1"),
        update("$[-1][-1][-1]", "1"),
    ] {
        let (times, ended) = asked("a.json", &change, &before, usize::MAX);
        assert!(ended.is_ok());
        assert_eq!(times, JSON_PASSES, "{change:?}");
        for last in 1..=JSON_PASSES {
            let (_, ended) = asked("a.json", &change, &before, last);
            assert_eq!(ended.unwrap_err().fault, Fault::Cancelled);
        }
    }
}

/// Many of these meet a place of another. The text is too long to be read as a tree.
#[test]
fn many_json_edits_of_one_text_pass_through_it_as_often_as_one() {
    let members = (0..10_000).map(|at| format!("\"k{at}\":{{\"a\":[{at},true]}},"));
    let long = "x".repeat(9 << 20);
    let before = format!("{{{}\"long\":\"{long}\"}}", members.collect::<String>());
    let edits = (0..60).flat_map(|at| {
        let place = format!("$.k{}", at * 150);
        [
            update(&format!("{place}.a[-1]"), "{\"b\": []}"),
            update(&format!("{place}.a[1].b"), "2"),
            add("$.k7", &format!("new{at}"), "{}"),
            add(&format!("$.k7.new{at}"), "c", "3"),
            remove("$", &format!("k{}", at * 150 + 1)),
        ]
    });
    let edits: Vec<_> = edits.collect();
    let (made, asked) =
        together::counted(|budget| together::together("a.json", &edits, &before, budget));
    let (after, _) = made.unwrap();
    assert_eq!(after.matches("true").count(), 10_000 - 120);
    assert_eq!(after.matches("{\"c\":3}").count(), 60);
    // Each edit asks once for itself.
    assert_eq!(asked - edits.len(), JSON_PASSES);
}

#[test]
fn what_a_long_indentation_makes_of_a_value_is_known_before_it_is_built() {
    // Built, this would be 100 GB: the first item shows an indentation of 1 MB.
    let before = format!("{{\n{}\"a\": 1\n}}", " ".repeat(1 << 20));
    let many = serde_json::to_string(&vec![0; 100_000]).unwrap();
    for change in [add("$", "k", &many), update("$.a", &many)] {
        let budget = Budget {
            most: 50 << 20,
            stopped: &|| None,
        };
        let failed = crate::edit::edit(
            &change,
            &name("a.json"),
            before.as_bytes(),
            before.as_bytes(),
            &budget,
        );
        assert_eq!(
            Failure::from(failed.unwrap_err()).fault,
            Fault::LimitExceeded
        );
    }
    let change = add("$", "k", "[0]");
    let after = "{\"a\":1,\"k\":[0]}";
    let with = |most| {
        let budget = Budget {
            most,
            stopped: &|| None,
        };
        let before = b"{\"a\":1}";
        crate::edit::edit(&change, &name("a.json"), before, before, &budget)
    };
    assert_eq!(text(with(after.len() as u64).unwrap()), after);
    assert!(with(after.len() as u64 - 1).is_err());
}

#[test]
fn a_minified_document_is_not_gone_back_through_for_each_of_its_items() {
    // One line: going back to its start for each item would take a thousand times as long.
    let before = format!("[{}{{}}]", "{\"a\":[1],\"b\":{\"c\":2}},".repeat(40_000));
    for (change, added) in [
        (update("$[39999].a[0]", "22"), 1),
        (remove("$", "0"), -22),
        (add("$[40000]", "d", "3"), 5),
        (update("$[-1]", "[1,2]"), 3),
    ] {
        let after = edit(&change, &name("a.json"), before.as_bytes())
            .unwrap()
            .bytes;
        let by = i64::try_from(after.len()).unwrap() - i64::try_from(before.len()).unwrap();
        assert_eq!(by, added, "{change:?}");
    }
}

#[test]
fn a_document_that_is_too_large_to_be_held_is_held_against_no_schema() {
    let before = format!("{{\"a\": \"{}\"}}", "x".repeat(9 << 20));
    let edited = |change: &Edit| {
        let bytes = before.as_bytes();
        alone(crate::edit::schema_update(
            change,
            &name("a.json"),
            bytes,
            bytes,
            &FREE,
        ))
    };
    // What was there is not looked at, if it is too large.
    assert!(edited(&update("$.a", "1")).is_ok());
    let failed = edited(&add("$", "b", "1")).unwrap_err();
    assert!(
        failed.to_string().contains("checked against a schema"),
        "{failed}"
    );
}

#[test]
fn a_yaml_text_that_is_too_long_is_not_read() {
    let before = format!("z: 1\na: {}\n", "x".repeat(8 << 20));
    for change in [
        yaml_update("$.z", "2"),
        literal("z: 1", "z: 2", Count::Exactly(1)),
    ] {
        let failed = edit(&change, &name("a.yaml"), before.as_bytes()).unwrap_err();
        assert!(
            failed
                .to_string()
                .contains("YAML is read up to 8388608 bytes"),
            "{failed}"
        );
    }
    assert!(check_syntax(&name("a.yaml"), before.as_bytes(), &|| None).is_err());
    // By its name, it is a text.
    let change = literal("z: 1", "z: 2", Count::Exactly(1));
    assert!(edit(&change, &name("a.txt"), before.as_bytes()).is_ok());
}

#[test]
fn a_signal_ends_the_reading_of_a_yaml_text() {
    let before = format!("z: 1\na:\n{}", "- x\n".repeat(100_000));
    for change in [
        yaml_update("$.z", "2"),
        literal("z: 1", "z: 2", Count::Exactly(1)),
    ] {
        let (questions, done) = asked("a.yaml", &change, &before, usize::MAX);
        assert!(done.is_ok() && questions > 40, "{questions}");
        for last in [2, questions / 2, questions] {
            let (questions, ended) = asked("a.yaml", &change, &before, last);
            assert_eq!(
                (questions, ended.unwrap_err().fault),
                (last, Fault::Cancelled)
            );
        }
    }
}

/// Going back to the last line feed, or to the last line, for each item would take a thousand times as long.
#[test]
fn the_lines_of_a_yaml_text_are_looked_at_once() {
    let long = "z".repeat(4 << 20);
    let keys = (0..100_000).map(|at| format!("k{at}: 1\r"));
    let keys: String = keys.collect();
    let scalars = "- |\n  a\n".repeat(100_000);
    for text in [
        format!("# {long}\r{keys}"),
        format!("l:\n{scalars}# {long}"),
    ] {
        check_syntax(&name("a.yaml"), text.as_bytes(), &|| None).unwrap();
    }
}

#[test]
fn a_tab_in_the_indentation_ends_the_reading_of_a_yaml_text() {
    let text = format!("a:\n  \tb: 1\n{}", "  c: 1\n".repeat(100_000));
    let (read, asked) =
        together::counted(|budget| check_syntax(&name("a.yaml"), text.as_bytes(), budget.stopped));
    assert_eq!(asked, 1, "{read:?}");
}

#[test]
fn comments_that_do_not_end_are_looked_at_once() {
    let text = "/* ".repeat(200_000);
    assert!(check_syntax(&name("a.jsonc"), text.as_bytes(), &|| None).is_err());
}
