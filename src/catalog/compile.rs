//! From the file's tables to an [`Entry`]: whatever is wrong with one is found here, with its line.

use std::time::Duration;

use regex::Regex;
use serde_json::Value;
use toml::Spanned;

use crate::task::{Fault, Format, OnDrift, Pinned, Repeatable, duration};

use super::{
    bind::Source,
    document::{CatalogError, Tables, unknown_key},
    entry::{
        Entry, FailureRule, FormatRule, Multiply, OnFailure, Process, ResultKind, ResultRule,
        Retry, SuccessRule, Take, TimeoutFrom,
    },
    file_plan::{self, FilePlan},
    identity,
    raw::{
        RawCapability, RawDefaults, RawExtract, RawFailure, RawKind, RawOnDrift, RawResult,
        RawRetry,
    },
    schema::Schema,
};

/// A capability that can be run, by what it runs.
#[derive(Debug)]
pub(crate) enum Capability {
    Tool(Box<Entry>),
    FilePlan(FilePlan),
}

/// 000's default where the catalog says nothing.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Reads and compiles one entry; `None` when the catalog has no such id.
pub(super) fn compile(tables: &Tables<'_>, id: &str) -> Result<Option<Capability>, CatalogError> {
    let Some((at, raw)) = tables.entry::<RawCapability>("capability", id)? else {
        return Ok(None);
    };
    if let Some(plan) = &raw.file_plan {
        let plan = file_plan::compile(tables, id, at, &raw, plan)?;
        return Ok(Some(Capability::FilePlan(plan)));
    }
    let compiler = Compiler { tables, id, at };
    let entry = compiler.entry(raw)?;
    Ok(Some(Capability::Tool(Box::new(entry))))
}

/// Where errors of one entry are said to be.
struct Compiler<'a> {
    tables: &'a Tables<'a>,
    id: &'a str,
    at: usize,
}

