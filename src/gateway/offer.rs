//! The tools that are offered: the actions that the context of the launch allows, file plans, and the proposal of an
//! improvised action.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, sync::Arc};

use camino::Utf8Path;
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use crate::{
    catalog::{
        APPLY_FILE_PLAN, Capability, Catalog, Common, Executor, FilePlan, IMPROVISE, Listed,
        RUN_APPROVED, ToolForm, kept_servers, list, tools, unknown,
    },
    perform::caller_of_launch,
    task::{CallContext, Failure, Fault},
};

/// What is offered according to one version of the catalog.
pub(super) struct Offer {
    pub(super) seen: Option<Version>,
    context: CallContext,
    /// The servers that live as long as the session.
    kept: BTreeSet<String>,
    /// All entries, so that a refusal can state its reason.
    entries: Vec<Listed>,
    pub(super) tools: Vec<Tool>,
}

/// What changes when the file is written or replaced: device, inode, size, and the times of the last change of the
/// content and of the file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version(u64, u64, u64, (i64, i64), (i64, i64));

impl Version {
    pub(super) fn of(catalog: &Utf8Path) -> Option<Self> {
        let found = fs::metadata(catalog).ok()?;
        Some(Self(
            found.dev(),
            found.ino(),
            found.size(),
            (found.mtime(), found.mtime_nsec()),
            (found.ctime(), found.ctime_nsec()),
        ))
    }
}

impl Offer {
    pub(super) fn load(catalog: &Utf8Path, profile: Option<&str>) -> Result<Self, Failure> {
        // The version is read first: a change after it is noticed at the next look.
        let seen = Version::of(catalog);
        let text = Catalog::load(catalog)?;
        let tables = text.tables()?;
        let context = caller_of_launch(profile, Some(&tables))?.context;
        let mut entries = list(&tables)?;
        if !entries.is_empty() && !entries.iter().any(|entry| is_offered(entry, context)) {
            tracing::warn!(
                "No entry of {catalog} is offered in the context {}: set `is_action = true` in those that a client may call.",
                context.name()
            );
        }
        if entries.iter().all(|entry| entry.id != APPLY_FILE_PLAN) {
            entries.push(built_in());
        }
        if entries.iter().all(|entry| entry.id != IMPROVISE) {
            entries.push(proposal());
        }
        let offered = entries.iter().filter(|entry| is_offered(entry, context));
        let can_wait = entries
            .iter()
            .any(|entry| is_offered(entry, context) && waits(entry));
        let mut offered: Vec<Tool> = offered.map(shown).collect::<Result<_, _>>()?;
        if can_wait && entries.iter().all(|entry| entry.id != RUN_APPROVED) {
            offered.push(Tool::new(RUN_APPROVED, APPROVED, approved_schema()));
        }
        Ok(Self {
            seen,
            context,
            kept: kept_servers(&tables)?,
            entries,
            tools: offered,
        })
    }

    /// The server of an entry, if it lives as long as the session.
    pub(super) fn kept_server<'e>(&self, entry: &'e Listed) -> Option<&'e str> {
        let Executor::Tool { server, .. } = &entry.executor else {
            return None;
        };
        self.kept.contains(server).then_some(server)
    }

    /// Whether the tool of that name performs approved requests.
    pub(super) fn performs_approved(&self, name: &str) -> bool {
        let is_entry = self.entries.iter().any(|entry| entry.id == name);
        name == RUN_APPROVED && !is_entry && self.tools.iter().any(|tool| tool.name == name)
    }

    /// The entry of the tool of that name, or why there is none.
    pub(super) fn find(&self, name: &str) -> Result<&Listed, Failure> {
        let found = self.entries.iter().find(|entry| entry.id == name);
        let context = self.context.name();
        match found {
            Some(entry) if is_offered(entry, self.context) => Ok(entry),
            Some(entry) if entry.available_in.contain(self.context) => Err(Failure::new(
                Fault::ContextDenied,
                format!(
                    "{name} is not offered: it is no action; the operator can set `is_action = true`"
                ),
            )),
            Some(_) => Err(Failure::new(
                Fault::ContextDenied,
                format!(
                    "{name} is not offered in the context {context}; the launch decides the context, and the operator \
                     can choose another profile with --profile"
                ),
            )),
            None => {
                let offered = self.tools.iter().map(|tool| tool.name.as_ref());
                Err(unknown(name, offered))
            }
        }
    }
}

/// The entry of plans if the catalog has none.
fn built_in() -> Listed {
    let plan = Capability::FilePlan(Box::new(FilePlan::built_in()));
    Listed {
        common: Common::of_action(""),
        schema: plan_schema().into(),
        ..Listed::of(&plan)
    }
}

