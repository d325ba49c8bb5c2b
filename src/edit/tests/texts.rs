//! Facts about edits of text.

use super::*;
use crate::edit::{check_syntax, pattern::PatternError};

const T: &str = "notes.txt";

#[test]
fn a_literal_must_be_there_exactly_once() {
    assert_eq!(done(T, &once("b", "X"), "a b c"), "a X c");
    let (fault_, _) = fault(T, &once("z", "X"), "a b c");
    assert_eq!(fault_, Fault::PatternNotFound);
    let (fault_, words) = fault(T, &once("b", "X"), "a b\nc\nb");
    assert_eq!(fault_, Fault::PatternAmbiguous);
    assert!(words.contains("2 times (lines 1, 3)"), "{words}");
}

#[test]
fn a_count_must_be_met_exactly_and_all_means_at_least_one() {
    assert_eq!(done(T, &literal("b", "X", Count::Exactly(2)), "b b"), "X X");
    let (fault_, _) = fault(T, &literal("b", "X", Count::Exactly(3)), "b b");
    assert_eq!(fault_, Fault::PatternAmbiguous);
    assert_eq!(done(T, &literal("b", "X", Count::All), "b b b"), "X X X");
    let (fault_, _) = fault(T, &literal("z", "X", Count::All), "b");
    assert_eq!(fault_, Fault::PatternNotFound);
    let (fault_, _) = fault(T, &literal("b", "X", Count::Exactly(0)), "b");
    assert_eq!(fault_, Fault::PlanInvalid);
}

#[test]
fn a_literal_and_its_replacement_mean_themselves() {
    assert_eq!(done(T, &once("a.c", "$1"), "abc a.c"), "abc $1");
}

#[test]
fn a_literal_with_line_ends_is_found_across_their_kinds_and_the_answer_says_so() {
    let change = once("b\nc", "X\nY");
    assert_eq!(done(T, &change, "a\r\nb\r\nc\r\n"), "a\r\nX\r\nY\r\n");
    assert!(said(T, &change, "b\r\nc").contains("without regard to line ends"));
    assert_eq!(said(T, &change, "b\nc"), "1 occurrence replaced");
    assert_eq!(done(T, &once("b\r\nc", "X\r\nY"), "b\nc\n"), "X\nY\n");
    // A mixed file: only what matches as written is meant.
    assert_eq!(done(T, &change, "b\nc\r\nb\r\nc"), "X\nY\r\nb\r\nc");
}

#[test]
fn a_replacement_of_several_lines_has_the_line_ends_of_its_place() {
    for (before, change, after) in [
        ("a\r\nb\r\n", once("a", "x\ny"), "x\r\ny\r\nb\r\n"),
        ("a\r\nb", once("b", "x\ny\n"), "a\r\nx\r\ny\r\n"),
        (
            "a\nb\r\nc",
            literal("b", "x\ny", Count::All),
            "a\nx\r\ny\r\nc",
        ),
        (
            "a b\r\n",
            regex("(a) (b)", "$1\n$2", Count::All),
            "a\r\nb\r\n",
        ),
        (
            "a\nb\r\n",
            regex("[ab]", "$0\n", Count::All),
            "a\n\nb\r\n\r\n",
        ),
        ("a, b\r\n", regex(r",\s*", "\n", Count::All), "a\r\nb\r\n"),
        (
            "a\r\nb\r\n",
            regex("(?s)a.*b", "x\ny\nz", Count::All),
            "x\r\ny\r\nz\r\n",
        ),
        ("a\n", once("a", "x\r\ny"), "x\ny\n"),
        ("a", once("a", "x\r\ny"), "x\ny"),
        // Half of a line end is none.
        ("a\r\nb\r\n", once("\nb", "\nc\nd"), "a\r\nc\r\nd\r\n"),
        ("a\r\nb", once("\n", " "), "a b"),
        ("a\r\nb", once("\r", "X"), "aX\r\nb"),
        ("a\r\nb", regex(r"\r", "X", Count::All), "aX\r\nb"),
        ("a\r\n  b", regex(r"\n\s*b", "\nc", Count::All), "a\r\nc"),
        (
            "a\r\nb\r\n",
            regex(r"(?m)^b\r?$", "x\ny", Count::All),
            "a\r\nx\r\ny\r\n",
        ),
        (
            "a\r\nb\r\n",
            regex("(?m)^(.+)$", "> $1;", Count::All),
            "> a;\r\n> b;\r\n",
        ),
        (
            "a \r\nb\r\n",
            regex(r"(?m)\s+$", "", Count::Exactly(2)),
            "a\r\nb",
        ),
        ("a\t\r\n", regex(r"(?m)[\t\r ]+$", "", Count::All), "a\r\n"),
        ("a\r\nb", regex("(\nb)", "$1$1", Count::All), "a\r\nb\r\nb"),
        (
            "a\r\n\r\nb",
            regex(r"(\r?\n){2}", "\n", Count::All),
            "a\r\nb",
        ),
        (
            "a\r\nb",
            regex(r"(a)\r?\n(b)", "$1\n\n$2", Count::All),
            "a\r\n\r\nb",
        ),
        // Who replaces line ends means them.
        ("a\r\nb\r\n", literal("\r", "", Count::All), "a\nb\n"),
        ("a\r\nb\r\n", regex(r"(?m)\r$", "", Count::All), "a\nb\n"),
        (
            "a\rb\r\nc\n",
            regex(r"\r\n?|\n", "\n", Count::All),
            "a\nb\nc\n",
        ),
        ("a\r\nb\r\n", literal("\r\n", "\n", Count::All), "a\nb\n"),
        ("a\nb\n", literal("\n", "\r\n", Count::All), "a\r\nb\r\n"),
        ("a\r\nb\n", regex(r"\r?\n", "\n", Count::All), "a\nb\n"),
        (
            "a\nb\r\n",
            regex(r"([^\r])\n", "$1\r\n", Count::All),
            "a\r\nb\r\n",
        ),
    ] {
        assert_eq!(done(T, &change, before), after, "{before:?} {change:?}");
    }
}

