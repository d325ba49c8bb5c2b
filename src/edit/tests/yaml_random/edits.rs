//! The edits of those documents.

use super::*;

const EDITS: usize = 30_000;

/// Whether the second text is the first with one thing put in.
fn only_adds(before: &str, after: &str) -> bool {
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let same = |(a, b): &(&u8, &u8)| a == b;
    let first = before.iter().zip(after).take_while(same).count();
    let last = before.iter().rev().zip(after.iter().rev());
    first + last.take_while(same).count() >= before.len()
}

/// What a reader makes of a value.
fn as_read(value: &Value) -> Value {
    match value {
        Value::Number(number) => read(&number.to_string()),
        Value::Array(items) => items.iter().map(as_read).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), as_read(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

#[test]
fn thirty_thousand_random_edits_make_what_was_meant_and_touch_nothing_else() {
    let mut rng = Rng::with_seed(4);
    let (mut made, mut created, mut due, mut refused) = (0, 0, 0, 0);
    let mut number = 0;
    while number < EDITS {
        let mut root = generate(&mut rng);
        let (before, spots) = write(&mut rng, &root);
        let spot = rng.choice(&spots).unwrap();
        let target = path(&spot.path);
        let place = root.at(&target).clone();
        let mut new = any(&mut rng, 2);
        if rng.u8(0..10) == 0 {
            new = Value::from(
                rng.choice(["x\ny\n", "x\n\n  y", " x\ny", "x\r\ny", "x \ny"])
                    .unwrap(),
            );
        }
        let put = Place {
            node: Node::Scalar(String::new(), as_read(&new)),
            anchor: place.anchor.clone(),
            flow: false,
        };
        let create = matches!(place.node, Node::Members(_)) && (rng.bool() || spot.path == "$");
        let target = if create {
            let key = format!("new {}", rng.choice(json_random::WORDS).unwrap());
            let target = target.child(&key);
            if let Node::Members(members) = &mut root.at(&path(&spot.path)).node {
                let anchor = None;
                members.push((
                    serde_json::to_string(&key).unwrap(),
                    Place { anchor, ..put },
                ));
            }
            target
        } else if spot.path == "$" {
            continue;
        } else {
            *root.at(&target) = put;
            target
        };
        number += 1;
        let refusal_is_due = !create && place.holds_anchors();
        let change = yaml_update_at(target.clone(), None, new);
        match edit(&change, &name("a.yaml"), before.as_bytes()) {
            Ok(edited) => {
                let after = text(edited);
                let expected = root.resolve(&mut HashMap::new());
                assert!(!refusal_is_due, "{number}: {change:?}\n{before}\n{after}");
                assert_eq!(
                    read(after.trim_start_matches('\u{FEFF}')).to_string(),
                    expected.to_string(),
                    "{number}: {change:?}\n{before}\n{after}"
                );
                let (first, last) = changed(&before, &after);
                assert!(
                    before == after
                        || (create && only_adds(&before, &after))
                        || (first >= *spot.lines.start() && last <= spot.lines.end() + 1),
                    "{number}: {change:?} changed lines {first}..{last}, not {:?}\n{before:?}\n{after:?}",
                    spot.lines
                );
                assert_eq!(before.ends_with('\n'), after.ends_with('\n'));
                made += 1;
                created += usize::from(create);
            }
            Err(EditError::Refused(why)) if refusal_is_due => {
                assert!(why.contains("anchors"), "{why}");
                due += 1;
            }
            Err(EditError::Refused(why)) => {
                if refused < 12 {
                    println!("REFUSED {number} {why}: {change:?}\n{before}\n----");
                }
                refused += 1;
            }
            Err(error) => panic!("{number}: {change:?}: {error}\n{before}"),
        }
    }
    println!(
        "{EDITS} YAML edits: {made} made ({created} of them new keys), {due} rightly refused, {refused} refused"
    );
    assert!(
        refused * 100 < EDITS && due * 10 < EDITS,
        "{refused} edits refused"
    );
}

#[test]
fn ten_thousand_random_items_are_added_or_taken_out_and_nothing_else_changes() {
    use crate::edit::path::PathStep;
    let mut rng = Rng::with_seed(5);
    let (mut appended, mut removed, mut refused) = (0, 0, 0);
    for number in 0..10_000 {
        let mut root = generate(&mut rng);
        let (before, spots) = write(&mut rng, &root);
        let spot = rng.choice(&spots).unwrap();
        let target = path(&spot.path);
        let place = root.at(&target).clone();
        let new = any(&mut rng, 2);
        let is_sequence = matches!(place.node, Node::Items(_));
        let change = if is_sequence && rng.bool() {
            if let Node::Items(items) = &mut root.at(&target).node {
                items.push(Place {
                    node: Node::Scalar(String::new(), as_read(&new)),
                    anchor: None,
                    flow: false,
                });
            }
            YamlEdit::Append { value: new }
        } else {
            let Some((step, whole)) = target.steps().split_last() else {
                continue;
            };
            match (&mut root.at(&target.first(whole.len())).node, step) {
                (Node::Items(items), PathStep::Index(index)) => {
                    items.remove(usize::try_from(*index).unwrap());
                }
                (Node::Members(members), PathStep::Name(name)) => {
                    members.retain(|(key, _)| key_text(key) != *name);
                }
                other => panic!("{other:?}"),
            }
            YamlEdit::Remove
        };
        let change = yaml(&spot.path, change);
        match edit(&change, &name("a.yaml"), before.as_bytes()) {
            Ok(edited) => {
                let after = text(edited);
                let expected = root.resolve(&mut HashMap::new());
                let is = read(after.trim_start_matches('\u{FEFF}')).to_string();
                assert_eq!(
                    is,
                    expected.to_string(),
                    "{number}: {change:?}\n{before}\n{after}"
                );
                if matches!(
                    change,
                    Edit::Yaml {
                        edit: YamlEdit::Append { .. },
                        ..
                    }
                ) {
                    appended += 1;
                    assert!(
                        only_adds(&before, &after),
                        "{number}: {change:?}\n{before}\n{after}"
                    );
                } else {
                    removed += 1;
                }
            }
            Err(EditError::Refused(why)) if why.contains("an alias elsewhere refers to") => {}
            Err(EditError::Refused(why)) => {
                if refused < 20 {
                    println!("REFUSED {number} {why}: {change:?}\n{before}\n----");
                }
                refused += 1;
            }
            Err(error) => panic!("{number}: {change:?}: {error}\n{before}"),
        }
    }
    println!("{appended} items added, {removed} taken out, {refused} edits refused");
    assert!(refused < 100 && appended > 500 && removed > 5_000);
}
