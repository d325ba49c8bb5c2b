//! JSON, JSON Lines and text.

use super::{Bench, Format};

#[test]
fn json_is_one_document_of_utf8() {
    let bench = Bench::new();
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    for good in [
        "{}",
        " [1, \"\\\"[[[\"]\n",
        "0",
        "\"ü\"",
        "1e999",
        &deep(100_000),
    ] {
        assert!(bench.check(good.as_bytes(), Format::Json).is_ok(), "{good}");
    }
    for (bad, says) in [
        ("", "empty"),
        (" ", "EOF"),
        ("{\"a\": [1, 2", "EOF"),
        ("{} {}", "trailing"),
        ("{} x", "trailing"),
        ("{'a': 1}", "key must be a string"),
        ("NaN", "expected"),
        ("\u{FEFF}{}", "expected"),
    ] {
        let problem = bench.problem(bad.as_bytes(), Format::Json);
        assert!(problem.contains(says), "{problem}");
    }
    assert!(
        bench
            .problem(b"\"\xFF\"", Format::Json)
            .contains("not UTF-8 near byte 1")
    );
    assert!(
        bench
            .problem(b"\"\xC3", Format::Json)
            .contains("within a character")
    );
}

#[test]
fn json_lines_are_one_document_each() {
    let bench = Bench::new();
    for good in ["{}\n[1]\n", "1\r\n\r\n 2", "\n\n{}", "3"] {
        assert!(
            bench.check(good.as_bytes(), Format::JsonLines).is_ok(),
            "{good:?}"
        );
    }
    let long = format!("[\"{}\"]\n{{}}\n", "x".repeat(200_000));
    assert!(bench.check(long.as_bytes(), Format::JsonLines).is_ok());
    assert!(
        bench
            .problem(b"{}\n{} {}\n", Format::JsonLines)
            .contains("line 2: trailing")
    );
    assert!(
        bench
            .problem(b"{}\n\n{\"a\":\n1}\n", Format::JsonLines)
            .contains("line 3: EOF")
    );
    assert!(
        bench
            .problem(b"\n \n", Format::JsonLines)
            .contains("no documents")
    );
}

#[test]
fn text_is_utf8_without_nul_whatever_its_length() {
    let bench = Bench::new();
    for pad in 0..4 {
        let long = format!("{}{}", "x".repeat(pad), "ü日🎵".repeat(20_000));
        assert!(bench.check(long.as_bytes(), Format::Text).is_ok());
        let cut = &long.as_bytes()[..long.len() - 1];
        assert!(
            bench
                .problem(cut, Format::Text)
                .contains("ends within a character")
        );
        let bad = [long.as_bytes(), b"\xFF", long.as_bytes()].concat();
        assert!(
            bench
                .problem(&bad, Format::Text)
                .contains(&format!("near byte {}", long.len()))
        );
    }
    assert!(bench.problem(b"", Format::Text).contains("empty"));
    assert!(bench.problem(b"a\0b", Format::Text).contains("NUL"));
}