/// The tool with which a model proposes an improvised action. It has no entry: its calls are gated by their own.
fn proposal() -> Listed {
    Listed {
        id: IMPROVISE.to_owned(),
        common: Common::of_action(PROPOSAL),
        schema: proposal_schema(),
        executor: Executor::Steps(Vec::new()),
        ..built_in()
    }
}

/// Whether the tool is the proposal. A workflow of the catalog has steps.
pub(super) fn proposes(entry: &Listed) -> bool {
    matches!(&entry.executor, Executor::Steps(steps) if steps.is_empty())
}

/// A plan needs no entry, so `apply_file_plan` is offered wherever a plan may be performed.
fn is_offered(entry: &Listed, context: CallContext) -> bool {
    let applies = entry.id == APPLY_FILE_PLAN && entry.executor == Executor::FilePlan;
    let acts = entry.common.is_action || applies;
    acts && entry.available_in.contain(context)
}

/// Whether a call of this tool can wait for an approval.
fn waits(entry: &Listed) -> bool {
    let may = proposes(entry) || entry.executor == Executor::FilePlan;
    may || entry.approval.when.holds(entry.assessment.risk)
}

/// The only parameter of the tool that performs a request after a person has approved it.
pub(super) const APPROVAL_ID: &str = "approval_id";

const APPROVED: &str = "Perform a call that has waited for an approval, after a person has approved it: exactly as it was \
                        requested, and once. The answer of the call that waits contains its `approval_id`.";

fn approved_schema() -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "required": [APPROVAL_ID],
        "properties": {APPROVAL_ID: {"type": "string", "description": "The id of the request: apr_…"}},
        "additionalProperties": false,
    });
    schema.as_object().cloned().unwrap_or_default()
}

/// The tool as `tools/list` shows it.
fn shown(entry: &Listed) -> Result<Tool, Failure> {
    let mut tool = tools(&[entry], ToolForm::Mcp);
    let tool = tool.pointer_mut("/tools/0").map(Value::take);
    let mut tool: Tool = serde_json::from_value(tool.unwrap_or_default()).map_err(|error| {
        let problem = format!("{} cannot be offered as a tool: {error}", entry.id);
        Failure::new(Fault::CatalogInvalid, problem)
    })?;
    if entry.executor == Executor::FilePlan {
        tool.input_schema = Arc::new(plan_schema());
        if entry.common.description.is_empty() {
            tool.description = Some(PLAN.into());
        }
    }
    Ok(tool)
}

const PROPOSAL: &str = "Propose an improvised action, if no action fits: several calls that a person approves once. With \
                        `steps`, the calls are performed after the approval. With `grant`, the result's `under` covers \
                        the calls that name it in `_meta[\"oneact/under\"]`.";

fn proposal_schema() -> Value {
    json!({
        "type": "object",
        "required": ["plan_summary"],
        "properties": {
            "plan_summary": {"type": "string", "description": "What will be done, for the person who approves it"},
            "steps": {
                "type": "array", "minItems": 1, "description": "The calls, in their order",
                "items": {
                    "type": "object", "required": ["name"],
                    "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "parameters": {"type": "object"}},
                },
            },
            "grant": {
                "type": "object", "required": ["entries", "max_calls", "for"],
                "properties": {
                    "entries": {"type": "array", "items": {"type": "string"}, "description": "The actions that may be called"},
                    "max_calls": {"type": "integer", "minimum": 1},
                    "for": {"type": "string", "description": "A duration such as \"10m\""},
                },
            },
        },
        "additionalProperties": false,
    })
}

const PLAN: &str = "Apply a file plan: a list of file changes below the root that are all made or none. With `dry_run`, \
                    the result is the diff and its hash, and nothing is changed.";

fn plan_schema() -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "required": ["plan"],
        "properties": {
            "plan": {
                "type": "object", "required": ["action_plan"],
                "properties": {"plan_id": {"type": "string"}, "action_plan": {"type": "array", "items": {"type": "object"}}},
                "description": "The plan: `plan_id`, and `action_plan` with its actions"
            },
            "dry_run": {"type": "boolean", "description": "Return the diff and its hash, and change nothing"},
            "expect": {"type": "string", "description": "Apply the plan only if its diff has this hash, which a dry run returned"},
            "protocol_validation": {"type": "boolean", "description": "States that the plan was approved"},
            "system_config": {"type": "object", "description": "Tighter limits for this plan"},
        },
        "additionalProperties": false,
    });
    schema.as_object().cloned().unwrap_or_default()
}
