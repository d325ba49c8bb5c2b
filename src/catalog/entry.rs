//! One compiled capability: each of its patterns, durations, sources and rules is valid.

use std::{fmt, time::Duration};

use regex::Regex;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

use crate::task::{
    Amplifiers, ApprovalRule, CUT, Contexts, Effects, Fault, Format, OnDuplicate, OutputSchema,
    Pin, Pinned, Repeatable, ReviewRule, redact_presigned, unknown_key,
};

use super::{
    bind::{Bound, Source},
    code::{Code, Place},
    schema::Schema,
};

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) place: Place,
    pub(crate) server: String,
    pub(crate) names_server_at: Place,
    pub(crate) tool: String,
    pub(crate) process: Process,
    pub(crate) pinned: Option<Pinned>,
    pub(crate) output_schema: OutputSchema,
    /// The longest time of a call without progress.
    pub(crate) timeout: Duration,
    pub(crate) timeout_from: TimeoutFrom,
    /// The longest time of a call with progress.
    pub(crate) timeout_max: Duration,
    pub(crate) defaults: Map<String, Value>,
    pub(crate) bind: Vec<Bound>,
    pub(crate) schema: Option<Schema>,
    pub(crate) extract: Vec<Regex>,
    pub(crate) retry: Vec<Retry>,
    /// JSON Pointers into the parameters. Their values appear in no record.
    pub(crate) secret: Vec<String>,
    pub(crate) result: ResultRule,
    pub(crate) failure: Vec<FailureRule>,
    pub(crate) success: Vec<SuccessRule>,
    pub(crate) on_failure: OnFailure,
    pub(crate) effects: Effects,
    pub(crate) access: Access,
    pub(crate) identity: Identity,
    pub(crate) review: Option<ReviewRule>,
}

/// What the gate needs to know of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) available_in: Contexts,
    pub(crate) amplifiers: Amplifiers,
    pub(crate) approval: ApprovalRule,
    /// A hash of all keys of the entry and of its server.
    pub(crate) whole: String,
}

/// What makes two requests of this entry the same, and what happens to the second one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// A person raises it so that the same request is performed again.
    pub(crate) version: Option<u32>,
    /// Everything in the catalog that decides what a call does, as canonical JSON (RFC 8785).
    pub(crate) entry: String,
    /// Parameters that differ between runs and are not part of the request.
    pub(crate) volatile: Vec<String>,
    /// JSON Pointers into the parameters. Two once-only calls with the same values there are the same action.
    pub(crate) fence: Vec<String>,
    pub(crate) on_duplicate: OnDuplicate,
}

/// Which process of its server performs a step, in a task of several steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Process {
    /// The process that earlier and later steps use too.
    Shared,
    /// A process of its own (`fresh_process = true`).
    Fresh,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Once {
    /// The call may be repeated.
    No,
    /// The entry does not say, so the worst is assumed.
    Assumed,
    Said,
}

impl Entry {
    /// Whether a call may change what a later read returns. A call that only adds its own asset does not.
    pub(crate) fn changes_state(&self) -> bool {
        let adds_an_asset = self.result.asset.is_some() && self.effects.is_harmless();
        self.effects.read_only != Some(true) && !adds_an_asset
    }

    /// Whether the tool gets the `context` of an `MCPRequest`.
    pub(crate) fn uses_context(&self) -> bool {
        let mut bound = self.bind.iter();
        bound.any(|bound| matches!(bound.source, Source::Context))
    }

    pub(crate) fn once(&self) -> Once {
        match (self.effects.repeatable(), self.effects.idempotent) {
            (Repeatable::Yes, _) => Once::No,
            (Repeatable::Once, Some(_)) => Once::Said,
            (Repeatable::Once, None) => Once::Assumed,
        }
    }

    /// A parameter's value as messages may show it (invariant 6).
    pub(super) fn shown(&self, parameter: &str, value: &Value) -> String {
        let name = |pointer: &String| {
            let path = pointer.strip_prefix('/').unwrap_or_default();
            let first = path.split('/').next().unwrap_or_default();
            first.replace("~1", "/").replace("~0", "~")
        };
        if self
            .secret
            .iter()
            .map(name)
            .any(|name| name.is_empty() || name == parameter)
        {
            return CUT.to_owned();
        }
        redact_presigned(&value.to_string()).into_owned()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeoutFrom {
    Entry,
    Defaults,
    Specification,
}

impl fmt::Display for TimeoutFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Entry => "`timeout` of the entry",
            Self::Defaults => "`timeout` of [defaults]",
            Self::Specification => "the default timeout",
        })
    }
}

#[derive(Debug)]
pub(crate) struct Retry {
    /// The failures to which the rule applies; empty means all.
    pub(crate) after: Vec<Fault>,
    pub(crate) timeout_factor: Option<f64>,
    pub(crate) set: Map<String, Value>,
    pub(crate) multiply: Vec<Multiply>,
}

/// A parameter that is multiplied once per attempt after the first.
#[derive(Debug)]
pub(crate) struct Multiply {
    pub(crate) parameter: String,
    pub(crate) factor: f64,
    /// The value to multiply if the parameter is not set.
    pub(crate) start: Option<f64>,
}

