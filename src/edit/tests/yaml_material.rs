//! Every place of files as people write them, set to values of every kind.

use super::*;
use crate::edit::path::PathStep;

const FILES: [(&str, &str); 5] = [
    ("workflow", include_str!("material/workflow.yaml")),
    ("compose", include_str!("material/compose.yaml")),
    ("cluster", include_str!("material/cluster.yaml")),
    ("values", include_str!("material/values.yaml")),
    ("playbook", include_str!("material/playbook.yaml")),
];

const VALUES: [&str; 7] = [
    "7",
    "null",
    "\"a text\"",
    "\"one\\n  two\\n\"",
    "\"one\\ntwo\"",
    "[1, {\"a\": \"x\\ny\\n\", \"b\": {}}]",
    "{\"k\": {\"l\": [\"yes\"]}, \"m\": 1}",
];

fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Every place below this one, as a path.
fn places(value: &Value, path: &JsonPath, found: &mut Vec<JsonPath>) {
    let inner: Vec<(JsonPath, &Value)> = match value {
        Value::Array(items) => (0..)
            .map(|index: usize| super::path(&format!("{path}[{index}]")))
            .zip(items)
            .collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (path.child(key), value))
            .collect(),
        _ => Vec::new(),
    };
    for (path, value) in inner {
        found.push(path.clone());
        places(value, &path, found);
    }
}

fn slot<'v>(value: &'v mut Value, path: &JsonPath) -> &'v mut Value {
    path.steps().iter().fold(value, |value, step| match step {
        PathStep::Name(name) => value
            .as_object_mut()
            .unwrap()
            .entry(name.clone())
            .or_insert(Value::Null),
        PathStep::Index(index) => &mut value[usize::try_from(*index).unwrap()],
    })
}

/// The lines that begin with a comment, and the ones that end with one.
fn comments(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.split_once('#'));
    lines.map(|(_, comment)| comment.trim()).collect()
}

/// Sets every place of a file to every value. Answers how many edits were made, and how many refused.
fn set_everything(name: &str, before: &str, values: &[&str]) -> (usize, usize) {
    let read = documents(before);
    let (mut made, mut refused) = (0, 0);
    for (number, root) in read.iter().enumerate() {
        let mut paths = Vec::new();
        places(root, &path("$"), &mut paths);
        let is_mapping = |path: &&JsonPath| slot(&mut root.clone(), path).is_object();
        let mappings = paths.iter().filter(is_mapping);
        let new: Vec<_> = mappings.map(|path| path.child("new key")).collect();
        paths.extend(new);
        for (path, new) in paths
            .iter()
            .flat_map(|path| values.iter().map(move |new| (path, *new)))
        {
            let change = yaml_update_at(path.clone(), Some(number as u64 + 1), value(new));
            let edited = match edit(&change, &super::name("a.yaml"), before.as_bytes()) {
                Ok(edited) => edited,
                Err(EditError::Refused(why)) => {
                    let known = ["anchors", "alias", "tag"];
                    assert!(
                        known.iter().any(|word| why.contains(word)),
                        "{name} {path} = {new}: {why}"
                    );
                    refused += 1;
                    continue;
                }
                // A key that is merged from elsewhere.
                Err(EditError::PlaceNotFound { .. }) if before.contains("<<") => continue,
                Err(error) => panic!("{name} {path} = {new}: {error}"),
            };
            made += 1;
            let followed = edited.said.contains("aliases");
            let after = text(edited);
            if !followed {
                let mut expected = read.clone();
                *slot(&mut expected[number], path) = value(new);
                assert_eq!(
                    documents(&after),
                    expected,
                    "{name} {path} = {new}\n{after}"
                );
            }
            let ends = |text: &str| {
                (
                    text.ends_with('\n'),
                    text.contains("\r\n"),
                    text.replace("\r\n", "").contains('\n'),
                )
            };
            if !before.ends_with('\n') || before.contains('\r') {
                assert_eq!(ends(&after), ends(before), "{name} {path} = {new}\n{after}");
            }
        }
    }
    (made, refused)
}

#[test]
fn every_place_of_real_files_can_be_set_to_anything() {
    let (mut made, mut refused) = (0, 0);
    for (name, text) in FILES {
        let bare = text.trim_end_matches('\n');
        let [crlf, commented] = [text.replace('\n', "\r\n"), format!("{bare}\n# end")];
        for (text, values) in [
            (text, &VALUES[..]),
            (&crlf, &VALUES[3..6]),
            (&commented, &VALUES[3..6]),
        ] {
            let (done, not) = set_everything(name, text, values);
            made += done;
            refused += not;
        }
    }
    assert!(
        made > 3000 && refused * 10 < made,
        "{made} made, {refused} refused"
    );
}

#[test]
fn a_scalar_takes_no_comment_with_it() {
    for (name, before) in FILES {
        for (number, root) in documents(before).iter().enumerate() {
            let mut paths = Vec::new();
            places(root, &path("$"), &mut paths);
            for path in paths {
                let mut root = root.clone();
                let old = slot(&mut root, &path).clone();
                if old.is_object()
                    || old.is_array()
                    || old.as_str().is_some_and(|old| old.contains('#'))
                {
                    continue;
                }
                for new in VALUES {
                    let change = yaml_update_at(path.clone(), Some(number as u64 + 1), value(new));
                    let Ok(edited) = edit(&change, &super::name("a.yaml"), before.as_bytes())
                    else {
                        continue;
                    };
                    let after = text(edited);
                    assert_eq!(
                        comments(before),
                        comments(&after),
                        "{name} {path} = {new}\n{after}"
                    );
                }
            }
        }
    }
}
