//! Compiles tables of the file to an [`Entry`]. Every error of an entry is found here, with its line.

use std::time::Duration;

use serde_json::Value;
use toml::Spanned;

use crate::task::{
    ApprovalRule, Backup, Contexts, Effects, Format, Hazards, OnDrift, Pin, Pinned, RiskRule,
    assess, nearest,
};

use super::{
    approval,
    bind::{Bound, Source},
    code::Code,
    document::{CatalogError, Named, Tables},
    entry::{
        Access, AssetRule, Entry, FormatRule, Multiply, Process, ResultKind, ResultRule, Retry,
        Rows, Take, TimeoutFrom,
    },
    file_plan::{self, FilePlan},
    identity,
    raw::{RawCapability, RawDefaults, RawResult, RawRetry, RawWorkflow},
    schema::Schema,
    standard,
    workflow::{self, Workflow},
};

/// A capability that can be performed, by the kind of its executor.
#[derive(Debug)]
pub(crate) enum Capability {
    Tool(Box<Entry>),
    FilePlan(Box<FilePlan>),
    Workflow(Box<Workflow>),
}

/// An entry as the gate sees it.
#[derive(Debug)]
pub(crate) struct Gated<'a> {
    pub(crate) id: &'a str,
    pub(crate) available_in: &'a Contexts,
    pub(crate) hazards: Hazards,
    pub(crate) approval: &'a ApprovalRule,
}

impl Capability {
    /// What the gate asks about: the entry; of a workflow, each of its steps and what it declares itself.
    pub(crate) fn gated(&self) -> Vec<Gated<'_>> {
        match self {
            Self::Tool(entry) => vec![entry.gated()],
            Self::FilePlan(entry) => vec![entry.gated()],
            Self::Workflow(workflow) => {
                let mut steps: Vec<_> = workflow
                    .steps
                    .iter()
                    .map(|step| step.entry.gated())
                    .collect();
                let effects = Effects::worst(steps.iter().map(|step| step.hazards.effects));
                let own = steps.first().map(|first| Gated {
                    id: &workflow.id,
                    available_in: workflow.available_in.as_ref().unwrap_or(first.available_in),
                    hazards: workflow.hazards(effects),
                    approval: first.approval,
                });
                steps.extend(own);
                steps
            }
        }
    }

    /// The approval rule of the entry; of a workflow, the first of its steps that waits at its risk.
    pub(crate) fn approval(&self) -> ApprovalRule {
        let gated = self.gated();
        let waits = |gated: &&Gated<'_>| gated.approval.when.holds(assess(&gated.hazards).risk);
        let rule = gated.iter().find(waits).or(gated.first());
        rule.map(|gated| gated.approval.clone()).unwrap_or_default()
    }

    /// The entry as a grant contains it, and its seal. A grant contains no workflow.
    pub(crate) fn granted(&self) -> Option<(Gated<'_>, String)> {
        match self {
            Self::Tool(entry) => Some((entry.gated(), approval::seal(&entry.access))),
            Self::FilePlan(entry) => Some((entry.gated(), approval::seal(&entry.access))),
            Self::Workflow(_) => None,
        }
    }
}

impl Access {
    fn gated<'a>(&'a self, id: &'a str, effects: Effects, backup: Backup) -> Gated<'a> {
        Gated {
            id,
            available_in: &self.available_in,
            hazards: Hazards {
                effects,
                amplifiers: self.amplifiers.clone(),
                backup,
            },
            approval: &self.approval,
        }
    }
}

impl Entry {
    pub(crate) fn gated(&self) -> Gated<'_> {
        self.access.gated(&self.id, self.effects, Backup::Unknown)
    }

    /// What the gate knows of the tool.
    pub(crate) fn risk_rule(&self) -> RiskRule {
        let Gated {
            hazards, approval, ..
        } = self.gated();
        RiskRule {
            hazards,
            when: approval.when,
        }
    }
}

