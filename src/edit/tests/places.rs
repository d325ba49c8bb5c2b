//! Facts about texts that are found at several places that overlap, or nowhere.

use super::*;

const T: &str = "notes.txt";

#[test]
fn overlapping_places_are_ambiguous_with_any_count() {
    let three = "a = 1\n".repeat(3);
    let two = "a = 1\na = 1\n";
    for count in [Count::Exactly(1), Count::Exactly(2), Count::All] {
        for change in [literal(two, "x\n", count), regex(two, "x\n", count)] {
            let (class, words) = fault(T, &change, &three);
            assert_eq!(class, Fault::PatternAmbiguous);
            assert!(
                words.contains("overlap (they start in the lines 1 and 2)"),
                "{words}"
            );
        }
    }
    let in_crlf = three.replace('\n', "\r\n");
    let (class, words) = fault(T, &once(two, "x\n"), &in_crlf);
    assert_eq!(class, Fault::PatternAmbiguous, "{words}");
    let four = "a = 1\n".repeat(2) + "b\n" + two;
    assert_eq!(
        done(T, &literal(two, "x\n", Count::Exactly(2)), &four),
        "x\nb\nx\n"
    );
    let (class, _) = fault(T, &once("éaé", "x"), "éaéaé");
    assert_eq!(class, Fault::PatternAmbiguous);
}

#[test]
fn a_shorter_match_within_a_match_of_an_expression_is_not_ambiguous() {
    for (pattern, before, after) in [
        ("a+", "baaab", "bXb"),
        (r"\w+", "words more", "X X"),
        ("(?m)b.*$", "abbb\ncbb\n", "aX\ncX\n"),
        ("a.*c", "aabcc", "X"),
        (r"\n\n+", "a\n\n\n\nb", "aXb"),
    ] {
        assert_eq!(
            done(T, &regex(pattern, "X", Count::All), before),
            after,
            "{pattern}"
        );
    }
}

#[test]
fn a_match_of_an_expression_that_goes_beyond_another_is_ambiguous() {
    let long = "x".repeat(500);
    let lines = format!("{long}\n{long}\n{long}\n");
    for (pattern, text) in [("a.a", "abaca"), (r"\d \d", "1 2 3"), (".+\n.+\n", &lines)] {
        let (class, words) = fault(T, &regex(pattern, "X", Count::All), text);
        assert_eq!(class, Fault::PatternAmbiguous, "{words}");
    }
}

#[test]
fn a_literal_is_replaced_only_if_no_two_of_its_places_overlap() {
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..20_000 {
        let mut some = |most: usize| -> String {
            let length = rng.usize(1..=most);
            (0..length)
                .map(|_| ['a', 'b', '\n'][rng.usize(0..3)])
                .collect()
        };
        let (body, pattern) = (some(24), some(5));
        let places = (0..body.len()).filter(|at| body[*at..].starts_with(&pattern));
        let places: Vec<usize> = places.collect();
        let overlaps = places
            .windows(2)
            .any(|pair| pair[1] - pair[0] < pattern.len());
        let change = literal(&pattern, "X", Count::All);
        let expected = match (places.is_empty(), overlaps) {
            (true, _) => Err(Fault::PatternNotFound),
            (_, true) => Err(Fault::PatternAmbiguous),
            _ => Ok(body.replace(&pattern, "X")),
        };
        let made = |body: &str| {
            let made = edit(&change, &name(T), body.as_bytes());
            made.map(text).map_err(|error| Failure::from(error).fault)
        };
        assert_eq!(made(&body), expected, "{pattern:?} in {body:?}");
        let in_crlf = made(&body.replace('\n', "\r\n"));
        assert_eq!(
            in_crlf.err(),
            expected.err(),
            "{pattern:?} in {body:?} with CR LF"
        );
    }
}

#[test]
fn a_text_that_is_not_found_is_shown_its_nearest_place() {
    let words = |change: &Edit, before: &str| {
        let (class, words) = fault(T, change, before);
        assert_eq!(class, Fault::PatternNotFound);
        words
    };
    let found = words(
        &once("fn a() {\n    b();\n", "x"),
        "mod c;\nfn a() {\n\tb();\n}\n",
    );
    assert_eq!(
        found,
        "the text to replace is nowhere in the file; the nearest place is lines 2 to 3, with 1 of 2 \
         lines; line 3 differs only in white space: the text to replace has `    b();\\n`, the file has `\\tb();\\n`"
    );
    let found = words(&once("colour = Red", "x"), "size = 1\ncolour = red\n");
    assert!(
        found.contains("line 2 differs only in upper and lower case"),
        "{found}"
    );
    let found = words(&once("absent", "x"), "size = 1\n");
    assert!(
        found.ends_with("compare it with the file as it is now"),
        "{found}"
    );
}

#[test]
fn a_replacement_that_is_there_already_is_told() {
    let words = |pattern: &str, replacement: &str, before: &str| {
        fault(T, &once(pattern, replacement), before).1
    };
    for before in ["a\nport = 8080\nb\n", "a\r\nport = 8080\r\nb\r\n"] {
        let found = words("port = 9\n", "port = 8080\n", before);
        assert!(found.contains("is there already, in line 2"), "{found}");
    }
    // A line was deleted between two others.
    let found = words("one\ntwo\nthree\n", "one\nthree\n", "zero\none\nthree\n");
    assert!(found.contains("is there already, in line 2"), "{found}");
    // The replacement is a part of the pattern, or somewhere else.
    let found = words(
        "if a {\n  call();\n}\n",
        "call();\n",
        "if a {\n    call();\n}\n",
    );
    assert!(found.contains("differs only in white space"), "{found}");
    let found = words("size = 1\nred", "size = 2\n", "size = 1\nblue\nsize = 2\n");
    assert!(
        found.contains("the nearest place is lines 1 to 2"),
        "{found}"
    );
}

#[test]
fn an_expression_that_matches_nowhere_because_of_the_line_ends_says_so() {
    let words = |pattern: &str, before: &str| fault(T, &regex(pattern, "x", Count::All), before).1;
    for pattern in ["(?m)b$", "a\nb", "b\n"] {
        let found = words(pattern, "a\r\nb\r\n");
        assert!(found.contains(r"end with CR LF; write `\r?\n`"), "{found}");
        assert!(!found.contains("(?m)"), "{found}");
    }
    let found = words("a$", "a\r\nb\r\n");
    assert!(
        found.contains("`(?m)`") && found.contains("CR LF"),
        "{found}"
    );
    let found = words("^b", "a\nb\n");
    assert!(
        found.contains("`(?m)`") && !found.contains("CR LF"),
        "{found}"
    );
    let found = words("c$", "a\r\nb\r\n");
    assert!(
        found.ends_with("compare it with the file as it is now"),
        "{found}"
    );
}
