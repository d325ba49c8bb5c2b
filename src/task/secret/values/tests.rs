//! Values in all the ways in which a server may write them.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use serde_json::json;

use super::*;
use crate::task::hexadecimal;

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
    let built = |secrets: &Secrets| {
        let known = secrets.0.as_ref();
        known.is_some_and(|known| known.forms.get().is_some())
    };
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
fn a_secret_is_found_however_it_is_escaped() {
    let secret = "p\"a\\s/s<\u{e9}\u{1f511}&%41 =@";
    let secrets = secrets(&[secret]);
    let json = |text: &str| {
        let quoted = json!(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let percent = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let html = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('"', "&quot;")
            .replace('=', "&#61;")
            .replace('@', "&#x40;")
    };
    let units = |text: &str| {
        let each = text.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
        each.collect::<String>()
    };
    for written in [
        secret.to_owned(),
        json(secret),
        json(secret).replace('/', "\\/"),
        json(&json(secret)),
        json(&json(&json(secret))),
        units(secret),
        json(&units(secret)),
        percent(secret),
        percent(&percent(secret)),
        percent(&json(secret)),
        html(secret),
        html(&html(secret)),
        json(&html(secret)),
    ] {
        assert_eq!(secrets.cut(&format!("({written})")), "(***)", "{written}");
        assert!(written.len() <= secrets.longest());
    }
    for other in [r#"p\"a\s"#, r"p\u0022a\u", r"p\"] {
        assert_eq!(secrets.cut(other), other);
    }
}

#[test]
fn a_secret_is_found_in_hexadecimal() {
    let secrets = secrets(&["hunter2"]);
    assert_eq!(secrets.cut("x68756e74657232y"), "x***y");
    assert_eq!(secrets.cut("x68756E74657232y"), "x***y");
    assert_eq!(secrets.cut(r"x\x68\x75\x6e\x74\x65\x72\x32y"), "x***y");
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
                let others = lead.len() * 8 / 6 + (rest.len() * 8).div_ceil(6);
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
    let escaped = encoded.replace('/', "\\/").replace('+', "%2B");
    assert_eq!(secrets(&[secret]).cut(&escaped), "***");
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
    let value = json!({"s3s3": 1, "*** (2)": 2, "czNzMw": 3, "s3s3 (2)": 4, "x": 5});
    let cut = secrets(&["s3s3"]).cut_value(value);
    let kept = json!({"***": 1, "*** (2)": 2, "*** (3)": 3, "*** (2) (2)": 4, "x": 5});
    assert_eq!(cut, kept);
}

#[test]
fn a_number_that_tells_a_secret_goes_however_it_is_written() {
    let cut = |secret: &str, numbers: &str| {
        secrets(&[secret]).cut_value(serde_json::from_str(numbers).unwrap())
    };
    let short = cut(
        "4711",
        r#"[4711, -4711, 4711.0, 4711e2, 47.11, 4.711E3, 47110, 0.04711, "-4711", 471, 47111, true]"#,
    );
    let cuts = vec!["***"; 8];
    let kept = [json!("-***"), json!(471), json!(47111), json!(true)];
    let kept: Vec<Value> = cuts.into_iter().map(Value::from).chain(kept).collect();
    assert_eq!(short, Value::from(kept));
    for (secret, spellings) in [
        ("4821.0", "[4821, 482100]"),
        ("482100", "[4.821e5, 48210e1, 482100.0]"),
        ("6591234500", "[6.5912345e9, 65912345]"),
        ("15000000000", "[1.5e10, 15000000000.0, 15E9]"),
        ("1.5e10", "[15000000000, 0.15e11]"),
        ("1234567890", "[12345678.9]"),
        ("4000", "[4e3, 4000.00]"),
    ] {
        let told = cut(secret, spellings).to_string();
        assert_eq!(
            told.matches("***").count(),
            spellings.matches(',').count() + 1,
            "{secret}: {told}"
        );
    }
    assert_eq!(cut("4000", "[4, 40000, 15]"), json!([4, 40000, 15]));
    let text = secrets(&["6591234567"]).cut("it is 6.591234567e+09, not 6.5e+09.");
    assert_eq!(text, "it is ***, not 6.5e+09.");
    for text in ["code@", "value-@", "1-@", "0..@", "@eV", "@-7e+09", "E@e"] {
        let told = secrets(&["6591234567"]).cut(&text.replace('@', "6.591234567e+09"));
        assert_eq!(told, text.replace('@', "***"));
    }
    for (secret, text, told) in [
        ("48210.50", "[48210.5, 482105, 4.8e4]", "[***, ***, 4.8e4]"),
        ("1234567890", "/n: 123456789.0 is odd", "/n: *** is odd"),
        ("99887766", "got -9988.7766.", "got -***."),
        ("99887766", "199.8877665", "***"),
        ("0042", "42 of 42.0", "42 of 42.0"),
    ] {
        assert_eq!(secrets(&[secret]).cut(text), told, "{secret}");
    }
    let long = cut(
        "5551234567",
        "[-5551234567, 5551234567.5, 555.1234567, 9955512345670, 555123456]",
    );
    assert_eq!(long, json!(["***", "***", "***", "***", 555_123_456]));
}

/// No two parts of it are alike.
fn long(length: usize) -> String {
    let words = (0u64..).map(|number| format!("{:x} ", number * number + 0x00a1_b2c3));
    words.take(length / 8).collect()
}

#[test]
fn a_long_value_is_found_like_a_short_one() {
    let secret = long(MANY * 2);
    let secrets = secrets(&[&secret]);
    let hex = hexadecimal(secret.as_bytes());
    let percent = secret.replace(' ', "%20");
    let json = secret.replace(' ', r"\u0020");
    let plus = secret.replace(' ', "+");
    for written in [&secret, &hex, &hex.to_uppercase(), &percent, &json, &plus] {
        assert_eq!(secrets.cut(&format!("({written})")), "(***)");
        let beginning = written.as_bytes().get(..8 * 1024).unwrap();
        assert_eq!(secrets.cut_within(beginning, 0..300), "***");
    }
    for lead in ["", "u", "us"] {
        let encoded = STANDARD_NO_PAD.encode(format!("{lead}{secret}!!"));
        let cut = secrets.cut(&encoded);
        assert!(cut.contains("***") && cut.len() < 12, "{cut}");
    }
    assert_eq!(secrets.cut("a plain text"), "a plain text");
    assert_eq!(secrets.cut(&long(MANY)[..512]), long(MANY)[..512]);
}

#[test]
fn of_many_values_each_is_found() {
    let values: Vec<String> = (0..10_000)
        .map(|number| format!("key-{number:05}-x"))
        .collect();
    let secrets = Secrets::new(values);
    let text = "key-00000-x, key-0000, -00000-x, (key-09999-x) 6b65792d30303030312d78";
    assert_eq!(secrets.cut(text), "***, key-0000, -00000-x, (***) ***");
    let lines: Vec<String> = (0..5_000)
        .map(|number| format!("line {number:05}"))
        .collect();
    let secrets = Secrets::new([lines.join("\n")]);
    assert_eq!(secrets.cut("at line 00017 of it"), "at *** of it");
}

#[test]
fn what_finds_long_values_is_small_and_reads_a_text_in_one_pass() {
    let value = "a".repeat(200_000);
    let Some(Forms::Many(pieces)) = Forms::of(std::slice::from_ref(&value)) else {
        panic!("it is found in another way")
    };
    let sums: usize = pieces.values().map(Vec::len).sum();
    assert!(sums < 100, "{sums}");
    // Quadratic work would take hours for this.
    assert_eq!(secrets(&[&value]).cut(&"a".repeat(300_000)), "***");
}

#[test]
fn a_text_made_of_a_secret_is_cut_in_one_pass() {
    // Quadratic work would take minutes for these.
    let secrets = secrets(&["aaaa", "aaaaaaaaaaaaaaaa"]);
    assert_eq!(secrets.cut(&"a".repeat(1_000_000)), "***");
    assert_eq!(secrets.cut(&r"\u0061".repeat(200_000)), "***");
}
