//! Validation rules (R-001-81): a closed list, so that no rule of a plan is passed over in silence.

use std::collections::HashSet;

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::{
    plan::model::{Broken, Condition, Rule},
    task::RelPath,
};

use super::fields::{Fields, Found, Shape, listed, quoted};

/// The rules there are. Those without parameters may be written as a text: `"json_valid"`.
const RULES: [(&str, RuleType); 8] = [
    ("file_exists", RuleType::Exists),
    ("file_absent", RuleType::Absent),
    ("contains", RuleType::Contains),
    ("not_contains", RuleType::Lacks),
    ("json_valid", RuleType::Json),
    ("yaml_valid", RuleType::Yaml),
    ("sha256", RuleType::Sha256),
    ("json_schema", RuleType::Schema),
];

#[derive(Debug, Clone, Copy)]
enum RuleType {
    Exists,
    Absent,
    Contains,
    Lacks,
    Json,
    Yaml,
    Sha256,
    Schema,
}

impl RuleType {
    /// The condition of a rule that needs no parameters.
    const fn bare(self) -> Option<Condition> {
        match self {
            Self::Exists => Some(Condition::Exists),
            Self::Absent => Some(Condition::Absent),
            Self::Json => Some(Condition::ValidJson),
            Self::Yaml => Some(Condition::ValidYaml),
            Self::Contains | Self::Lacks | Self::Sha256 | Self::Schema => None,
        }
    }
}

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
        let condition = named(item, name)?;
        return Some(Rule {
            target: about(item, target)?,
            condition,
            on_failure: Broken::Error,
        });
    }
    let mut fields = item.fields()?;
    let meaning = format!("one of {}", listed(RULES.iter().map(|(name, _)| *name)));
    let condition = fields
        .need("type", &meaning)?
        .word(&RULES)
        .and_then(|rule| condition(rule, &mut fields));
    let broken = [
        ("warn", Broken::Warn),
        ("error", Broken::Error),
        ("rollback", Broken::RollBack),
    ];
    let on_failure = fields.word("on_failure", &broken);
    let target = match fields.get("path") {
        None => about(item, target),
        Some(found) => file(&found, files),
    };
    fields.descriptive(&[("name", Shape::Text), ("description", Shape::Text)]);
    fields.finish();
    Some(Rule {
        target: target?,
        condition: condition?,
        on_failure: on_failure.unwrap_or(Broken::Error),
    })
}

fn named(item: &Found<'_>, name: &str) -> Option<Condition> {
    let Some((_, rule)) = RULES.iter().find(|(known, _)| *known == name) else {
        return item.invalid(format!(
            "is {}, which is no rule; known are {}",
            quoted(name),
            listed(RULES.iter().map(|(name, _)| *name))
        ));
    };
    rule.bare().or_else(|| {
        let example = format!("{{\"type\": \"{name}\", …}}");
        item.good(Err(format!(
            "{name} needs parameters; write it as an object: {example}"
        )))
    })
}

fn condition(rule: RuleType, fields: &mut Fields<'_>) -> Option<Condition> {
    match rule {
        RuleType::Contains | RuleType::Lacks => {
            let found = fields.need("text", "the text to look for")?;
            let text = found.text()?.to_owned();
            if text.is_empty() {
                return found.invalid("is empty, and every file contains nothing");
            }
            Some(match rule {
                RuleType::Contains => Condition::Contains(text),
                _ => Condition::Lacks(text),
            })
        }
        RuleType::Sha256 => {
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
        RuleType::Schema => {
            let found = fields.need("schema", "a JSON Schema")?;
            if let Err(error) = jsonschema::validator_for(found.value) {
                let problem = match error.kind() {
                    ValidationErrorKind::Referencing(_) => {
                        "a `$ref` leads to nothing in it, and nothing is fetched; put what it refers to into \
                         `$defs` of the schema, and refer to it as `#/$defs/NAME`"
                            .to_owned()
                    }
                    _ => error.masked().to_string(),
                };
                return found.invalid(format!("is no JSON Schema that can be used: {problem}"));
            }
            Some(Condition::Schema(found.value.clone()))
        }
        RuleType::Exists | RuleType::Absent | RuleType::Json | RuleType::Yaml => rule.bare(),
    }
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