impl FilePlan {
    pub(crate) fn gated(&self) -> Gated<'_> {
        self.access.gated(&self.id, Self::EFFECTS, Backup::Kept)
    }
}

impl Named<'_> {
    /// `available_in`, `intrinsic_amplifiers` and `approval` of the entry, and its hash.
    pub(super) fn access(&self, raw: &RawCapability) -> Result<Access, CatalogError> {
        let said = raw.available_in.as_ref();
        if let Some(contexts) = said.filter(|contexts| contexts.get_ref().is_empty()) {
            let problem =
                "`available_in` is empty, so nobody could use the entry; name at least one context";
            return Err(self.wrong_at(contexts.span().start, problem));
        }
        let defaults: RawDefaults = self.tables.get("defaults")?.unwrap_or_default();
        Ok(Access {
            available_in: said.map_or_else(Contexts::default, |said| said.get_ref().clone()),
            amplifiers: raw.intrinsic_amplifiers.clone(),
            approval: self.approval(
                approval::of_defaults(self.tables, &defaults)?,
                raw.approval.as_ref(),
            )?,
            whole: identity::whole(*self, raw)?,
        })
    }
}

/// The default of specification 000 if the catalog names no timeout.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Reads and compiles one entry; `None` if the catalog has no such id.
pub(super) fn compile(tables: &Tables<'_>, id: &str) -> Result<Option<Capability>, CatalogError> {
    let Some((named, raw)) = tables.entry::<RawWorkflow>("workflow", id)? else {
        return capability(tables, id);
    };
    standard::is_free(named)?;
    if tables.names("capability")?.contains(&id) {
        return Err(named
            .wrong("has the id of a capability; rename one")
            .coded(Code::CAT003));
    }
    let runs = |id: &str| {
        let workflows = tables.names("workflow")?;
        let capabilities = tables.names("capability")?;
        Ok(match capability(tables, id)? {
            Some(Capability::Tool(entry)) => Ok(*entry),
            Some(_) => Err("which applies file plans; a step calls a tool".to_owned()),
            None if workflows.contains(&id) => {
                Err("which is a workflow; a step cannot be one, so list its steps".to_owned())
            }
            None => Err(match nearest(id, capabilities) {
                Some(near) => format!("which is no capability; did you mean {near}?"),
                None => "which is no capability of the catalog".to_owned(),
            }),
        })
    };
    let workflow = workflow::compile(named, raw, &runs)?;
    Ok(Some(Capability::Workflow(Box::new(workflow))))
}

fn capability(tables: &Tables<'_>, id: &str) -> Result<Option<Capability>, CatalogError> {
    let Some((named, raw)) = tables.entry::<RawCapability>("capability", id)? else {
        return Ok(None);
    };
    standard::is_free(named)?;
    if let Some(plan) = &raw.file_plan {
        let plan = file_plan::compile(named, &raw, plan)?;
        return Ok(Some(Capability::FilePlan(Box::new(plan))));
    }
    let entry = Compiler(named).entry(raw)?;
    Ok(Some(Capability::Tool(Box::new(entry))))
}

pub(super) struct Compiler<'a>(pub(super) Named<'a>);

