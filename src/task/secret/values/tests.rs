//! Values in all the ways in which a server may write them.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use serde_json::json;

use super::*;

fn secrets(values: &[&str]) -> Secrets {
    Secrets::new(values.iter().map(ToString::to_string))
}

#[test]
fn every_occurrence_goes_and_so_do_those_that_overlap() {
    assert_eq!(
        secrets(&["keys", "keys-1", ""]).cut("keys-1 and keys"),
        "*** and ***"
    );
    assert_eq!(secrets(&["abcdef", "defghi"]).cut("(abcdefghi)"), "(***)");
}

#[test]
fn a_value_as_short_as_a_flag_is_none() {
    let none = secrets(&["", "1", "abc", "  a "]);
    assert!(none.is_empty());
    assert_eq!(none.cut("abc"), "abc");
}

#[test]
fn nothing_is_built_before_there_is_a_text() {
    let one = secrets(&["hunter2"]);
    let built = |secrets: &Secrets| secrets.0.search.get().is_some();
    let both = Secrets::all([one.clone(), Secrets::default()]);
    assert!(!built(&one));
    one.clone().cut("x");
    assert!(built(&one) && built(&both), "all copies share it");
}

#[test]
fn a_secret_across_an_edge_of_the_window_leaves_no_part() {
    let secrets = secrets(&["hunter2"]);
    assert_eq!(secrets.cut_within(b"xxhunter2yy", 5..11), "***yy");
    assert_eq!(secrets.cut_within(b"xxhunter2yy", 0..5), "xx***");
    assert_eq!(secrets.cut_within(b"xxhunter2yy", 0..500), "xx***yy");
}

#[test]
fn a_secret_is_found_with_one_level_of_escapes() {
    let secret = "p\"a\\s/s<\u{e9}\u{1f511}&%41 =@";
    let secrets = secrets(&[secret]);
    let json = |text: &str| {
        let quoted = json!(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let percent = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let units = |text: &str| {
        let each = text.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
        each.collect::<String>()
    };
    for written in [
        secret.to_owned(),
        json(secret),
        json(secret).replace('/', "\\/"),
        units(secret),
        percent(secret),
        percent(secret).to_lowercase(),
    ] {
        assert_eq!(secrets.cut(&format!("({written})")), "(***)", "{written}");
        assert!(written.len() <= secrets.longest());
    }
    for other in [
        r#"p\"a\s"#,
        r"p\u0022a\u",
        r"p\",
        &json(&json(secret)),
        &percent(&percent(secret)),
    ] {
        assert_eq!(secrets.cut(other), *other);
    }
}

#[test]
fn a_secret_is_found_in_base64_wherever_it_stands_there() {
    let secrets = secrets(&["hunter2-swordfish"]);
    for lead in ["", "u", "us", "use", "user:"] {
        for rest in ["", "!", "!!", "!!!"] {
            let text = format!("{lead}hunter2-swordfish{rest}");
            for encoded in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                let cut = secrets.cut(&encoded);
                let left = cut.replace("***", "").len();
                let others = (lead.len() * 8).div_ceil(6) + (rest.len() * 8).div_ceil(6) + 1;
                assert!(cut.contains("***") && left <= others, "{encoded}: {cut}");
            }
        }
    }
}

#[test]
fn base64_is_found_also_where_its_letters_are_escaped() {
    let secret = "???>>>";
    let encoded = STANDARD_NO_PAD.encode(secret);
    assert!(encoded.contains('/') && encoded.contains('+'), "{encoded}");
    for escaped in [
        encoded.replace('/', "\\/"),
        encoded.replace('+', "%2B").replace('/', "%2F"),
    ] {
        assert_eq!(secrets(&[secret]).cut(&escaped), "***");
    }
}

#[test]
fn a_secret_is_found_without_the_blanks_around_it_and_line_by_line() {
    let key = secrets(&["-----BEGIN KEY-----\nMIIEpAIBAAKC\nAQEA0Z3VS5JJ\n"]);
    assert_eq!(key.cut("read AQEA0Z3VS5JJ"), "read ***");
    assert_eq!(secrets(&["hunter2\n"]).cut("(hunter2)"), "(***)");
    assert_eq!(secrets(&["open sesame"]).cut("a=open+sesame"), "a=***");
}

#[test]
fn names_and_values_of_json_are_cut_alike() {
    let cut = secrets(&["s3s3"]).cut_value(json!({"s3s3": ["s3s3", 3]}));
    assert_eq!(cut, json!({"***": ["***", 3]}));
}

#[test]
fn members_whose_names_become_equal_all_stay() {
    let value = json!({"s3s3": 1, "*** (2)": 2, "s3s3 (2)": 4, "x": 5});
    let cut = secrets(&["s3s3"]).cut_value(value);
    let kept = json!({"***": 1, "*** (2)": 2, "*** (2) (2)": 4, "x": 5});
    assert_eq!(cut, kept);
}

#[test]
fn a_number_goes_if_it_is_a_secret_or_contains_a_long_one() {
    let cut = |secret: &str, numbers: &str| {
        secrets(&[secret]).cut_value(serde_json::from_str(numbers).unwrap())
    };
    assert_eq!(
        cut("4711", r#"[4711, -4711, "-4711", 471, 47111, 47.11, true]"#),
        json!(["***", "-***", "-***", 471, 47111, 47.11, true])
    );
    assert_eq!(
        cut(
            "5551234567",
            "[-5551234567, 5551234567.5, 9955512345670, 555123456]"
        ),
        json!(["-***", "***.5", "99***0", 555_123_456])
    );
    assert_eq!(
        secrets(&["4711"]).cut("got 4711 of 47111"),
        "got *** of ***1"
    );
}

#[test]
fn of_many_lines_each_is_found_and_of_too_many_nothing_is_shown() {
    let lines = |count: usize| {
        let each = (0..count).map(|number| format!("line {number:05}\n"));
        each.collect::<String>()
    };
    let known = secrets(&[&lines(5_000)]);
    assert_eq!(known.cut("at line 00017 of it"), "at *** of it");
    assert_eq!(known.cut(&format!("({})", lines(5_000).trim())), "(***)");
    let unknown = secrets(&[&lines(30_000)]);
    assert_eq!(unknown.cut("at line 00017 of it"), "***");
}

#[test]
fn a_text_made_of_a_secret_is_cut_in_one_pass() {
    // Quadratic work would take minutes for these.
    let secrets = secrets(&["aaaa", "aaaaaaaaaaaaaaaa"]);
    assert_eq!(secrets.cut(&"a".repeat(1_000_000)), "***");
    assert_eq!(secrets.cut(&r"\u0061".repeat(200_000)), "***");
}
