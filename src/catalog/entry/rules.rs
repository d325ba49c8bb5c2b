//! The rules of a tool's entry: how its parameters change on a retry, what its result is, and how its failures are
//! recognised.

use regex::Regex;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

use super::schema::Schema;
use crate::{
    catalog::file::{
        code::Code,
        document::{CatalogError, Named},
    },
    task::{Fault, Format, Pin, unknown_key},
};

/// The changes on attempts after the first (R-000-64 … R-000-66).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Retry {
    /// The failures to which the rule applies; empty means all.
    #[serde(deserialize_with = "classes")]
    pub(crate) after: Vec<Fault>,
    /// By which each further attempt may take longer.
    #[serde(rename = "timeout", deserialize_with = "times")]
    pub(crate) timeout_factor: Option<f64>,
    pub(crate) set: Map<String, Value>,
    /// The parameters that are multiplied once per attempt after the first, with their factors.
    #[serde(deserialize_with = "factors")]
    pub(crate) multiply: Vec<(String, f64)>,
    /// The values to multiply of parameters that are not set.
    pub(crate) start: Map<String, Value>,
}

/// `x2`
fn times<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let text = String::deserialize(from)?;
    let factor = text
        .strip_prefix('x')
        .and_then(|number| number.parse().ok());
    let factor = factor.filter(|factor: &f64| factor.is_finite() && *factor >= 1.0);
    let wrong = "the `timeout` of a retry must be a factor of 1 or more, e.g. \"x2\"";
    factor.map(Some).ok_or_else(|| D::Error::custom(wrong))
}

fn factors<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, f64)>, D::Error> {
    let table = Map::<String, Value>::deserialize(from)?;
    let factor = |(parameter, factor): (String, Value)| {
        let factor = factor.as_f64();
        let factor = factor.filter(|factor| factor.is_finite() && *factor > 0.0);
        let factor = factor.ok_or_else(|| {
            D::Error::custom(format!(
                "multiplies `{parameter}` by something that is not a factor; write a number above 0"
            ))
        })?;
        Ok((parameter, factor))
    };
    table.into_iter().map(factor).collect()
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "bool")]
pub(crate) enum Rows {
    /// The value itself.
    #[default]
    Single,
    /// A list of one, because the tool returns lists.
    Listed,
}

impl From<bool> for Rows {
    fn from(rows: bool) -> Self {
        if rows { Self::Listed } else { Self::Single }
    }
}

/// `result` of an entry.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ResultKeys {
    pub(crate) kind: Option<ResultKind>,
    asset_type: Option<String>,
    format: Option<FormatRule>,
    take: Option<Vec<Take>>,
    schema: Option<Value>,
    min_bytes: Option<u64>,
    rows: Rows,
}

impl ResultKeys {
    /// `to_output` is how the tool is told where to write its asset, `parameters` the schema of the entry.
    pub(crate) fn rule(
        self,
        to_output: Option<Take>,
        parameters: Option<&Schema>,
        named: &Named<'_>,
    ) -> Result<ResultRule, CatalogError> {
        let is_of_file = self.asset_type.is_some() || self.format.is_some() || self.take.is_some();
        if self.kind.is_none() && is_of_file {
            let problem = "describes a file in `result`, but its `kind` is missing; add it: \"asset\" or \"analysis\"";
            return Err(named.wrong(problem));
        }
        let kind = self.kind.unwrap_or(ResultKind::Metadata);
        if let Some(FormatRule::Parameter(name)) = &self.format
            && parameters
                .and_then(|schema| schema.property(name))
                .is_none()
        {
            let problem = format!("`{name}` is not a parameter of parameter_schema_for_action");
            return Err(named.wrong_in("result.format", &problem));
        }
        let (what, format, take) = match kind {
            ResultKind::Asset => {
                let format = self.format.ok_or_else(|| {
                    let problem = "makes an asset, so it must state `result.format`, e.g. \"wav\"";
                    named.wrong(problem).coded(Code::CAT050)
                })?;
                let anywhere = [
                    Take::Pointer("/output_uri".to_owned()),
                    Take::ResourceLink,
                    Take::Blob,
                ];
                let take = to_output.into_iter().chain(anywhere).collect();
                (Some("asset"), format, take)
            }
            ResultKind::Analysis => {
                let format = self.format.unwrap_or(FormatRule::Fixed(Format::Json));
                (Some("analysis"), format, vec![Take::Data])
            }
            ResultKind::Metadata => (None, FormatRule::Fixed(Format::Json), Vec::new()),
        };
        let asset_type = self.asset_type.filter(|name| !name.is_empty());
        let asset = match (what, asset_type) {
            (None, _) => None,
            (Some(_), Some(asset_type)) => Some(AssetRule { asset_type, format }),
            (Some(what), None) => {
                return Err(named.wrong(&format!(
                    "makes an {what}, so it must state `result.asset_type`, e.g. \"audio_track\""
                )));
            }
        };
        Ok(ResultRule {
            kind,
            asset,
            take: self.take.unwrap_or(take),
            schema: self
                .schema
                .map(|value| Schema::of(named, "result.schema", value)),
            min_bytes: self.min_bytes.unwrap_or(1),
            rows: self.rows,
        })
    }
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
    #[serde(deserialize_with = "pointer")]
    pub(crate) pointer: String,
    pub(crate) equals: Value,
    /// A JSON Pointer to the tool's explanation.
    #[serde(default, deserialize_with = "some_pointer")]
    pub(crate) message: Option<String>,
}

/// A JSON Pointer (RFC 6901). A wrong pointer would match nothing, so a secret would be shown.
fn pointer<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.is_empty() || text.starts_with('/') {
        return Ok(text);
    }
    let problem = format!("has {text:?} where a JSON Pointer is required; write \"/{text}\"");
    Err(D::Error::custom(problem))
}

fn some_pointer<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    pointer(from).map(Some)
}

/// A JSON Pointer to a value that appears in no record.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct SecretPointer(#[serde(deserialize_with = "pointer")] pub(crate) String);

/// Named captures of the action text that become parameters (C-09).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtractKeys {
    /// There is only one text to take them from.
    #[serde(rename = "from")]
    _from: ExtractFrom,
    #[serde(deserialize_with = "capturing")]
    pub(crate) pattern: Regex,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExtractFrom {
    Action,
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
fn capturing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
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

fn classes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Fault>, D::Error> {
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

pub(crate) fn pin<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Pin>, D::Error> {
    let pin = String::deserialize(deserializer)?.parse();
    let pin = pin.map_err(|why| D::Error::custom(format!("`pin` is not valid: {why}")));
    pin.map(Some)
}
