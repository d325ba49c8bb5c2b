//! Facts about the nearest place of a text that was not found.

use super::*;

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The nearest place of whole lines.
fn whole<'a>(old: &[&'a str], file: &[&'a str], stated: Option<usize>) -> Option<Nearest<'a>> {
    nearest(old, file, stated, Edges::Whole)
}

fn near<'a>(old: &'a str, file: &'a str) -> Nearest<'a> {
    whole(&lines(old), &lines(file), None).unwrap()
}

fn told(old: &str, file: &str) -> String {
    let nearest = nearest(&lines(old), &lines(file), None, Edges::Partial);
    let hiding = Hiding::of(file, old);
    nearest.unwrap().told("`pattern`", hiding)
}

#[test]
fn the_place_with_the_most_equal_lines_is_nearest() {
    let file = "a\nb\nx\n\na\nb\nc\nd\n";
    let found = near("a\nb\nC\nd\n", file);
    assert_eq!((found.first, found.last), (5, 8));
    assert_eq!((found.equal, found.lines), (3, 4));
    assert_eq!((found.line, found.old), (7, "C\n"));
    assert_eq!(found.file, Some("c\n"));
    assert_eq!(found.difference, "differs only in upper and lower case");
}

#[test]
fn of_equal_places_the_one_near_the_stated_line_is_taken() {
    let file = lines("a\nx\na\ny\na\nz\n");
    let old = ["a\n", "b\n"];
    let first = |stated| whole(&old, &file, stated).unwrap().first;
    assert_eq!(first(None), 1);
    assert_eq!(first(Some(4)), 3);
    assert_eq!(first(Some(9)), 5);
}

#[test]
fn the_kind_of_the_first_difference_is_told() {
    for (old, file, kind) in [
        ("a b\n", "a  b\n", "differs only in white space"),
        ("  ab\n", "\tab\n", "differs only in white space"),
        ("ab\n", "aB\n", "differs only in upper and lower case"),
        ("ab\n", "ab\r\n", "differs only in its line end"),
        ("ab\n", "ab", "differs only in its line end"),
        ("a b\n", "a  B\n", "differs"),
        ("port = 80\n", "port = 81\n", "differs"),
    ] {
        assert_eq!(near(old, file).difference, kind, "{old:?} {file:?}");
    }
}

#[test]
fn a_text_can_go_beyond_the_file_at_both_ends() {
    let found = near("x\nb\n", "b\nc\n");
    assert_eq!((found.first, found.last, found.line), (1, 1, 1));
    assert_eq!((found.old, found.file), ("x\n", None));
    let found = near("b\nc\n", "a\nb\n");
    assert_eq!((found.first, found.last, found.line), (2, 2, 3));
    assert_eq!((found.old, found.file), ("c\n", None));
}

#[test]
fn nothing_is_near_a_text_that_is_there_or_is_like_nothing() {
    assert_eq!(whole(&["b\n"], &["a\n", "b\n"], None), None);
    assert_eq!(whole(&["absent\n"], &["present\n"], None), None);
    assert_eq!(whole(&[], &["a\n"], None), None);
    assert_eq!(whole(&["a\n"], &[], None), None);
    assert_eq!(whole(&["\n"], &["a\n", "b\n"], None), None);
    let long = "a".repeat(LONGEST);
    assert_eq!(whole(&["b\n", "c\n"], &[&long, "b\n"], None), None);
}

#[test]
fn a_text_within_lines_is_compared_with_the_parts_that_it_stands_for() {
    assert_eq!(
        told("colour  = red", "x\n  let colour = red;\n"),
        "the nearest place is line 2; line 2 differs only in white space: `pattern` has `colour  = red`, \
         the file has `  let colour = red;\\n`"
    );
    assert_eq!(
        told("= 1;\nlet b = 2;\nlet", "let a = 1;\nlet b = 3;\nlet c;\n"),
        "the nearest place is lines 1 to 3, with 2 of 3 lines; line 2 differs: `pattern` has \
         `let b = 2;\\n`, the file has `let b = 3;\\n`"
    );
}

#[test]
fn long_lines_are_shortened_around_the_difference() {
    let long = |c: char| format!("{}{c}{}", "ab".repeat(300), "cd".repeat(300));
    let words = told(&long('X'), &long('Y'));
    assert!(words.len() < 350, "{words}");
    assert!(words.contains("babababababXcdcd"), "{words}");
    assert!(words.contains("babababababYcdcd"), "{words}");
}

#[test]
fn no_credential_of_the_file_is_told() {
    let words = told("db_password = guess\n", "db_password = hunter2\n");
    assert!(!words.contains("hunter2"), "{words}");
    assert!(words.ends_with("in a value that is not shown"), "{words}");
    let words = told("DB_password = hunter2\n", "db_password = hunter2\n");
    assert!(words.contains("differs only in upper"), "{words}");
    assert!(!words.contains("hunter2"), "{words}");
}
