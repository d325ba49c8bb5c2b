//! Validation rules (R-001-81): a closed list, so that no rule of a plan is passed over in silence.

use std::collections::HashSet;

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::{
    plan::model::{Broken, Condition, Rule},
    task::RelPath,
};

use super::{
    fields::{Fields, listed, quoted},
    findings::Findings,
    paths,
};

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
pub(super) fn read(
    place: &str,
    items: &[Value],
    target: Option<&RelPath>,
    files: &Files<'_>,
    findings: &mut Findings,
) -> Vec<Rule> {
    items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| rule(&format!("{place}[{at}]"), item, target, files, findings))
        .collect()
}

fn rule(
    place: &str,
    item: &Value,
    target: Option<&RelPath>,
    files: &Files<'_>,
    findings: &mut Findings,
) -> Option<Rule> {
    if let Value::String(name) = item {
        let condition = named(place, name, findings)?;
        return Some(Rule {
            target: about(place, target, findings)?,
            condition,
            on_failure: Broken::Error,
        });
    }
    let mut fields = Fields::of(place, item, findings)?;
    let meaning = format!("one of {}", listed(RULES.iter().map(|(name, _)| *name)));
    fields.need("type", &meaning, findings)?;
    let condition = fields
        .word("type", &RULES, findings)
        .and_then(|rule| condition(rule, &mut fields, findings));
    let broken = [
        ("warn", Broken::Warn),
        ("error", Broken::Error),
        ("rollback", Broken::RollBack),
    ];
    let on_failure = fields.word("on_failure", &broken, findings);
    let target = match fields.get("path") {
        None => about(place, target, findings),
        Some((place, value)) => file(&place, value, files, findings),
    };
    fields.descriptive(
        &[
            ("name", super::fields::Shape::Text),
            ("description", super::fields::Shape::Text),
        ],
        findings,
    );
    fields.finish(findings);
    Some(Rule {
        target: target?,
        condition: condition?,
        on_failure: on_failure.unwrap_or(Broken::Error),
    })
}

fn named(place: &str, name: &str, findings: &mut Findings) -> Option<Condition> {
    let Some((_, rule)) = RULES.iter().find(|(known, _)| *known == name) else {
        findings.invalid(format!(
            "`{place}` is {}, which is no rule; known are {}",
            quoted(name),
            listed(RULES.iter().map(|(name, _)| *name))
        ));
        return None;
    };
    let bare = rule.bare();
    if bare.is_none() {
        findings.invalid(format!(
            "`{place}`: {name} needs parameters; write it as an object: {{\"type\": \"{name}\", …}}"
        ));
    }
    bare
}

fn condition(
    rule: RuleType,
    fields: &mut Fields<'_>,
    findings: &mut Findings,
) -> Option<Condition> {
    match rule {
        RuleType::Contains | RuleType::Lacks => {
            let place = fields.place("text");
            let text = fields.need_text("text", "the text to look for", findings)?;
            if text.is_empty() {
                findings.invalid(format!(
                    "`{place}` is empty, and every file contains nothing"
                ));
                return None;
            }
            Some(match rule {
                RuleType::Contains => Condition::Contains(text.to_owned()),
                _ => Condition::Lacks(text.to_owned()),
            })
        }
        RuleType::Sha256 => {
            let place = fields.place("value");
            let hash = fields.need_text("value", "the SHA-256 in hexadecimal", findings)?;
            if hash.len() != 64 || !hash.bytes().all(|c| c.is_ascii_hexdigit()) {
                findings.invalid(format!(
                    "`{place}` must be a SHA-256 (64 hexadecimal digits), and is {}",
                    quoted(hash)
                ));
                return None;
            }
            Some(Condition::Sha256(hash.to_ascii_lowercase()))
        }
        RuleType::Schema => {
            let (place, schema) = fields.need("schema", "a JSON Schema", findings)?;
            if let Err(error) = jsonschema::validator_for(schema) {
                let problem = match error.kind() {
                    ValidationErrorKind::Referencing(_) => {
                        "a `$ref` leads to nothing in it, and nothing is fetched; put what it refers to into \
                         `$defs` of the schema, and refer to it as `#/$defs/NAME`"
                            .to_owned()
                    }
                    _ => error.masked().to_string(),
                };
                findings.invalid(format!(
                    "`{place}` is no JSON Schema that can be used: {problem}"
                ));
                return None;
            }
            Some(Condition::Schema(schema.clone()))
        }
        RuleType::Exists | RuleType::Absent | RuleType::Json | RuleType::Yaml => rule.bare(),
    }
}

fn about(place: &str, target: Option<&RelPath>, findings: &mut Findings) -> Option<RelPath> {
    if target.is_none() {
        findings.invalid(format!(
            "`{place}` does not say which file it is about; add `path`, a file of the plan"
        ));
    }
    target.cloned()
}

fn file(place: &str, value: &Value, files: &Files<'_>, findings: &mut Findings) -> Option<RelPath> {
    let path = paths::read(place, value, findings)?;
    if !files.contains(path.as_str()) {
        findings.invalid(format!(
            "`{place}` is {}, which is no file of the plan",
            quoted(path.as_str())
        ));
        return None;
    }
    Some(path)
}