#[test]
fn groups_in_the_spelling_of_other_languages_are_refused_with_a_hint() {
    for (replacement, hint) in [
        (r"\1", "${1}"),
        (r"x\2y", "${2}"),
        (r"\g<k>", "${k}"),
        (r"\k<k>", "${k}"),
        (r"\0", "${0}"),
        ("$&", "$0"),
    ] {
        let change = regex("(?P<k>a)(b)", replacement, Count::All);
        let (fault_, words) = fault(T, &change, "ab");
        assert_eq!(fault_, Fault::PlanInvalid, "{words}");
        assert!(words.contains(hint), "{words}");
    }
    for (replacement, after) in [
        (r"\n\d", r"\n\d"),
        (r"\\1", r"\\1"),
        ("$$&", "$&"),
        (r"C:\", r"C:\"),
    ] {
        assert_eq!(done(T, &regex("a", replacement, Count::All), "a"), after);
    }
    assert_eq!(done(T, &once("a", r"\1"), "a"), r"\1");
}

#[test]
fn an_expression_fills_its_groups_in() {
    let change = regex("(?P<k>[a-z]+)=([0-9]+)", "$2=${k}$$", Count::All);
    assert_eq!(done(T, &change, "a=1 b=22"), "1=a$ 22=b$");
    assert_eq!(
        done(T, &regex("(?m)^(.)", "> $1", Count::All), "a\nb"),
        "> a\n> b"
    );
}

#[test]
fn a_group_that_is_not_there_is_an_error() {
    for replacement in ["$1x", "$2", "${name}"] {
        let (fault_, words) = fault(T, &regex("(a)", replacement, Count::All), "a");
        assert_eq!(fault_, Fault::PlanInvalid, "{words}");
    }
}

#[test]
fn a_match_of_no_length_is_refused() {
    let (fault_, words) = fault(T, &regex("x*", "y", Count::All), "abc");
    assert_eq!(fault_, Fault::PlanInvalid);
    assert!(words.contains("empty text"), "{words}");
}

#[test]
fn patterns_that_cannot_be_looked_for_are_refused() {
    assert_eq!(Pattern::literal("").unwrap_err(), PatternError::Empty);
    assert_eq!(Pattern::regex("").unwrap_err(), PatternError::Empty);
    assert!(matches!(
        Pattern::regex("(").unwrap_err(),
        PatternError::Syntax(_)
    ));
    let large = Pattern::regex(r"(\w{1000}){1000}").unwrap_err();
    assert!(matches!(large, PatternError::TooLarge { .. }));
}

#[test]
fn an_expression_cannot_leave_half_a_character() {
    let (fault_, _) = fault(T, &regex(r"(?-u)\xC3", "", Count::All), "é");
    assert_eq!(fault_, Fault::EditRefused);
}

#[test]
fn what_is_no_utf8_is_no_text() {
    let failed = edit(&once("a", "b"), &name(T), b"a\xFF").unwrap_err();
    assert_eq!(failed, EditError::NotText { offset: 1 });
}

#[test]
fn utf16_without_a_mark_is_no_text() {
    for bytes in [&b"a\0\n\0"[..], b"\0a\0\n", b"a\0\0\0", b"text\0"] {
        let failed = edit(&once("a", "b"), &name(T), bytes).unwrap_err();
        assert!(matches!(failed, EditError::Nul { .. }), "{failed}");
        assert_eq!(Failure::from(failed).fault, Fault::NotText);
    }
}

#[test]
fn the_byte_order_mark_is_kept_and_not_matched() {
    assert_eq!(
        done(T, &regex(r"(?m)\A(a)", "X", Count::All), "\u{FEFF}ab"),
        "\u{FEFF}Xb"
    );
    assert_eq!(done(T, &insert(1, "x"), "\u{FEFF}a\n"), "\u{FEFF}x\na\n");
}

#[test]
fn an_inserted_text_becomes_the_line_it_names() {
    assert_eq!(done(T, &insert(1, "x"), "a\nb\n"), "x\na\nb\n");
    assert_eq!(done(T, &insert(2, "x\n"), "a\nb\n"), "a\nx\nb\n");
    assert_eq!(done(T, &insert(3, "x"), "a\nb\n"), "a\nb\nx\n");
    assert_eq!(done(T, &insert(2, "x\ny"), "a\nb\n"), "a\nx\ny\nb\n");
    assert_eq!(done(T, &insert(2, ""), "a\nb\n"), "a\n\nb\n");
}

#[test]
fn an_inserted_line_ends_as_its_neighbour() {
    assert_eq!(
        done(T, &insert(2, "x\ny"), "a\nb\r\n"),
        "a\nx\r\ny\r\nb\r\n"
    );
    assert_eq!(done(T, &insert(3, "x"), "a\nb\r\n"), "a\nb\r\nx\r\n");
    assert_eq!(done(T, &insert(2, "x"), "a\r\nb"), "a\r\nx\r\nb");
}

#[test]
fn a_file_without_a_final_line_end_stays_without() {
    assert_eq!(done(T, &insert(2, "x\n"), "a"), "a\nx");
    assert_eq!(done(T, &insert(3, "x"), "a\r\nb"), "a\r\nb\r\nx");
    assert_eq!(done(T, &delete(2, 2), "a\r\nb"), "a");
    assert_eq!(done(T, &delete(1, 1), "a\nb"), "b");
    assert_eq!(done(T, &delete(2, 2), "a\nb\n"), "a\n");
}

#[test]
fn an_empty_file_becomes_the_content() {
    assert_eq!(done(T, &insert(1, "x\ny\n"), ""), "x\ny\n");
    assert_eq!(done(T, &insert(1, "x"), ""), "x");
    assert_eq!(fault(T, &insert(2, "x"), "").0, Fault::LineOutOfRange);
    assert_eq!(fault(T, &delete(1, 1), "").0, Fault::LineOutOfRange);
}

#[test]
fn lines_that_are_not_there_are_refused() {
    let (fault_, words) = fault(T, &insert(4, "x"), "a\nb\n");
    assert_eq!(fault_, Fault::LineOutOfRange);
    assert!(
        words.contains("no line 4: the file ends with line 2, so 3"),
        "{words}"
    );
    assert_eq!(fault(T, &delete(2, 3), "a\nb\n").0, Fault::LineOutOfRange);
    assert_eq!(
        fault(T, &delete(2, u64::MAX), "a\nb\n").0,
        Fault::LineOutOfRange
    );
    assert_eq!(fault(T, &insert(0, "x"), "a").0, Fault::PlanInvalid);
    assert_eq!(fault(T, &delete(2, 1), "a\nb").0, Fault::PlanInvalid);
}

#[test]
fn a_range_of_lines_is_deleted_with_both_its_ends() {
    assert_eq!(done(T, &delete(2, 3), "a\nb\r\nc\nd\r\n"), "a\nd\r\n");
    assert_eq!(done(T, &delete(1, 2), "a\nb"), "");
}

#[test]
fn an_edit_of_text_may_mend_a_document_but_not_break_it() {
    let broken = "{\"a\": 1,, \"b\": 2}";
    assert_eq!(
        done("a.json", &once(",,", ","), broken),
        "{\"a\": 1, \"b\": 2}"
    );
    let (fault_, words) = fault("a.json", &once(",", ",,"), "{\"a\": 1, \"b\": 2}");
    assert_eq!(fault_, Fault::ContentInvalid);
    assert!(
        words.starts_with("the result would be not valid JSON"),
        "{words}"
    );
    assert!(words.contains("line 1, column 9"), "{words}");
    assert_eq!(
        fault("a.yaml", &once("a", "\ta"), "x:\n  a: 1\n").0,
        Fault::ContentInvalid
    );
}

#[test]
fn an_edit_of_text_brings_no_comments_and_no_trailing_commas_to_where_none_were_r_001_162() {
    let (fault_, words) = fault("a.json", &once("1", "1,"), "{\n \"a\": 1\n}");
    assert_eq!(fault_, Fault::ContentInvalid);
    assert!(words.contains("tsconfig.json"), "{words}");
    assert!(words.contains("line 3, column 1"), "{words}");
    assert_eq!(
        fault("a.json", &insert(1, "// c"), "{}\n").0,
        Fault::ContentInvalid
    );
    // Where they are, they may be, and nothing else may break.
    let loose = "{\"a\": 1,} // c";
    assert_eq!(done("a.json", &once("1", "2"), loose), "{\"a\": 2,} // c");
    assert_eq!(
        fault("a.json", &once("1", ""), loose).0,
        Fault::ContentInvalid
    );
    assert_eq!(done("tsconfig.json", &once("1", "1,"), "[1]"), "[1,]");
}

#[test]
fn a_whole_file_must_be_what_its_name_says() {
    // R-001-162
    let check = |file: &str, text: &str| check_syntax(&name(file), text.as_bytes(), &|| None);
    for (file, text) in [
        ("a.json", "{}"),
        ("a.jsonc", "{\"a\": 1,}"),
        ("web/tsconfig.build.json", "// c\n{}"),
        ("TSConfig.json", "[1,]"),
        (".vscode/settings.json", "{\"a\": 1,} // c"),
        (".devcontainer/x/devcontainer.json", "{/* c */}"),
        (".eslintrc.json", "{\"a\": 1,}"),
        ("a.JSON", "\u{FEFF}[1]\n"),
        ("tsconfig.json", "{ // c\n \"a\": [1,], }"),
        ("a.jsonc", "/* c */ 1"),
        ("a.yaml", ""),
        ("a.yml", "a: 1\n---\nb: 2\n"),
        ("a.txt", "{"),
        ("Makefile", "a:\n\tb"),
    ] {
        assert_eq!(check(file, text), Ok(()), "{file}: {text}");
    }
    for (file, text) in [
        ("a.json", ""),
        ("a.json", "{"),
        ("a.json", "{'a': 1}"),
        ("a.json", "{\"a\": 1 \"b\": 2}"),
        ("a.json", "{\"a\": 01}"),
        ("a.json", "{\"a\": 1, \"\\u0061\": 2}"),
        ("a.json", "[,]"),
        ("a.json", "{\"a\": 1,}"),
        ("a.json", "[1, ]"),
        ("a.json", "{} // c"),
        ("a.json", "/* c */ {}"),
        ("a.JSON", "[1,]"),
        ("package.json", "{\"a\": 1,}"),
        ("tsconfigs.json", "[1,]"),
        ("x/.vscode/y/a.json", "[1,]"),
        ("a.jsonc", "1 /* c"),
        ("a.yaml", "a: b: c"),
        ("a.yaml", "a:\n\tb: 1"),
        ("a.yaml", "a: 1\n'a': 2"),
        ("a.yaml", "%"),
        ("a.yml", "a: [1"),
        ("a.yml", "a: *b"),
    ] {
        let failed = check(file, text).map_err(|error| Failure::from(error).fault);
        assert_eq!(failed, Err(Fault::ContentInvalid), "{file}: {text}");
    }
    let failed = check_syntax(&name("a.json"), b"\"\xFF\"", &|| None).unwrap_err();
    assert_eq!(failed, EditError::NotText { offset: 1 });
}
