//! Reads validation rules (R-001-81). The list is closed: an unknown rule is an error.

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::{
    plan::model::{Broken, Condition, FileRule},
    task::{Failure, Found, RelPath, listed, quoted},
};

use super::{
    fields::{Fields, TEXT, path},
    findings::Findings,
};

#[derive(Debug, Clone, Copy)]
enum Reading {
    /// It has no parameters; the rule may be written as a text: `"json_valid"`.
    Bare(fn() -> Condition),
    /// The parameter, what it is, and how it is read.
    With(
        &'static str,
        &'static str,
        fn(&Found<'_>) -> Result<Condition, Failure>,
    ),
}

use Reading::{Bare, With};

#[rustfmt::skip]
const RULES: [(&str, Reading); 8] = [
    ("file_exists", Bare(|| Condition::Exists)),
    ("file_absent", Bare(|| Condition::Absent)),
    ("contains", With("text", TO_FIND, |found| text(found).map(Condition::Contains))),
    ("not_contains", With("text", TO_FIND, |found| text(found).map(Condition::Lacks))),
    ("json_valid", Bare(|| Condition::ValidJson)),
    ("yaml_valid", Bare(|| Condition::ValidYaml)),
    ("sha256", With("value", "the SHA-256 in hexadecimal", sha256)),
    ("json_schema", With("schema", "a JSON Schema", schema)),
];

const TO_FIND: &str = "the text to look for";

/// Reads a list of rules. A rule without `path` is about `target`, if there is one.
pub(super) fn read<'a>(
    list: &Found<'a>,
    target: Option<&RelPath>,
    findings: Findings<'a>,
) -> Vec<FileRule> {
    let items = findings.good(list.list()).into_iter().flatten();
    let rule = |item: Found<'a>| match item.value {
        Value::String(name) => findings.good(bare(&item, name, target)),
        _ => rule(&item, target, findings),
    };
    items.filter_map(rule).collect()
}

/// A rule that is written as a text.
fn bare(item: &Found<'_>, name: &str, target: Option<&RelPath>) -> Result<FileRule, Failure> {
    match item.word(&RULES)? {
        Bare(condition) => Ok(FileRule {
            target: about(item, target)?,
            condition: condition(),
            on_failure: Broken::Error,
        }),
        With(..) => item.fits(Err(format!(
            "{name} needs parameters; write it as an object: {{\"type\": \"{name}\", …}}"
        ))),
    }
}

fn rule<'a>(
    item: &Found<'a>,
    target: Option<&RelPath>,
    findings: Findings<'a>,
) -> Option<FileRule> {
    let mut fields = Fields::of(item, findings)?;
    let meaning = format!("one of {}", listed(RULES.iter().map(|(name, _)| *name)));
    let reading = fields.required("type", &meaning, |found| found.word(&RULES));
    let condition = reading.and_then(|reading| match reading {
        Bare(condition) => Some(condition()),
        With(key, meaning, read) => fields.required(key, meaning, read),
    });
    let broken = [
        ("warn", Broken::Warn),
        ("error", Broken::Error),
        ("rollback", Broken::RollBack),
    ];
    let on_failure = fields.optional("on_failure", |found| found.word(&broken));
    let target = match fields.get("path") {
        None => about(item, target),
        Some(found) => path(&found),
    };
    let target = findings.good(target);
    fields.descriptive("name description", TEXT);
    fields.finish();
    Some(FileRule {
        target: target?,
        condition: condition?,
        on_failure: on_failure.unwrap_or(Broken::Error),
    })
}

fn text(found: &Found<'_>) -> Result<String, Failure> {
    match found.text()? {
        "" => Err(found.wrong("is empty; every file contains the empty text")),
        text => Ok(text.to_owned()),
    }
}

fn sha256(found: &Found<'_>) -> Result<Condition, Failure> {
    let hash = found.text()?;
    if hash.len() != 64 || !hash.bytes().all(|c| c.is_ascii_hexdigit()) {
        let hash = quoted(hash);
        let problem = format!("must be a SHA-256 (64 hexadecimal digits), and is {hash}");
        return Err(found.wrong(problem));
    }
    Ok(Condition::Sha256(hash.to_ascii_lowercase()))
}

fn schema(found: &Found<'_>) -> Result<Condition, Failure> {
    if let Err(error) = jsonschema::validator_for(found.value) {
        let problem = match error.kind() {
            ValidationErrorKind::Referencing(_) => {
                "a `$ref` leads to nothing in it, and nothing is fetched; put the definition that it names into \
                 `$defs` of the schema, and refer to it as `#/$defs/NAME`"
                    .to_owned()
            }
            _ => error.masked().to_string(),
        };
        return Err(found.wrong(format!("is no JSON Schema that can be used: {problem}")));
    }
    Ok(Condition::Schema(found.value.clone()))
}

fn about(item: &Found<'_>, target: Option<&RelPath>) -> Result<RelPath, Failure> {
    let problem = "does not say which file it is about; add `path`, a file of the plan";
    target.cloned().ok_or_else(|| item.wrong(problem))
}
