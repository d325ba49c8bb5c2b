//! Edits that are judged together come to what they come to one by one, and cost a few readings in all.

use std::{cell::Cell, iter};

use fastrand::Rng;

use super::*;
use crate::edit::Draft;

/// The text after these edits, each made alone; one that fails is left out. What each said, or why it failed.
fn one_by_one(file: &str, edits: &[Edit], before: &str) -> (String, Vec<Result<String, String>>) {
    let mut now = before.to_owned();
    let said = edits.iter().map(|change| {
        let edited =
            edit(change, &name(file), now.as_bytes()).map_err(|error| error.to_string())?;
        let said = edited.said.clone();
        now = text(edited);
        Ok(said)
    });
    let said = said.collect();
    (now, said)
}

/// The same with a draft; `None` where it does not come to what was meant.
pub(super) fn together(
    file: &str,
    edits: &[Edit],
    before: &str,
    budget: &Budget<'_>,
) -> Option<(String, Vec<Result<String, String>>)> {
    let file = name(file);
    let mut draft = Draft::begin(edits.first()?, &file, before.as_bytes(), budget)?;
    let mut all = Vec::new();
    for change in edits {
        let mut said = draft.edit(change, &file, budget);
        if said == Ok(None) {
            draft.settle(budget).unwrap()?;
            said = draft.edit(change, &file, budget);
        }
        if said == Ok(None) {
            let bytes = draft.settle(budget).unwrap()?;
            let edited = edit(change, &file, &bytes).map_err(|error| error.to_string());
            let bytes = edited.as_ref().map_or(&bytes, |edited| &edited.bytes);
            draft = Draft::begin(change, &file, bytes, budget)?;
            all.push(edited.map(|edited| edited.said));
            continue;
        }
        all.push(said.map(Option::unwrap).map_err(|error| error.to_string()));
    }
    let bytes = draft.settle(budget).unwrap()?;
    Some((String::from_utf8(bytes).unwrap(), all))
}

#[track_caller]
fn same(file: &str, edits: &[Edit], before: &str) {
    let apart = one_by_one(file, edits, before);
    assert_eq!(
        together(file, edits, before, &FREE),
        Some(apart),
        "{before}"
    );
}

#[test]
fn edits_of_one_json_text_come_to_the_same_together() {
    let before = "\u{FEFF}{\r\n  \"a\": {\"b\": [1, 2.50, 3]}, // c\r\n  \"d\": {}\r\n}\r\n";
    let edits = [
        update("$.a.b[-1]", "{\"x\": 1}"),
        update("$.a.b[2].x", "2"),
        remove("$.a.b", "0"),
        add("$.d", "e", "[]"),
        add("$.d", "f", "true"),
        add("$.d", "f", "false"),
        update("$.none", "1"),
        remove("$", "a"),
        add("$", "a", "\"again\""),
    ];
    same("a.jsonc", &edits, before);
}

#[test]
fn edits_of_one_yaml_text_come_to_the_same_together() {
    let before = "\u{FEFF}a: 1 # one\nlist:\n  - x\n  - &y {z: 1}\nuse: *y\ntext: |\n  l\nmap:\n  k: v\n---\nother: 1\n";
    let edits = [
        yaml_update("$.a", "2"),
        yaml_update("$.list[-1].z", "[1]"),
        yaml_update("$.list[1].z", "3"),
        yaml_update("$.map.new", "{\"deep\": 1}"),
        yaml_update("$.map.more", "\"two\\nlines\\n\""),
        yaml_update("$.map.new.deep", "2"),
        yaml_update("$.map.new.deep", "3"),
        yaml_update("$.text", "\"l\\nm\\n\""),
        yaml_update("$.none.none", "1"),
        yaml_update("$.other", "null"),
        yaml_update("$.map", "1"),
        yaml_update("$.use.z", "1"),
    ];
    same("a.yaml", &edits, before);
}

#[test]
fn random_json_edits_come_to_the_same_together() {
    let mut rng = Rng::with_seed(7);
    for _ in 0..3000 {
        let (before, edits) = json_random::several(&mut rng);
        same("a.jsonc", &edits, &before);
    }
}

#[test]
fn random_yaml_edits_come_to_the_same_together() {
    let mut rng = Rng::with_seed(7);
    let (mut made, mut apart, mut more) = (0, 0, 0);
    for _ in 0..1500 {
        let (before, edits) = yaml_random::several(&mut rng);
        match together("a.yaml", &edits, &before, &FREE) {
            Some((after, said)) => {
                let (apart, said_apart) = one_by_one("a.yaml", &edits, &before);
                assert_eq!(said, said_apart, "{before}");
                // A value that is written once more may be in block style, or no longer be.
                let documents = |text: &str| yaml_random::read(text);
                assert_eq!(
                    documents(&after),
                    documents(&apart),
                    "{before}\n---\n{after}\n---\n{apart}"
                );
                // If the edits are made one by one, a value can pass through a form that loses the comment of its line.
                let comments = |text: &str| text.matches('#').count();
                assert!(
                    comments(&after) >= comments(&apart),
                    "{before}\n---\n{after}\n---\n{apart}"
                );
                more += usize::from(comments(&after) > comments(&apart));
                made += 1;
            }
            None => apart += 1,
        }
    }
    assert!(
        apart * 4 < made && more * 100 < made,
        "{made} made, {apart} have to be made alone, {more} keep more comments"
    );
}

