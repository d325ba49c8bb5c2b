//! Reads validation rules (R-001-81). The list is closed: an unknown rule is an error.

use std::collections::HashSet;

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::{
    plan::model::{Broken, Condition, Rule},
    task::RelPath,
};

use super::fields::{Fields, Found, TEXT, listed, quoted};

#[derive(Debug, Clone, Copy)]
enum Reading {
    /// It has no parameters; the rule may be written as a text: `"json_valid"`.
    Bare(fn() -> Condition),
    With(fn(&mut Fields<'_>) -> Option<Condition>),
}

const RULES: [(&str, Reading); 8] = [
    ("file_exists", Reading::Bare(|| Condition::Exists)),
    ("file_absent", Reading::Bare(|| Condition::Absent)),
    (
        "contains",
        Reading::With(|fields| text(fields).map(Condition::Contains)),
    ),
    (
        "not_contains",
        Reading::With(|fields| text(fields).map(Condition::Lacks)),
    ),
    ("json_valid", Reading::Bare(|| Condition::ValidJson)),
    ("yaml_valid", Reading::Bare(|| Condition::ValidYaml)),
    ("sha256", Reading::With(sha256)),
    ("json_schema", Reading::With(schema)),
];

/// The files a rule may be about: those of the plan, as it spells them.
pub(super) type Files<'a> = HashSet<&'a str>;

/// Reads a list of rules. A rule without `path` is about `target`, if there is one.
pub(super) fn read(list: &Found<'_>, target: Option<&RelPath>, files: &Files<'_>) -> Vec<Rule> {
    let items = list.list().into_iter().flatten();
    items
        .filter_map(|item| rule(&item, target, files))
        .collect()
}

fn rule(item: &Found<'_>, target: Option<&RelPath>, files: &Files<'_>) -> Option<Rule> {
    if let Value::String(name) = item.value {
        return match item.word(&RULES)? {
            Reading::Bare(condition) => Some(Rule {
                target: about(item, target)?,
                condition: condition(),
                on_failure: Broken::Error,
            }),
            Reading::With(_) => item.good(Err(format!(
                "{name} needs parameters; write it as an object: {{\"type\": \"{name}\", …}}"
            ))),
        };
    }
    let mut fields = item.fields()?;
    let meaning = format!("one of {}", listed(RULES.iter().map(|(name, _)| *name)));
    let condition = fields
        .need("type", &meaning)?
        .word(&RULES)
        .and_then(|reading| match reading {
            Reading::Bare(condition) => Some(condition()),
            Reading::With(read) => read(&mut fields),
        });
    let broken = [
        ("warn", Broken::Warn),
        ("error", Broken::Error),
        ("rollback", Broken::RollBack),
    ];
    let on_failure = fields.optional("on_failure", |found| found.word(&broken));
    let target = match fields.get("path") {
        None => about(item, target),
        Some(found) => file(&found, files),
    };
    fields.descriptive(&[("name", TEXT), ("description", TEXT)]);
    fields.finish();
    Some(Rule {
        target: target?,
        condition: condition?,
        on_failure: on_failure.unwrap_or(Broken::Error),
    })
}

fn text(fields: &mut Fields<'_>) -> Option<String> {
    let found = fields.need("text", "the text to look for")?;
    let text = found.text()?;
    if text.is_empty() {
        return found.invalid("is empty; every file contains the empty text");
    }
    Some(text.to_owned())
}

fn sha256(fields: &mut Fields<'_>) -> Option<Condition> {
    let found = fields.need("value", "the SHA-256 in hexadecimal")?;
    let hash = found.text()?;
    if hash.len() != 64 || !hash.bytes().all(|c| c.is_ascii_hexdigit()) {
        return found.invalid(format!(
            "must be a SHA-256 (64 hexadecimal digits), and is {}",
            quoted(hash)
        ));
    }
    Some(Condition::Sha256(hash.to_ascii_lowercase()))
}

fn schema(fields: &mut Fields<'_>) -> Option<Condition> {
    let found = fields.need("schema", "a JSON Schema")?;
    if let Err(error) = jsonschema::validator_for(found.value) {
        let problem = match error.kind() {
            ValidationErrorKind::Referencing(_) => {
                "a `$ref` leads to nothing in it, and nothing is fetched; put the definition that it names into \
                 `$defs` of the schema, and refer to it as `#/$defs/NAME`"
                    .to_owned()
            }
            _ => error.masked().to_string(),
        };
        return found.invalid(format!("is no JSON Schema that can be used: {problem}"));
    }
    Some(Condition::Schema(found.value.clone()))
}

fn about(item: &Found<'_>, target: Option<&RelPath>) -> Option<RelPath> {
    target.cloned().or_else(|| {
        item.invalid("does not say which file it is about; add `path`, a file of the plan")
    })
}

fn file(found: &Found<'_>, files: &Files<'_>) -> Option<RelPath> {
    let path = found.path()?;
    if files.contains(path.as_str()) {
        return Some(path);
    }
    let path = quoted(path.as_str());
    found.invalid(format!("is {path}, which is no file of the plan"))
}
