//! The entries as people and models see them: what each one is for, who may use it, and at what risk
//! (R-003-01, R-003-27 … R-003-31).

use serde_json::{Map, Value, json};

use crate::{
    catalog::{
        entry::{
            bind::Bound,
            common::Common,
            compile::{Capability, compile},
            file_plan::FilePlan,
            pipeline,
            schema::Schema,
            tool::Entry,
        },
        file::document::{CatalogError, Tables},
        job::look_up::unknown,
    },
    task::{
        ApprovalRule, Assessment, CallContext, Contexts, Effects, Failure, Ground, OnDuplicate,
        Pipeline, assess,
    },
};

/// One entry of the catalog, for a list.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) id: String,
    /// What the entry says of itself.
    pub(crate) common: Common,
    pub(crate) available_in: Contexts,
    pub(crate) effects: Effects,
    pub(crate) assessment: Assessment,
    /// `None` if each step has its own.
    pub(crate) on_duplicate: Option<OnDuplicate>,
    /// The JSON Pointers of what names the action.
    pub(crate) fence: Vec<String>,
    pub(crate) approval: ApprovalRule,
    pub(crate) parameters: Vec<Parameter>,
    /// The JSON Schema of the parameters that a task sets: without the bound ones.
    pub(crate) schema: Value,
    pub(crate) executor: Executor,
    pub(crate) binds: Binds,
}

/// What performs an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Executor {
    Tool {
        tool: String,
        server: String,
    },
    FilePlan,
    /// The steps of a workflow, each with its capability.
    Steps(Vec<(String, String)>),
    /// A pipeline, which only a plan can name.
    Pipeline(Box<Pipeline>),
}

/// Whether an asset of the task is one of the bound parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Binds {
    /// [`INPUT_REF`] names it.
    Asset,
    /// These parameters name them.
    Refs(Vec<String>),
    Nothing,
}

/// A parameter as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
}

/// The parameter that stands for all assets that oneact fills in (R-000-140).
pub(crate) const INPUT_REF: &str = "input_ref";

/// All entries that compile, by their ids.
pub(crate) fn list(tables: &Tables<'_>) -> Result<Vec<Listed>, CatalogError> {
    let mut ids = tables.entries()?;
    ids.sort_unstable();
    let listed = ids.into_iter().map(|id| listed(tables, id));
    listed.filter_map(Result::transpose).collect()
}

/// All pipelines, by their names. No task can name one, and no model is offered one.
pub(crate) fn pipelines(tables: &Tables<'_>) -> Result<Vec<Listed>, CatalogError> {
    let mut all = pipeline::all(tables)?;
    all.sort_by(|one, next| one.name.cmp(&next.name));
    Ok(all.into_iter().map(of_pipeline).collect())
}

fn of_pipeline(pipeline: Pipeline) -> Listed {
    Listed {
        id: pipeline.name.clone(),
        common: Common {
            description: pipeline.description.clone(),
            ..Common::default()
        },
        available_in: Contexts::default(),
        effects: pipeline.effects,
        assessment: assess(&pipeline::hazards(&pipeline)),
        on_duplicate: Some(FilePlan::built_in().on_duplicate),
        fence: Vec::new(),
        approval: ApprovalRule::default(),
        parameters: parameters(&pipeline.parameters, &Map::new()),
        schema: pipeline.parameters.clone(),
        executor: Executor::Pipeline(Box::new(pipeline)),
        binds: Binds::Nothing,
    }
}

/// The entry of that id; `None` if there is none.
pub(crate) fn listed(tables: &Tables<'_>, id: &str) -> Result<Option<Listed>, CatalogError> {
    Ok(compile(tables, id)?.as_ref().map(Listed::of))
}

