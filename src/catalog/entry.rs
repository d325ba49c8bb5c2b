//! One capability, compiled: every pattern, duration, source and rule of it is known to be good.

use std::{fmt, time::Duration};

use regex::Regex;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

use crate::task::{
    CUT, Effects, Fault, Format, OnDuplicate, OutputSchema, Pin, Pinned, Repeatable,
    redact_presigned,
};

use super::{
    bind::Source,
    document::{Place, unknown_key},
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
    /// Without progress, a call ends after this.
    pub(crate) timeout: Duration,
    pub(crate) timeout_from: TimeoutFrom,
    /// With progress too.
    pub(crate) timeout_max: Duration,
    pub(crate) defaults: Map<String, Value>,
    pub(crate) bind: Vec<(String, Source)>,
    pub(crate) schema: Option<Schema>,
    pub(crate) extract: Vec<Regex>,
    pub(crate) retry: Vec<Retry>,
    /// JSON Pointers into the parameters whose values are kept out of every record.
    pub(crate) secret: Vec<String>,
    pub(crate) result: ResultRule,
    pub(crate) failure: Vec<FailureRule>,
    pub(crate) success: Vec<SuccessRule>,
    pub(crate) on_failure: OnFailure,
    /// Whether a call that may have happened may be sent again.
    pub(crate) repeatable: Repeatable,
    pub(crate) effects: Effects,
    pub(crate) identity: Identity,
}

/// What makes a request of this entry the same as another, and what then becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// A person raises it when the same request should have another answer.
    pub(crate) version: Option<u32>,
    /// Everything in the catalog that decides what happens, as canonical JSON (RFC 8785).
    pub(crate) entry: String,
    /// Parameters that differ from run to run and mean nothing.
    pub(crate) volatile: Vec<String>,
    pub(crate) on_duplicate: OnDuplicate,
}

/// Which process of its server does a step of a task of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Process {
    /// The one that did an earlier step, and may do a later one.
    Shared,
    /// One of its own (`fresh_process = true`).
    Fresh,
}

/// Whether it must not happen twice, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Once {
    /// It may.
    No,
    /// The entry says nothing: the worst is assumed.
    Assumed,
    Said,
}

impl Entry {
    /// Whether a call may change what a later read sees. What only adds an asset of its own does not.
    pub(crate) fn changes_state(&self) -> bool {
        let adds_an_asset = self.result.asset.is_some() && self.effects.is_harmless();
        self.effects.read_only != Some(true) && !adds_an_asset
    }

    pub(crate) fn once(&self) -> Once {
        match (self.repeatable, self.effects.idempotent) {
            (Repeatable::Yes, _) => Once::No,
            (Repeatable::Once, Some(_)) => Once::Said,
            (Repeatable::Once, None) => Once::Assumed,
        }
    }

    /// A parameter's value as words may show it (invariant 6).
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

/// Who decided how long a call may take, for people.
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
            Self::Specification => "the catalog names none",
        })
    }
}

#[derive(Debug)]
pub(crate) struct Retry {
    /// The failures it answers; empty = any.
    pub(crate) after: Vec<Fault>,
    pub(crate) timeout_factor: Option<f64>,
    pub(crate) set: Map<String, Value>,
    pub(crate) multiply: Vec<Multiply>,
}

/// A parameter that is scaled, once per attempt after the first.
#[derive(Debug)]
pub(crate) struct Multiply {
    pub(crate) parameter: String,
    pub(crate) factor: f64,
    /// The value to scale where none is set.
    pub(crate) start: Option<f64>,
}

/// What the tool gives, and what is made of it (000 §Step 6).
#[derive(Debug)]
pub(crate) struct ResultRule {
    pub(crate) kind: ResultKind,
    /// What is stored as a file: of an asset and of an analysis.
    pub(crate) asset: Option<AssetRule>,
    /// Where the tool puts its asset, in order of trial.
    pub(crate) take: Vec<Take>,
    pub(crate) schema: Option<Schema>,
    pub(crate) min_bytes: u64,
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
    /// This one, whatever was asked for.
    Fixed(Format),
    /// The one that this parameter names: `format = "{output_format}"`.
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
            format!("`{text}` is no format whose content can be checked; known: {known}")
        })
    }
}

/// A place where a tool may put its asset.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Take {
    /// The file the tool was told to write: a parameter bound to `output.path` or `output.uri`.
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
                "`take` holds `output`, `resource_link`, `blob`, `text`, `data`, or a JSON Pointer such as `/output_uri`",
            ),
        }
    }
}

/// What a failure that no rule recognises means for a retry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnFailure {
    Recoverable,
    #[default]
    NotRecoverable,
}

/// A text that tells a failure's class; the first match wins.
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

/// Which answers a failure rule reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RuleScope {
    /// Answers the tool itself calls failed.
    #[default]
    Error,
    /// Every answer: for tools that tell of failure in prose.
    Any,
}

/// A value that must be there, or the call failed although the tool did not say so.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuccessRule {
    pub(crate) pointer: String,
    pub(crate) equals: Value,
    /// Where the tool says why not.
    pub(crate) message: Option<String>,
}

fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
    let text = String::deserialize(deserializer)?;
    Regex::new(&text).map_err(|error| {
        let why = error.to_string();
        let why = why.lines().last().unwrap_or("not a regular expression");
        let why = why.trim_start_matches("error: ");
        D::Error::custom(format!("the pattern {text:?} does not compile: {why}"))
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
    named(&String::deserialize(deserializer)?).map_err(D::Error::custom)
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

pub(super) fn pin<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Pin>, D::Error> {
    let pin = String::deserialize(deserializer)?.parse();
    let pin = pin.map_err(|why| D::Error::custom(format!("`pin` is not one: {why}")));
    pin.map(Some)
}
