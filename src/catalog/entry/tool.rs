//! One compiled capability that calls a tool: each of its patterns, durations, sources and rules is valid.

use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    bind::{Bound, Source, bound, first_part},
    common::{Access, COMMON, Common, Defaults, OnFailure, TimeoutFrom},
    identity::{self, Identity, SameKeys},
    rules::{
        ExtractKeys, FailureRule, ResultKeys, ResultRule, Retry, SecretPointer, SuccessRule, Take,
        pin,
    },
    schema::{Schema, Values},
};
use crate::{
    catalog::file::{
        code::{Code, FileLine},
        document::{CatalogError, Named},
    },
    task::{
        Backup, CUT, Effects, Hazards, OnDrift, OutputSchema, Pin, Pinned, Repeatable, ReviewRule,
        RiskRule, redact_presigned,
    },
};

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) place: FileLine,
    pub(crate) server: String,
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
    pub(crate) common: Common,
    pub(crate) effects: Effects,
    pub(crate) access: Access,
    pub(crate) identity: Identity,
    pub(crate) review: Option<ReviewRule>,
}

/// Which process of its server performs a step, in a task of several steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "bool")]
pub(crate) enum Process {
    /// The process that earlier and later steps use too.
    #[default]
    Shared,
    /// A process of its own (`fresh_process = true`).
    Fresh,
}

impl From<bool> for Process {
    fn from(fresh: bool) -> Self {
        if fresh { Self::Fresh } else { Self::Shared }
    }
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

    /// What the gate knows of the tool.
    pub(crate) fn risk_rule(&self) -> RiskRule {
        RiskRule {
            hazards: Hazards {
                effects: self.effects,
                amplifiers: self.access.amplifiers.clone(),
                backup: Backup::Unknown,
            },
            when: self.access.approval.when,
        }
    }

    /// Whether messages may show parameters that do not fit.
    pub(crate) fn values(&self) -> Values {
        Values::of(&self.secret)
    }

    /// A parameter's value as messages may show it (invariant 6).
    pub(crate) fn shown(&self, parameter: &str, value: &Value) -> String {
        let mut secret = self.secret.iter().map(|pointer| first_part(pointer));
        if secret.any(|name| name.is_empty() || name == parameter) {
            return CUT.to_owned();
        }
        redact_presigned(&value.to_string()).into_owned()
    }
}

/// The keys that only a capability with a tool can have.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolKeys {
    mcp: Option<ToolName>,
    fresh_process: Process,
    uses_context: bool,
    #[serde(deserialize_with = "pin")]
    pin: Option<Pin>,
    on_drift: Option<OnDrift>,
    output_schema: OutputSchema,
    pub(crate) volatile: Vec<String>,
    pub(crate) fence: Option<Vec<String>>,
    on_failure: Option<OnFailure>,
    secret: Vec<SecretPointer>,
    defaults: Map<String, Value>,
    #[serde(deserialize_with = "bound")]
    pub(crate) bind: Vec<Bound>,
    parameter_schema_for_action: Option<Value>,
    extract: Vec<ExtractKeys>,
    retry: Vec<Retry>,
    pub(crate) result: ResultKeys,
    failure: Vec<FailureRule>,
    success: Vec<SuccessRule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolName {
    server: String,
    tool: String,
}

impl ToolKeys {
    /// The keys of a tool of which only the name is known.
    pub(crate) fn of(server: &str, tool: &str) -> Self {
        Self {
            mcp: Some(ToolName {
                server: server.to_owned(),
                tool: tool.to_owned(),
            }),
            ..Self::default()
        }
    }
}

/// The default of specification 000 if the catalog names no timeout.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Reads an entry that has no `file_plan`.
pub(crate) fn read(named: &Named<'_>) -> Result<Entry, CatalogError> {
    let (common, keys) = named.read_apart(&COMMON)?;
    compile(named, common, keys)
}

pub(crate) fn compile(
    named: &Named<'_>,
    common: Common,
    mut keys: ToolKeys,
) -> Result<Entry, CatalogError> {
    let Some(ToolName { server, tool }) = keys.mcp.take() else {
        let problem =
            "has no executor; add an `mcp` table with `server` and `tool`, or a `file_plan` table";
        return Err(named.wrong(problem).coded(Code::CAT004));
    };
    if tool.is_empty() || server.is_empty() {
        return Err(named.wrong("names an empty `server` or `tool`"));
    }
    let effects = common.effects.unwrap_or_default();
    let identity = {
        let same = SameKeys {
            volatile: &keys.volatile,
            fence: keys.fence.as_deref(),
            bind: &keys.bind,
            result: keys.result.kind,
        };
        identity::compile(named, &common, &same, &server)?
    };
    let defaults = Defaults::of(named.tables)?;
    let access = common.access(
        defaults.approval,
        identity::whole(named, Some(&server))?,
        named,
    )?;
    let (timeout, timeout_from) = match (common.timeout, defaults.timeout) {
        (Some(time), _) => (time.0, TimeoutFrom::Entry),
        (None, Some(time)) => (time.0, TimeoutFrom::Defaults),
        (None, None) => (TIMEOUT, TimeoutFrom::Specification),
    };
    let timeout_max = common.timeout_max.map_or(timeout, |time| time.0);
    if timeout_max < timeout {
        return Err(named.wrong("has a `timeout_max` below its `timeout`; raise it"));
    }
    let mut raises = keys.retry.iter().map(|rule| rule.timeout_factor);
    if common.timeout_max.is_none() && raises.any(|factor| factor.is_some()) {
        let problem =
            "a retry raises the timeout, but there is no `timeout_max` to limit it; add one";
        return Err(named.wrong_in("retry", problem));
    }
    let pinned = match (keys.pin, keys.on_drift) {
        (None, None) => None,
        (None, Some(_)) => {
            let problem = "has an `on_drift` but no `pin`; add a `pin`, or remove `on_drift`";
            return Err(named.wrong(problem));
        }
        (Some(pin), on_drift) => Some(Pinned {
            pin,
            on_drift: on_drift.unwrap_or(OnDrift::Fail),
        }),
    };
    let mut bind = keys.bind;
    if keys.uses_context {
        if bind.iter().any(|bound| bound.parameter == Bound::CONTEXT) {
            let problem = "binds `context`, which `uses_context` fills; remove one of the two";
            return Err(named.wrong(problem));
        }
        bind.push(Bound::context());
    }
    let mut sources = bind.iter().map(|bound| &bound.source);
    let to_output = sources.any(|source| matches!(source, Source::Output(_)));
    let schema = keys
        .parameter_schema_for_action
        .map(|value| Schema::of(named, "parameter_schema_for_action", value));
    Ok(Entry {
        id: named.name.to_owned(),
        place: named.place(),
        server,
        tool,
        process: keys.fresh_process,
        pinned,
        output_schema: keys.output_schema,
        timeout,
        timeout_from,
        timeout_max,
        defaults: keys.defaults,
        bind,
        result: keys
            .result
            .rule(to_output.then_some(Take::Output), schema.as_ref(), named)?,
        schema,
        extract: keys.extract.into_iter().map(|rule| rule.pattern).collect(),
        retry: keys.retry,
        secret: keys.secret.into_iter().map(|pointer| pointer.0).collect(),
        failure: keys.failure,
        success: keys.success,
        on_failure: keys.on_failure.unwrap_or(defaults.on_failure),
        effects,
        access,
        identity,
        review: common.review(named)?,
        common,
    })
}