impl Compiler<'_> {
    fn entry(&self, raw: RawCapability) -> Result<Entry, CatalogError> {
        let defaults: RawDefaults = self.tables.get("defaults")?.unwrap_or_default();
        let effects = raw.effects.unwrap_or_default();
        let identity = identity::compile(self.tables, self.id, &raw, effects)?;
        let mcp = raw.mcp.ok_or_else(|| {
            self.wrong("has no executor; add an `mcp` table with `server` and `tool`, or a `file_plan` table")
        })?;
        if mcp.tool.is_empty() || mcp.server.get_ref().is_empty() {
            return Err(self.wrong("names an empty `server` or `tool`"));
        }
        let (timeout, timeout_from) = match (&raw.timeout, &defaults.timeout) {
            (Some(text), _) => (self.duration(text)?, TimeoutFrom::Entry),
            (None, Some(text)) => (self.duration(text)?, TimeoutFrom::Defaults),
            (None, None) => (TIMEOUT, TimeoutFrom::Specification),
        };
        let timeout_max = raw
            .timeout_max
            .as_ref()
            .map_or(Ok(timeout), |text| self.duration(text))?;
        if timeout_max < timeout {
            return Err(self.wrong("has a `timeout_max` below its `timeout`; raise it"));
        }
        let bind = raw
            .bind
            .iter()
            .map(|(parameter, source)| self.bind(parameter, source))
            .collect::<Result<Vec<_>, _>>()?;
        let tells_output = bind
            .iter()
            .any(|(_, source)| matches!(source, Source::Output(_)));
        let schema = raw
            .parameter_schema_for_action
            .map(|schema| self.schema(schema));
        let idempotent = effects.idempotent == Some(true) || effects.read_only == Some(true);
        Ok(Entry {
            id: self.id.to_owned(),
            place: self.tables.catalog().place(self.at),
            names_server_at: self.tables.catalog().place(mcp.server.span().start),
            server: mcp.server.into_inner(),
            tool: mcp.tool,
            process: match raw.fresh_process {
                Some(true) => Process::Fresh,
                Some(false) | None => Process::Shared,
            },
            pinned: self.pinned(raw.pin.as_ref(), raw.on_drift)?,
            output_schema: raw.output_schema,
            timeout,
            timeout_from,
            timeout_max,
            defaults: raw.defaults,
            bind,
            result: self.result(raw.result, tells_output, schema.as_ref())?,
            schema,
            extract: raw
                .extract
                .iter()
                .map(|rule| self.extract(rule))
                .collect::<Result<_, _>>()?,
            retry: raw
                .retry
                .iter()
                .map(|rule| self.retry(rule, raw.timeout_max.as_ref()))
                .collect::<Result<_, _>>()?,
            secret: raw
                .secret
                .into_iter()
                .map(|text| self.pointer(text))
                .collect::<Result<_, _>>()?,
            failure: raw
                .failure
                .iter()
                .map(|rule| self.failure(rule))
                .collect::<Result<_, _>>()?,
            success: raw
                .success
                .into_iter()
                .map(|rule| {
                    Ok(SuccessRule {
                        pointer: self.pointer(rule.pointer)?,
                        equals: rule.equals,
                        message: rule.message.map(|text| self.pointer(text)).transpose()?,
                    })
                })
                .collect::<Result<_, CatalogError>>()?,
            on_failure: raw
                .on_failure
                .or(defaults.on_failure)
                .unwrap_or(OnFailure::NotRecoverable),
            repeatable: if idempotent {
                Repeatable::Yes
            } else {
                Repeatable::Once
            },
            effects,
            identity,
        })
    }

    fn wrong(&self, problem: &str) -> CatalogError {
        self.tables
            .catalog()
            .invalid(self.at, format!("capability {} {problem}", self.id))
    }

    fn wrong_at<T>(&self, value: &Spanned<T>, problem: &str) -> CatalogError {
        self.tables.catalog().invalid(
            value.span().start,
            format!("capability {}: {problem}", self.id),
        )
    }

    fn duration(&self, text: &Spanned<String>) -> Result<Duration, CatalogError> {
        duration(text.get_ref()).map_err(|problem| self.wrong_at(text, &problem))
    }

    fn pattern(&self, text: &Spanned<String>) -> Result<Regex, CatalogError> {
        Regex::new(text.get_ref()).map_err(|error| {
            let why = error.to_string();
            let why = why
                .lines()
                .last()
                .unwrap_or("not a regular expression")
                .trim_start_matches("error: ")
                .to_owned();
            self.wrong_at(
                text,
                &format!("the pattern {:?} does not compile: {why}", text.get_ref()),
            )
        })
    }

    fn pinned(
        &self,
        pin: Option<&Spanned<String>>,
        on_drift: Option<RawOnDrift>,
    ) -> Result<Option<Pinned>, CatalogError> {
        let Some(text) = pin else {
            return match on_drift {
                None => Ok(None),
                Some(_) => Err(self.wrong("has an `on_drift` and no `pin` to drift from")),
            };
        };
        let pin = text.get_ref().parse();
        Ok(Some(Pinned {
            pin: pin.map_err(|why| self.wrong_at(text, &format!("`pin` is not one: {why}")))?,
            on_drift: match on_drift {
                None | Some(RawOnDrift::Fail) => OnDrift::Fail,
                Some(RawOnDrift::Warn) => OnDrift::Warn,
            },
        }))
    }

    /// RFC 6901. What is none would lead nowhere, and a secret would be shown.
    fn pointer(&self, text: String) -> Result<String, CatalogError> {
        if text.is_empty() || text.starts_with('/') {
            return Ok(text);
        }
        Err(self.wrong(&format!(
            "has {text:?} where a JSON Pointer belongs; write \"/{text}\""
        )))
    }

    fn bind(
        &self,
        parameter: &str,
        source: &toml::Value,
    ) -> Result<(String, Source), CatalogError> {
        let text = source.as_str().ok_or_else(|| {
            self.wrong(&format!(
                "binds `{parameter}` to something that is no string; write a source in quotes, e.g. \"input.uri\""
            ))
        })?;
        let source = Source::parse(text)
            .map_err(|why| self.wrong(&format!("binds `{parameter}` to {text:?}: {why}")))?;
        Ok((parameter.to_owned(), source))
    }

    fn extract(&self, rule: &RawExtract) -> Result<Regex, CatalogError> {
        let pattern = self.pattern(&rule.pattern)?;
        if pattern.capture_names().flatten().next().is_none() {
            return Err(self.wrong_at(
                &rule.pattern,
                "an `extract` pattern needs a named capture, e.g. (?P<language>en|ms)",
            ));
        }
        Ok(pattern)
    }

    /// `max` is the entry's `timeout_max`.
    fn retry(&self, rule: &RawRetry, max: Option<&Spanned<String>>) -> Result<Retry, CatalogError> {
        let after = rule
            .after
            .iter()
            .map(|name| self.fault(name))
            .collect::<Result<_, _>>()?;
        let timeout_factor = rule
            .timeout
            .as_ref()
            .map(|text| {
                let factor = text
                    .get_ref()
                    .strip_prefix('x')
                    .and_then(|number| number.parse().ok());
                let factor = factor.filter(|factor: &f64| factor.is_finite() && *factor >= 1.0);
                factor.ok_or_else(|| {
                    self.wrong_at(
                        text,
                        "a retry's `timeout` is a factor of 1 or more, e.g. \"x2\"",
                    )
                })
            })
            .transpose()?;
        if let (Some(text), None) = (&rule.timeout, max) {
            let problem = "a retry lengthens the timeout, but there is no `timeout_max` to lengthen it up to; add one";
            return Err(self.wrong_at(text, problem));
        }
        let multiply = rule.multiply.iter().map(|(parameter, factor)| {
            let factor = factor
                .as_f64()
                .filter(|factor| factor.is_finite() && *factor > 0.0);
            let factor = factor.ok_or_else(|| {
                self.wrong(&format!(
                    "multiplies `{parameter}` by something that is no factor; write a number above 0"
                ))
            })?;
            let start = rule.start.get(parameter).and_then(Value::as_f64);
            Ok(Multiply {
                parameter: parameter.clone(),
                factor,
                start,
            })
        });
        Ok(Retry {
            after,
            timeout_factor,
            set: rule.set.clone(),
            multiply: multiply.collect::<Result<_, _>>()?,
        })
    }

    fn fault(&self, name: &Spanned<String>) -> Result<Fault, CatalogError> {
        Fault::named(name.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = Fault::all().map(|fault| fault.name()).collect();
            let problem =
                unknown_key(name.get_ref(), known.iter().copied()).replace("key", "failure class");
            self.wrong_at(name, &problem)
        })
    }

    fn failure(&self, rule: &RawFailure) -> Result<FailureRule, CatalogError> {
        Ok(FailureRule {
            pattern: self.pattern(&rule.r#match)?,
            fault: self.fault(&rule.class)?,
            recoverable: rule.recoverable,
            scope: rule.on,
        })
    }

    fn result(
        &self,
        raw: Option<RawResult>,
        tells_output: bool,
        parameters: Option<&Schema>,
    ) -> Result<ResultRule, CatalogError> {
        let Some(raw) = raw else {
            return Ok(ResultRule {
                kind: ResultKind::Metadata,
                take: Vec::new(),
                schema: None,
                min_bytes: 1,
            });
        };
        let asset_type = |what: &str| {
            let missing = || {
                self.wrong(&format!(
                    "makes an {what} and must say its `result.asset_type`, e.g. \"audio_track\""
                ))
            };
            raw.asset_type
                .clone()
                .filter(|name| !name.is_empty())
                .ok_or_else(missing)
        };
        let format = raw
            .format
            .as_ref()
            .map(|name| self.format(name, parameters))
            .transpose()?;
        let (kind, take) = match raw.kind {
            RawKind::Asset => {
                let format = format.ok_or_else(|| {
                    self.wrong("makes an asset and must say its `result.format`, e.g. \"wav\"")
                })?;
                let mut take = if tells_output {
                    vec![Take::Output]
                } else {
                    Vec::new()
                };
                take.extend([
                    Take::Pointer("/output_uri".to_owned()),
                    Take::ResourceLink,
                    Take::Blob,
                ]);
                (
                    ResultKind::Asset {
                        asset_type: asset_type("asset")?,
                        format,
                    },
                    take,
                )
            }
            RawKind::Analysis => {
                let format = format.unwrap_or(FormatRule::Fixed(Format::Json));
                (
                    ResultKind::Analysis {
                        asset_type: asset_type("analysis")?,
                        format,
                    },
                    vec![Take::Data],
                )
            }
            RawKind::Metadata => (ResultKind::Metadata, Vec::new()),
        };
        let take = match &raw.take {
            Some(places) => places
                .iter()
                .map(|place| self.take(place))
                .collect::<Result<_, _>>()?,
            None => take,
        };
        Ok(ResultRule {
            kind,
            take,
            schema: raw.schema.map(|schema| self.schema(schema)),
            min_bytes: raw.min_bytes.unwrap_or(1),
        })
    }

    fn schema(&self, schema: Spanned<Value>) -> Schema {
        let place = self.tables.catalog().place(schema.span().start);
        Schema {
            value: schema.into_inner(),
            place,
        }
    }

    /// A format, or the parameter in braces that names it.
    fn format(
        &self,
        name: &Spanned<String>,
        parameters: Option<&Schema>,
    ) -> Result<FormatRule, CatalogError> {
        let text = name.get_ref().as_str();
        let braced = text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        if let Some(parameter) = braced {
            return match parameters.and_then(|schema| schema.property(parameter)) {
                Some(_) => Ok(FormatRule::Parameter(parameter.to_owned())),
                None => Err(self.wrong_at(
                    name,
                    &format!("`{parameter}` is no parameter of parameter_schema_for_action"),
                )),
            };
        }
        Format::named(text).map(FormatRule::Fixed).ok_or_else(|| {
            let known = Format::names().join(", ");
            let problem =
                format!("`{text}` is no format whose content can be checked; known: {known}");
            self.wrong_at(name, &problem)
        })
    }

    fn take(&self, place: &Spanned<String>) -> Result<Take, CatalogError> {
        match place.get_ref().as_str() {
            "output" => Ok(Take::Output),
            "resource_link" => Ok(Take::ResourceLink),
            "blob" => Ok(Take::Blob),
            "text" => Ok(Take::Text),
            "data" => Ok(Take::Data),
            pointer if pointer.starts_with('/') => Ok(Take::Pointer(pointer.to_owned())),
            _ => Err(self.wrong_at(
                place,
                "`take` holds `output`, `resource_link`, `blob`, `text`, `data`, or a JSON Pointer such as `/output_uri`",
            )),
        }
    }
}