/// What the tool returns, and what oneact makes of it (000 §Step 6).
#[derive(Debug)]
pub(crate) struct ResultRule {
    pub(crate) kind: ResultKind,
    /// The file that is stored for an asset or an analysis.
    pub(crate) asset: Option<AssetRule>,
    /// The places where the tool may put its asset, in the order of trial.
    pub(crate) take: Vec<Take>,
    pub(crate) schema: Option<Schema>,
    pub(crate) min_bytes: u64,
    pub(crate) rows: Rows,
}

/// How many values an answer of one text is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Rows {
    /// The value itself.
    #[default]
    Single,
    /// A list of one, because the tool returns lists.
    Listed,
}

/// The three kinds of task in 000 §Step 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResultKind {
    /// A file, and no result data.
    Asset,
    /// Result data, stored as a file too.
    Analysis,
    /// Result data alone.
    Metadata,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AssetRule {
    pub(crate) asset_type: String,
    pub(crate) format: FormatRule,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum FormatRule {
    Fixed(Format),
    /// The format that this parameter names: `format = "{output_format}"`.
    Parameter(String),
}

impl TryFrom<String> for FormatRule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let braced = text.strip_prefix('{');
        if let Some(parameter) = braced.and_then(|rest| rest.strip_suffix('}')) {
            return Ok(Self::Parameter(parameter.to_owned()));
        }
        Format::named(&text).map(Self::Fixed).ok_or_else(|| {
            let known = Format::names().join(", ");
            Code::CAT050.with(format!(
                "`{text}` is not a format whose content can be checked; known formats: {known}"
            ))
        })
    }
}

/// A place where a tool may put its asset.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Take {
    /// The file that the tool was told to write: a parameter bound to `output.path` or `output.uri`.
    Output,
    /// A URI or path at this JSON Pointer of the structured content.
    Pointer(String),
    ResourceLink,
    /// Bytes in the answer: image, audio, or embedded resource.
    Blob,
    Text,
    /// The structured content itself, as JSON.
    Data,
}

impl TryFrom<String> for Take {
    type Error = &'static str;

    fn try_from(place: String) -> Result<Self, &'static str> {
        match place.as_str() {
            "output" => Ok(Self::Output),
            "resource_link" => Ok(Self::ResourceLink),
            "blob" => Ok(Self::Blob),
            "text" => Ok(Self::Text),
            "data" => Ok(Self::Data),
            _ if place.starts_with('/') => Ok(Self::Pointer(place)),
            _ => Err(
                "`take` must contain `output`, `resource_link`, `blob`, `text`, `data`, or a JSON Pointer such as `/output_uri`",
            ),
        }
    }
}

/// Whether a failure that no rule recognises is recoverable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnFailure {
    Recoverable,
    #[default]
    NotRecoverable,
}

/// A pattern that recognises the class of a failure. The first match wins.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailureRule {
    #[serde(rename = "match", deserialize_with = "pattern")]
    pub(crate) pattern: Regex,
    #[serde(rename = "class", deserialize_with = "class")]
    pub(crate) fault: Fault,
    pub(crate) recoverable: Option<bool>,
    #[serde(default, rename = "on")]
    pub(crate) scope: RuleScope,
}

/// To which answers a failure rule applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RuleScope {
    /// Answers that the tool itself reports as failed.
    #[default]
    Error,
    /// Every answer: for tools that report a failure in prose.
    Any,
}

/// A value that the result must have. Otherwise the call failed, although the tool reported success.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuccessRule {
    pub(crate) pointer: String,
    pub(crate) equals: Value,
    /// A JSON Pointer to the tool's explanation.
    pub(crate) message: Option<String>,
}

fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
    let text = String::deserialize(deserializer)?;
    Regex::new(&text).map_err(|error| {
        let why = error.to_string();
        let why = why.lines().last().unwrap_or("not a regular expression");
        let why = why.trim_start_matches("error: ");
        let problem = format!("the pattern {text:?} does not compile: {why}");
        D::Error::custom(Code::CAT042.with(problem))
    })
}

/// A pattern whose named captures become parameters.
pub(super) fn capturing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
    let pattern = pattern(deserializer)?;
    if pattern.capture_names().flatten().next().is_none() {
        return Err(D::Error::custom(
            "an `extract` pattern needs a named capture, e.g. (?P<language>en|ms)",
        ));
    }
    Ok(pattern)
}

fn class<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fault, D::Error> {
    let fault = named(&String::deserialize(deserializer)?).map_err(D::Error::custom)?;
    if Fault::OWN.contains(&fault) {
        let name = fault.name();
        let problem = format!(
            "a failure rule cannot give the class `{name}`, which only oneact itself can know; if the text does not say \
             whether the call happened, give `outcome_unknown`, else a class such as `tool_error`"
        );
        return Err(D::Error::custom(problem));
    }
    Ok(fault)
}

pub(super) fn classes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Fault>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let faults = names.iter().map(|name| named(name));
    faults.collect::<Result<_, _>>().map_err(D::Error::custom)
}

fn named(name: &str) -> Result<Fault, String> {
    Fault::named(name).ok_or_else(|| {
        let known: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        unknown_key(name, known).replace("key", "failure class")
    })
}

pub(super) fn amplifiers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Amplifiers, D::Error> {
    let table = Map::<String, Value>::deserialize(deserializer)?;
    Amplifiers::read(&table).map_err(|why| D::Error::custom(Code::CAT020.with(why)))
}

pub(super) fn pin<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Pin>, D::Error> {
    let pin = String::deserialize(deserializer)?.parse();
    let pin = pin.map_err(|why| D::Error::custom(format!("`pin` is not valid: {why}")));
    pin.map(Some)
}
