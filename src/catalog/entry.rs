//! One capability, compiled: every pattern, duration, source and rule of it is known to be good.

use std::{fmt, time::Duration};

use regex::Regex;
use serde_json::{Map, Value};

use crate::task::{
    CUT, Effects, Fault, Format, OnDuplicate, OutputSchema, Pinned, Repeatable, redact_presigned,
};

use super::{bind::Source, document::Place, schema::Schema};

pub(crate) use super::raw::{OnFailure, RuleScope};

/// A capability that calls a tool.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) place: Place,
    pub(crate) server: String,
    /// Where it names its server.
    pub(crate) names_server_at: Place,
    pub(crate) tool: String,
    pub(crate) process: Process,
    /// What the tool must be.
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
    /// `idempotent = false`
    Said,
}

impl Entry {
    /// Whether a call may change what a later read sees. What only adds an asset of its own does not.
    pub(crate) fn changes_state(&self) -> bool {
        let adds_an_asset = self.result.kind.makes_asset() && self.effects.is_harmless();
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

/// What changes on attempt > 1.
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
    /// Where the tool puts its asset, in order of trial.
    pub(crate) take: Vec<Take>,
    pub(crate) schema: Option<Schema>,
    pub(crate) min_bytes: u64,
}

/// The three kinds of task in 000 §Step 6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// A file, and no result data.
    Asset {
        asset_type: String,
        format: FormatRule,
    },
    /// Result data, stored as a file too.
    Analysis {
        asset_type: String,
        format: FormatRule,
    },
    /// Result data alone.
    Metadata,
}

impl ResultKind {
    pub(super) fn makes_asset(&self) -> bool {
        matches!(self, Self::Asset { .. } | Self::Analysis { .. })
    }
}

/// Which format an asset must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FormatRule {
    /// This one, whatever was asked for.
    Fixed(Format),
    /// The one that this parameter names: `format = "{output_format}"`.
    Parameter(String),
}

/// A place where a tool may put its asset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Take {
    /// The file the tool was told to write: a parameter bound to `output.path` or `output.uri`.
    Output,
    /// A URI or path at this JSON Pointer of the structured content.
    Pointer(String),
    /// A resource link.
    ResourceLink,
    /// Bytes in the answer: image, audio, or embedded resource.
    Blob,
    /// The text of the answer.
    Text,
    /// The structured content itself, as JSON.
    Data,
}

/// A text that tells a failure's class.
#[derive(Debug)]
pub(crate) struct FailureRule {
    pub(crate) pattern: Regex,
    pub(crate) fault: Fault,
    pub(crate) recoverable: Option<bool>,
    pub(crate) scope: RuleScope,
}

/// A value that must be there for a call to have succeeded.
#[derive(Debug)]
pub(crate) struct SuccessRule {
    pub(crate) pointer: String,
    pub(crate) equals: Value,
    /// Where the tool says why not.
    pub(crate) message: Option<String>,
}