impl Listed {
    pub(crate) fn of(capability: &Capability) -> Self {
        let gated = capability.gated();
        let assessed = gated.iter().map(|gated| assess(&gated.hazards));
        let none = Map::new();
        let (id, schema, defaults) = match capability {
            Capability::FilePlan(entry) => {
                let plan = json!({"type": "object", "required": ["plan"], "properties": {"plan": {"type": "object"}}});
                (&entry.id, plan, &none)
            }
            Capability::Workflow(workflow) => (&workflow.id, workflow.schema.value.clone(), &none),
            Capability::Tool(entry) => {
                let schema = offered(entry.schema.as_ref(), &entry.bind);
                (&entry.id, schema, &entry.defaults)
            }
        };
        Self {
            id: id.clone(),
            common: capability.common().clone(),
            available_in: Contexts::common(gated.iter().map(|gated| gated.available_in)),
            effects: Effects::worst(gated.iter().map(|gated| gated.hazards.effects)),
            assessment: assessed.reduce(Assessment::max).unwrap_or_default(),
            on_duplicate: match capability {
                Capability::Tool(entry) => Some(repetition(entry)),
                Capability::FilePlan(entry) => Some(entry.on_duplicate),
                Capability::Workflow(_) => None,
            },
            fence: match capability {
                Capability::Tool(entry) => entry.identity.fence.clone(),
                Capability::FilePlan(_) | Capability::Workflow(_) => Vec::new(),
            },
            approval: capability.approval(),
            parameters: parameters(&schema, defaults),
            schema,
            executor: match capability {
                Capability::Tool(entry) => Executor::Tool {
                    tool: entry.tool.clone(),
                    server: entry.server.clone(),
                },
                Capability::FilePlan(_) => Executor::FilePlan,
                Capability::Workflow(workflow) => Executor::Steps(workflow.told_steps()),
            },
            binds: match capability {
                Capability::Tool(entry) if binds_asset(&entry.bind) => Binds::Asset,
                Capability::Workflow(workflow) => Binds::Refs(workflow.refs()),
                Capability::Tool(_) | Capability::FilePlan(_) => Binds::Nothing,
            },
        }
    }

    /// Whether the entry is found in that context (R-003-37). The context of proposals finds only actions.
    pub(crate) fn is_found_in(&self, context: CallContext) -> bool {
        let offered = self.common.is_action || context != CallContext::ActionProposal;
        offered && self.available_in.contain(context)
    }
}

/// What happens to a second request. An answer that is known only by the content of its assets is not reused if there are
/// none.
fn repetition(entry: &Entry) -> OnDuplicate {
    match entry.identity.on_duplicate {
        OnDuplicate::Reuse {
            ground: Ground::Content,
            ..
        } if !binds_asset(&entry.bind) => OnDuplicate::Repeat,
        other => other,
    }
}

/// The schema without the bound parameters. One parameter stands for all bound assets: a model may choose which
/// asset, but never a URI.
fn offered(schema: Option<&Schema>, bind: &[Bound]) -> Value {
    let said = schema.map(|schema| schema.value.clone());
    let mut schema = said.unwrap_or_else(|| json!({"type": "object"}));
    let Some(keywords) = schema.as_object_mut() else {
        return schema;
    };
    let is_bound = |name: &str| bind.iter().any(|bound| bound.parameter == name);
    let mut properties = Map::new();
    let mut required = Vec::new();
    if binds_asset(bind) {
        let about = "The ref id of a stored asset, e.g. store_1";
        properties.insert(
            INPUT_REF.to_owned(),
            json!({"type": "string", "description": about}),
        );
        required.push(Value::from(INPUT_REF));
    }
    if let Some(Value::Object(said)) = keywords.remove("properties") {
        properties.extend(said.into_iter().filter(|(name, _)| !is_bound(name)));
    }
    if let Some(Value::Array(said)) = keywords.remove("required") {
        let free = |name: &Value| name.as_str().is_some_and(|name| !is_bound(name));
        required.extend(said.into_iter().filter(free));
    }
    if !properties.is_empty() {
        keywords.insert("properties".to_owned(), properties.into());
    }
    if !required.is_empty() {
        keywords.insert("required".to_owned(), required.into());
    }
    schema
}

fn binds_asset(bind: &[Bound]) -> bool {
    bind.iter().any(|bound| bound.source.is_asset())
}

/// The parameters in the order of the schema. One with a default need not be set.
fn parameters(schema: &Value, defaults: &Map<String, Value>) -> Vec<Parameter> {
    let names = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut required = required.into_iter().flatten();
        !defaults.contains_key(name) && required.any(|each| each.as_str() == Some(name))
    };
    let parameter = |name: &String| Parameter {
        name: name.clone(),
        presence: if is_required(name) {
            Presence::Required
        } else {
            Presence::Optional
        },
    };
    names
        .into_iter()
        .flat_map(Map::keys)
        .map(parameter)
        .collect()
}

/// The entry that a person or a program named, or why there is none.
pub(crate) fn find<'l>(listed: &'l [Listed], id: &str) -> Result<&'l Listed, Failure> {
    let found = listed.iter().find(|entry| entry.id == id);
    found.ok_or_else(|| unknown(id, listed.iter().map(|entry| entry.id.as_str())))
}