#[test]
fn many_edits_of_one_yaml_text_read_it_a_few_times() {
    let old = |at: usize| yaml_update(&format!("$.k{}", at * 150), "\"new\"");
    read_a_few_times(&(0..200).map(old).collect::<Vec<_>>(), ": new\n");
}

#[test]
fn many_new_keys_of_one_yaml_mapping_read_the_text_a_few_times() {
    let filled =
        |place: &'static str| move |at: usize| yaml_update(&format!("{place}.new{at}"), "\"new\"");
    read_a_few_times(&(0..200).map(filled("$")).collect::<Vec<_>>(), ": new\n");
    read_a_few_times(
        &(0..200).map(filled("$.empty")).collect::<Vec<_>>(),
        ": new",
    );
    read_a_few_times(&(0..200).map(filled("$.flow")).collect::<Vec<_>>(), ": new");
}

/// Each of these is in the value that one before it writes, so the text is read once more for it.
#[test]
fn edits_of_places_that_meet_come_to_the_same_together() {
    let made = iter::once(yaml_update("$.made", "{\"new\": {}}"));
    let filled = (0..20).map(|at| yaml_update(&format!("$.made.new.k{at}"), "\"new\""));
    let edits: Vec<_> = made.chain(filled).collect();
    same("a.yaml", &edits, "a: 1\n");
}

/// The result, and how often the budget was asked whether the work may go on.
pub(super) fn counted<T>(work: impl FnOnce(&Budget<'_>) -> T) -> (T, usize) {
    let asked = Cell::new(0);
    let stopped = || {
        asked.set(asked.get() + 1);
        None
    };
    let budget = Budget {
        most: u64::MAX,
        stopped: &stopped,
    };
    (work(&budget), asked.get())
}

/// Two hundred values come to be `new`.
#[track_caller]
fn read_a_few_times(edits: &[Edit], made: &str) {
    use std::fmt::Write;
    let mut before = "empty: {}\nflow: {\n  a: b # c\n  }\n".to_owned();
    for key in 0..40_000 {
        writeln!(before, "k{key}: v").unwrap();
    }
    let one = yaml_update("$.k1", "1");
    let (edited, of_one) =
        counted(|budget| crate::edit::edit(&one, &name("a.yaml"), before.as_bytes(), b"", budget));
    edited.unwrap();
    let (edited, of_all) = counted(|budget| together("a.yaml", edits, &before, budget));
    assert_eq!(edited.unwrap().0.matches(made).count(), 200);
    // Each edit asks once for itself.
    let of_all = of_all - edits.len();
    assert!(of_all < of_one * 2, "{of_all} instead of {of_one}");
}

#[test]
fn a_draft_lets_nothing_out_that_is_too_large_and_heeds_a_signal() {
    let budget = Budget {
        most: 20,
        stopped: &|| None,
    };
    for (file, before, change) in [
        (
            "a.json",
            "{\"a\": 1}",
            update("$.a", "\"0123456789012345\""),
        ),
        (
            "a.yaml",
            "a: 1\n",
            yaml_update("$.a", "\"01234567890123456789\""),
        ),
    ] {
        let file = name(file);
        let mut draft = Draft::begin(&change, &file, before.as_bytes(), &budget).unwrap();
        let failed = draft.edit(&change, &file, &budget).unwrap_err();
        assert_eq!(Failure::from(failed).fault, Fault::LimitExceeded);
        draft.edit(&change, &file, &FREE).unwrap().unwrap();
        let stopped = Budget {
            most: u64::MAX,
            stopped: &|| Some(Failure::new(Fault::Cancelled, "cancelled by SIGTERM")),
        };
        for failed in [
            draft.edit(&change, &file, &stopped).unwrap_err(),
            draft.settle(&stopped).unwrap_err(),
        ] {
            assert_eq!(Failure::from(failed).fault, Fault::Cancelled);
        }
    }
}

#[test]
fn edits_together_make_no_json_text_that_is_ever_deeper() {
    let deep = ["[".repeat(100), "]".repeat(100)].join("1");
    let place = |steps| ["$", &"[0]".repeat(steps)].concat();
    let file = name("a.json");
    let mut draft = Draft::begin(&update("$", "1"), &file, b"[1]", &FREE).unwrap();
    for at in [place(0), place(100)] {
        assert!(matches!(
            draft.edit(&update(&at, &deep), &file, &FREE),
            Ok(Some(_))
        ));
    }
    let third = update(&place(200), &deep);
    assert_eq!(draft.edit(&third, &file, &FREE), Ok(None));
    assert_eq!(draft.settle(&FREE), Ok(None));
}