impl Compiler<'_> {
    pub(super) fn entry(&self, raw: RawCapability) -> Result<Entry, CatalogError> {
        let named = self.0;
        let defaults: RawDefaults = named.tables.get("defaults")?.unwrap_or_default();
        let effects = raw.effects.unwrap_or_default();
        let access = named.access(&raw)?;
        let identity = identity::compile(named, &raw, effects)?;
        let review = approval::review(named, &raw)?;
        let mcp = raw.mcp.ok_or_else(|| {
            let problem = "has no executor; add an `mcp` table with `server` and `tool`, or a `file_plan` table";
            named.wrong(problem).coded(Code::CAT004)
        })?;
        if mcp.tool.is_empty() || mcp.server.get_ref().is_empty() {
            return Err(named.wrong("names an empty `server` or `tool`"));
        }
        let (timeout, timeout_from) = match (&raw.timeout, &defaults.timeout) {
            (Some(text), _) => (named.duration(text)?, TimeoutFrom::Entry),
            (None, Some(text)) => {
                let defaults = named.tables.defaults("timeout");
                (defaults.duration(text)?, TimeoutFrom::Defaults)
            }
            (None, None) => (TIMEOUT, TimeoutFrom::Specification),
        };
        let timeout_max = raw
            .timeout_max
            .as_ref()
            .map_or(Ok(timeout), |text| named.duration(text))?;
        if timeout_max < timeout {
            return Err(named.wrong("has a `timeout_max` below its `timeout`; raise it"));
        }
        let mut bind = raw
            .bind
            .iter()
            .map(|(parameter, source)| Bound::compile(named, parameter, source))
            .collect::<Result<Vec<_>, _>>()?;
        if raw.uses_context == Some(true) {
            if raw.bind.contains_key(Bound::CONTEXT) {
                let problem = "binds `context`, which `uses_context` fills; remove one of the two";
                return Err(named.wrong(problem));
            }
            bind.push(Bound::context());
        }
        let tells_output = bind
            .iter()
            .any(|bound| matches!(bound.source, Source::Output(_)));
        let told = raw.success.iter().flat_map(|rule| rule.message.iter());
        let pointers = raw.success.iter().map(|rule| &rule.pointer).chain(told);
        raw.secret
            .iter()
            .chain(pointers)
            .try_for_each(|text| self.pointer(text))?;
        let schema = raw
            .parameter_schema_for_action
            .map(|schema| self.schema(schema));
        Ok(Entry {
            id: named.name.to_owned(),
            place: named.place(named.at),
            names_server_at: named.place(mcp.server.span().start),
            server: mcp.server.into_inner(),
            tool: mcp.tool,
            process: match raw.fresh_process {
                Some(true) => Process::Fresh,
                Some(false) | None => Process::Shared,
            },
            pinned: self.pinned(raw.pin, raw.on_drift)?,
            output_schema: raw.output_schema,
            timeout,
            timeout_from,
            timeout_max,
            defaults: raw.defaults,
            bind,
            result: self.result(raw.result, tells_output, schema.as_ref())?,
            schema,
            extract: raw.extract.into_iter().map(|rule| rule.pattern).collect(),
            retry: raw
                .retry
                .into_iter()
                .map(|rule| self.retry(rule, raw.timeout_max.as_ref()))
                .collect::<Result<_, _>>()?,
            secret: raw.secret,
            failure: raw.failure,
            success: raw.success,
            on_failure: raw.on_failure.or(defaults.on_failure).unwrap_or_default(),
            effects,
            access,
            identity,
            review,
        })
    }

    fn pinned(
        &self,
        pin: Option<Pin>,
        on_drift: Option<OnDrift>,
    ) -> Result<Option<Pinned>, CatalogError> {
        match (pin, on_drift) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(self
                .0
                .wrong("has an `on_drift` but no `pin`; add a `pin`, or remove `on_drift`")),
            (Some(pin), on_drift) => Ok(Some(Pinned {
                pin,
                on_drift: on_drift.unwrap_or(OnDrift::Fail),
            })),
        }
    }

    /// Checks a JSON Pointer (RFC 6901). A wrong pointer would match nothing, so a secret would be shown.
    fn pointer(&self, text: &str) -> Result<(), CatalogError> {
        if text.is_empty() || text.starts_with('/') {
            return Ok(());
        }
        Err(self.0.wrong(&format!(
            "has {text:?} where a JSON Pointer is required; write \"/{text}\""
        )))
    }

    /// `max` is the entry's `timeout_max`.
    fn retry(&self, rule: RawRetry, max: Option<&Spanned<String>>) -> Result<Retry, CatalogError> {
        let timeout_factor = match &rule.timeout {
            None => None,
            Some(text) => {
                let wrong = |problem| self.0.wrong_at(text.span().start, problem);
                let factor = text.get_ref().strip_prefix('x');
                let factor = factor.and_then(|number| number.parse().ok());
                let factor = factor.filter(|factor: &f64| factor.is_finite() && *factor >= 1.0);
                if factor.is_none() {
                    let problem =
                        "the `timeout` of a retry must be a factor of 1 or more, e.g. \"x2\"";
                    return Err(wrong(problem));
                }
                if max.is_none() {
                    let problem = "a retry raises the timeout, but there is no `timeout_max` to limit it; add one";
                    return Err(wrong(problem));
                }
                factor
            }
        };
        let multiply = rule.multiply.iter().map(|(parameter, factor)| {
            let factor = factor
                .as_f64()
                .filter(|factor| factor.is_finite() && *factor > 0.0);
            let factor = factor.ok_or_else(|| {
                self.0.wrong(&format!(
                    "multiplies `{parameter}` by something that is not a factor; write a number above 0"
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
            after: rule.after,
            timeout_factor,
            set: rule.set,
            multiply: multiply.collect::<Result<_, _>>()?,
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
                asset: None,
                take: Vec::new(),
                schema: None,
                min_bytes: 1,
                rows: Rows::Single,
            });
        };
        let named = self.0;
        let is_of_file = raw.asset_type.is_some() || raw.format.is_some() || raw.take.is_some();
        let kind = match raw.kind {
            Some(kind) => kind,
            None if is_of_file => {
                let problem = "describes a file in `result`, but its `kind` is missing; add it: \"asset\" or \"analysis\"";
                return Err(named.wrong(problem));
            }
            None => ResultKind::Metadata,
        };
        if let Some(format) = &raw.format
            && let FormatRule::Parameter(parameter) = format.get_ref()
            && parameters
                .and_then(|schema| schema.property(parameter))
                .is_none()
        {
            let problem =
                format!("`{parameter}` is not a parameter of parameter_schema_for_action");
            return Err(named.wrong_at(format.span().start, &problem));
        }
        let format = raw.format.map(Spanned::into_inner);
        let asset_type = |what: &str| {
            let named_so = raw.asset_type.clone().filter(|name| !name.is_empty());
            named_so.ok_or_else(|| {
                named.wrong(&format!(
                    "makes an {what}, so it must state `result.asset_type`, e.g. \"audio_track\""
                ))
            })
        };
        let (asset, take) = match kind {
            ResultKind::Asset => {
                let format = format.ok_or_else(|| {
                    let problem = "makes an asset, so it must state `result.format`, e.g. \"wav\"";
                    named.wrong(problem).coded(Code::CAT050)
                })?;
                let asset_type = asset_type("asset")?;
                let told = tells_output.then_some(Take::Output);
                let others = [
                    Take::Pointer("/output_uri".to_owned()),
                    Take::ResourceLink,
                    Take::Blob,
                ];
                let take = told.into_iter().chain(others).collect();
                (Some(AssetRule { asset_type, format }), take)
            }
            ResultKind::Analysis => {
                let asset_type = asset_type("analysis")?;
                let format = format.unwrap_or(FormatRule::Fixed(Format::Json));
                (Some(AssetRule { asset_type, format }), vec![Take::Data])
            }
            ResultKind::Metadata => (None, Vec::new()),
        };
        Ok(ResultRule {
            kind,
            asset,
            take: raw.take.unwrap_or(take),
            schema: raw.schema.map(|schema| self.schema(schema)),
            min_bytes: raw.min_bytes.unwrap_or(1),
            rows: match raw.rows {
                Some(true) => Rows::Listed,
                Some(false) | None => Rows::Single,
            },
        })
    }

    fn schema(&self, schema: Spanned<Value>) -> Schema {
        let place = self.0.place(schema.span().start);
        Schema {
            value: schema.into_inner(),
            place,
        }
    }
}
